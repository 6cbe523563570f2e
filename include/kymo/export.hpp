// Symbol visibility of libkymo, and exclusion of functions from compiler hooks.
#pragma once

#if defined(KYMO_STATIC)
#define KYMO_API
#else
#define KYMO_API __attribute__((visibility("default")))
#endif

/// Excludes a function from the hooks of kymo_instrument_functions(). Goes before its declaration.
#ifdef __clang__
#define KYMO_SKIP __attribute__((no_instrument_function, xray_never_instrument))
#else
#define KYMO_SKIP __attribute__((no_instrument_function))
#endif
