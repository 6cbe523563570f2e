#ifndef STORE_CHECKSUM_H
#define STORE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t store_checksum(const void* bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif
