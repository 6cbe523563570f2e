/* Makes scopes visible to other tools, whether kymo records or not: NVTX ranges in files compiled with KYMO_NVTX, USDT
 * probes in files compiled with KYMO_USDT. Neither links anything. The cost without a listener is next to nothing: an
 * NVTX call is a load and a branch, a probe one instruction without effect.
 *
 *   NVTX   a range of the thread with the scope's name; for a function scope, its signature. Needs nvtx3/nvToolsExt.h
 *          of a CUDA toolkit or of the Python wheel nvidia-nvtx.
 *   USDT   kymo:scope_open(name, file, line) with NUL-terminated strings, and kymo:scope_close(). Needs sys/sdt.h
 *          (Debian: systemtap-sdt-dev). bpftrace -e 'usdt:./program:kymo:scope_open { @[str(arg0)] = count(); }'
 *
 * For C and C++. */
#ifndef KYMO_DETAIL_PROBES_H
#define KYMO_DETAIL_PROBES_H

#include <stdint.h>

#include <kymo/export.hpp>

#if defined(KYMO_NVTX)
#include <nvtx3/nvToolsExt.h>
#endif
#if defined(KYMO_USDT)
#include <sys/sdt.h>
#endif

/* Files with different settings may be linked together, so the types of their scopes have different names. */
#if defined(KYMO_NVTX) && defined(KYMO_USDT)
#define KYMO_DETAIL_PROBES nvtx_and_usdt
#elif defined(KYMO_NVTX)
#define KYMO_DETAIL_PROBES nvtx
#elif defined(KYMO_USDT)
#define KYMO_DETAIL_PROBES usdt
#endif

#if defined(KYMO_DETAIL_PROBES)

#if defined(__clang__)
/* sys/sdt.h leaves variable arguments of its macros empty. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

__attribute__((always_inline)) KYMO_SKIP
static inline void kymo_probe_open(const char* name, const char* file, uint32_t line) {
#if defined(KYMO_NVTX)
  (void)nvtxRangePushA(name);
#endif
#if defined(KYMO_USDT)
  DTRACE_PROBE3(kymo, scope_open, name, file, line);
#endif
  (void)file;
  (void)line;
}

__attribute__((always_inline)) KYMO_SKIP
static inline void kymo_probe_close(void) {
#if defined(KYMO_USDT)
  DTRACE_PROBE(kymo, scope_close);
#endif
#if defined(KYMO_NVTX)
  (void)nvtxRangePop();
#endif
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif

#endif
