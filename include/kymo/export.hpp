// What libkymo shows to the programs that link it, and what compiler hooks are to leave alone.
#pragma once

#if defined(KYMO_STATIC)
#define KYMO_API
#else
#define KYMO_API __attribute__((visibility("default")))
#endif

/// Leaves a function out of what kymo_instrument_functions() hooks. Stands before its declaration.
#define KYMO_SKIP __attribute__((no_instrument_function))
