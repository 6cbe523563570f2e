/** @file
 * Scopes in C, as macros. Off, one costs a load and a branch; on, some 25 ns. KYMO_DISABLE makes them nothing.
 *
 *     void draw(const struct scene* scene) {
 *       KYMO_C_FUNCTION();             // GCC, Clang: until the block is left, however that happens
 *       {
 *         KYMO_C_SCOPE("cull");
 *         cull(scene);
 *       }
 *       KYMO_C_BEGIN(upload, "upload");  // any compiler: until KYMO_C_END in the same block
 *       upload_all(scene);
 *       KYMO_C_END(upload);
 *     }
 *
 * Names are literals. C++ has macros of its own in <kymo/scope.hpp>. */
#ifndef KYMO_SCOPE_H
#define KYMO_SCOPE_H

#include <kymo/kymo.h>

#define KYMO_DETAIL_C_JOIN2(a, b) a##b
#define KYMO_DETAIL_C_JOIN(a, b) KYMO_DETAIL_C_JOIN2(a, b)

#if defined(KYMO_DISABLE)
#define KYMO_C_BEGIN(variable, name) ((void)0)
#define KYMO_C_END(variable) ((void)0)
#define KYMO_C_SCOPE(name) ((void)0)
#define KYMO_C_FUNCTION() ((void)0)
#else

#if defined(__GNUC__) && !defined(__cplusplus) && !defined(KYMO_DETAIL_PROBES)
KYMO_API extern uint32_t kymo_scopes_on_v1;
#define KYMO_DETAIL_C_IS_ON() __atomic_load_n(&kymo_scopes_on_v1, __ATOMIC_RELAXED)
#else
#define KYMO_DETAIL_C_IS_ON() 1
#endif

/* A token of 0 stands for a scope that was not opened. */
KYMO_SKIP
static inline kymo_scope kymo_c_open(kymo_site* site) {
  kymo_scope scope = {0};
  if (KYMO_DETAIL_C_IS_ON()) {
    scope = kymo_scope_begin(site);
  }
  return scope;
}
KYMO_SKIP
static inline void kymo_c_close(const kymo_scope* scope) {
  if (scope->token) {
    kymo_scope_end(*scope);
  }
}

#define KYMO_DETAIL_C_SITE(variable, name, kind) \
  static kymo_site variable = {0, 0, "" name, __func__, __FILE__, __LINE__, kind}

/** Opens a scope whose variable is in view until the end of the block. */
#define KYMO_C_BEGIN(variable, name)                               \
  KYMO_DETAIL_C_SITE(variable##_kymo_site, name, KYMO_SITE_SCOPE); \
  const kymo_scope variable = kymo_c_open(&variable##_kymo_site)
/** Closes it, innermost first. */
#define KYMO_C_END(variable) kymo_c_close(&variable)

#if defined(__GNUC__)
#define KYMO_DETAIL_C_SCOPE(id, name, kind)                                                             \
  KYMO_DETAIL_C_SITE(KYMO_DETAIL_C_JOIN(kymo_site_, id), name, kind);                                   \
  const kymo_scope KYMO_DETAIL_C_JOIN(kymo_scope_, id) __attribute__((cleanup(kymo_c_close), unused)) = \
      kymo_c_open(&KYMO_DETAIL_C_JOIN(kymo_site_, id))
/** A scope from here to the end of the block; a return, a break or a goto out of it closes it too. */
#define KYMO_C_SCOPE(name) KYMO_DETAIL_C_SCOPE(__LINE__, name, KYMO_SITE_SCOPE)
/** The same, named after the function. */
#define KYMO_C_FUNCTION() KYMO_DETAIL_C_SCOPE(__LINE__, "", KYMO_SITE_FUNCTION)
#endif

#endif /* KYMO_DISABLE */

#endif /* KYMO_SCOPE_H */
