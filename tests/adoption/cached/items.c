#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "items.h"

#define BUCKETS 8

static struct item* buckets[BUCKETS];

static size_t hash_of(const char* key) {
  size_t hash = 5381;
  while (*key != '\0') {
    hash = hash * 33 + (unsigned char)*key++;
  }
  return hash % BUCKETS;
}

int item_store(const char* key, size_t size) {
  struct item* const item = calloc(1, sizeof *item);
  if (item == NULL) {
    return 0;
  }
  item->size = size;
  strncpy(item->key, key, sizeof item->key - 1);
  struct item** const bucket = &buckets[hash_of(key)];
  item->next = *bucket;
  *bucket = item;
  return 1;
}

const struct item* item_find(const char* key) {
  for (const struct item* item = buckets[hash_of(key)]; item != NULL; item = item->next) {
    if (strcmp(item->key, key) == 0) {
      return item;
    }
  }
  return NULL;
}

void items_free(void) {
  for (size_t i = 0; i < BUCKETS; ++i) {
    while (buckets[i] != NULL) {
      struct item* const item = buckets[i];
      buckets[i] = item->next;
      free(item);
    }
  }
}
