// What libkymo shows to the programs that link it.
#pragma once

#if defined(KYMO_STATIC)
#define KYMO_API
#else
#define KYMO_API __attribute__((visibility("default")))
#endif
