/* Prints how often it called what. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#ifdef HAVE_PTHREAD
#include <pthread.h>
#endif

#include "items.h"

static int found;

static void* serve(void* unused) {
  (void)unused;
  for (int request = 0; request < 200; ++request) {
    char key[16];
    snprintf(key, sizeof key, "key %d", request);
    if (item_find(key) == NULL) {
      continue;
    }
    ++found;
  }
  return NULL;
}

int main(void) {
  for (int i = 0; i < 150; ++i) {
    char key[16];
    snprintf(key, sizeof key, "key %d", i);
    if (!item_store(key, 100)) {
      return 1;
    }
  }
#ifdef HAVE_PTHREAD
  pthread_t worker;
  if (pthread_create(&worker, NULL, serve, NULL) != 0 || pthread_join(worker, NULL) != 0) {
    return 1;
  }
#else
  serve(NULL);
#endif
  items_free();
  puts("150 item_store\n200 item_find\n200 request\n1 fill\n0 hash_of");
  return found == 150 ? 0 : 1;
}
