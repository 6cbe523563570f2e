#ifndef CACHED_ITEMS_H
#define CACHED_ITEMS_H

#include <stddef.h>

struct item {
  struct item* next;
  size_t size;
  char key[16];
};

/* 0 if there is no memory. */
int item_store(const char* key, size_t size);
const struct item* item_find(const char* key);
void items_free(void);

#endif
