/** @file
 * The C interface of the recorder, and the binary interface below the C++ headers.
 *
 * All functions may be called from any thread at any time, including before kymo_enable and after kymo_disable. Nothing
 * throws, ends or blocks the program; each problem is reported once on stderr. Signal handlers may call what records an
 * event, except those of locks and fibers, but nothing that turns recording on or off, controls a capture or waits for
 * one. Names with _v1 or _v2 are the binary interface behind the C++ macros: do not call them directly. */
#ifndef KYMO_KYMO_H
#define KYMO_KYMO_H

#include <stddef.h>
#include <stdint.h>

#include <kymo/detail/probes.h>
#include <kymo/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sites and scopes ---- */

/** Kinds of sites. The recorder makes the last two: a thread runs a fiber; a thread waits for a lock. */
enum kymo_site_kind {
  KYMO_SITE_SCOPE = 0,
  KYMO_SITE_FUNCTION = 1,
  KYMO_SITE_DYNAMIC = 2,
  KYMO_SITE_FIBER = 4,
  KYMO_SITE_WAIT = 5
};

/** A place in the code that opens scopes. Static, filled as {0, 0, "name", __func__, __FILE__, __LINE__,
 * KYMO_SITE_SCOPE}; the ids belong to the recorder. */
typedef struct kymo_site {
  uint32_t id;
  uint32_t argument_names;
  const char* name;
  const char* function;
  const char* file;
  uint32_t line;
  uint32_t kind;
} kymo_site;

/** An open scope. Close it on the thread that opened it, innermost first. */
typedef struct kymo_scope {
  uint64_t token;
} kymo_scope;

/** Opens a scope. Costs about 25 ns while scopes are recorded, 2 ns while they are not. NULL: a scope without a site,
 * because the limit of distinct names is reached; it is counted as dropped. */
KYMO_API kymo_scope kymo_scope_begin(kymo_site* site);
/** Closes the scope. */
KYMO_API void kymo_scope_end(kymo_scope scope);
#if defined(KYMO_DETAIL_PROBES)
/** In files compiled with probes for other tools, these tools see the scopes as well (kymo/detail/probes.h). */
KYMO_SKIP
static inline kymo_scope kymo_probed_scope_begin(kymo_site* site) {
  const char* name = "(null)";
  const char* file = "";
  uint32_t line = 0;
  if (site) {
    name = site->name && site->name[0] ? site->name : site->function ? site->function : "";
    file = site->file ? site->file : "";
    line = site->line;
  }
  kymo_probe_open(name, file, line);
  return kymo_scope_begin(site);
}
KYMO_SKIP
static inline void kymo_probed_scope_end(kymo_scope scope) {
  kymo_scope_end(scope);
  kymo_probe_close();
}
#define kymo_scope_begin kymo_probed_scope_begin
#define kymo_scope_end kymo_probed_scope_end
#endif
/** The site of a name made at run time. NULL when the limit of distinct names is reached. */
KYMO_API kymo_site* kymo_dynamic_site_v1(kymo_site* place, const char* name, size_t name_size);

/** Arguments of the innermost open scope of this thread. The name is copied on first use. */
KYMO_API void kymo_argument_int64(const char* name, int64_t value);
KYMO_API void kymo_argument_uint64(const char* name, uint64_t value);
KYMO_API void kymo_argument_double(const char* name, double value);
KYMO_API void kymo_argument_bool(const char* name, int value);
/** A string is cut at 256 bytes and marked as cut. */
KYMO_API void kymo_argument_string(const char* name, const char* value, size_t size);

/* ---- Recording ---- */

/** Starts what the KYMO_* environment variables ask for. Returns 1 if something is being recorded, otherwise 0. Costs
 * a few milliseconds if something was asked for, otherwise less than a microsecond. */
KYMO_API int kymo_enable(void);
/** Stops recording: finishes captures and removes sinks. kymo_enable starts again. */
KYMO_API void kymo_disable(void);
/** 1 while events are recorded. */
KYMO_API int kymo_is_recording(void);

/** Fill with zeros, then set the members that differ from the default. */
typedef struct kymo_capture_options {
  size_t struct_size;      /**< sizeof(kymo_capture_options) */
  const char* path;        /**< file or directory, patterns as in KYMO_RECORD; NULL: kymo.kymo */
  uint64_t keep_ns;        /**< keep only the latest interval of this length; 0: no limit in time */
  uint64_t keep_bytes;     /**< keep only the latest data of this size; 0: no limit in size */
  uint64_t max_bytes;      /**< stop scopes above this size; 0: no limit */
  uint64_t sync_period_ns; /**< fsync interval; 0: leave it to the kernel */
  uint64_t pool_bytes;     /**< size of the pool if there is none yet, clamped to 1 MiB to 16 GiB; 0: 16 MiB */
} kymo_capture_options;

/** Starts a capture. 1 on success; 0 if it cannot be started (reported on stderr) or one is already being written. */
KYMO_API int kymo_start_capture(const kymo_capture_options* options);
/** Finishes the capture with everything recorded so far. 0 if there is none. */
KYMO_API int kymo_stop_capture(void);
/** Writes the contents of a capture with keep_ns or keep_bytes, then returns. 0 if there is no such capture. */
KYMO_API int kymo_trigger(void);
/** Returns after everything recorded before the call was handed to the capture and all sinks; 0 if that took longer than
 * 10 s. */
KYMO_API int kymo_flush(void);

/** Marks the end of a frame and the start of the next. NULL or "": the program's main stream. About 25 ns. */
KYMO_API void kymo_frame_mark(const char* stream);
/** Records a sample at the current time. The name is looked up by content. About 30 ns. */
KYMO_API void kymo_record_metric(const char* name, double value);
/** The same with a unit. A metric keeps the unit of its first sample. */
KYMO_API void kymo_record_metric_unit(const char* name, double value, const char* unit);
/** Adds an I/O operation to the current frame. At the next frame mark of the main stream, the sums become the metrics
 * io_ms and io_MB. Two atomic additions. */
KYMO_API void kymo_record_io(uint64_t duration_ns, uint64_t bytes);
/** Sets a numbered mark, which begins a phase. Returns its number: 1, 2, 3, ..., or 0 while nothing is recorded. */
KYMO_API uint64_t kymo_sync(void);
/** Records a text at the current time. Cut at 4,096 bytes and marked as cut. */
KYMO_API void kymo_message(const char* text, size_t size);
/** Names the calling thread's track. */
KYMO_API void kymo_set_thread_name(const char* name);
/** Acquires the calling thread's chunk, so that its first scope does not have to. 1 on success. */
KYMO_API int kymo_prepare_thread(void);
/** Records a fact about the run. A later value of a key replaces the earlier one. */
KYMO_API void kymo_set_info(const char* key, const char* value);

/* ---- Fibers ---- */

/** Work that moves between threads. Works like kymo::Fiber; <kymo/fiber.hpp> documents it. NULL if there is no memory;
 * all functions accept NULL. */
typedef struct kymo_fiber kymo_fiber;
KYMO_API kymo_fiber* kymo_fiber_create(const char* name, size_t name_size);
/** Ends its track; if a thread is in the fiber, when that thread leaves it. */
KYMO_API void kymo_fiber_destroy(kymo_fiber* fiber);
/** Switches the calling thread to the fiber's track. Returns 1, or 0 if another thread is in the fiber: events up to
 * kymo_fiber_leave are then dropped and counted. */
KYMO_API int kymo_fiber_enter(kymo_fiber* fiber);
/** Switches back to the thread's own track. */
KYMO_API void kymo_fiber_leave(void);

/* ---- Spans that are not scopes ---- */

/** Kinds of tracks. */
enum kymo_track_kind { KYMO_TRACK_ASYNC = 1, KYMO_TRACK_QUEUE = 2 };

/** The track of that name and kind, created on first use. 0 while nothing is recorded. */
KYMO_API uint32_t kymo_track(const char* name, int kind);
/** Begins an async span in a lane; any thread may end it. Returns its id, or 0 while nothing is recorded. */
KYMO_API uint64_t kymo_async_begin(const char* lane, const char* name);
/** Ends it. An id of 0 is ignored. */
KYMO_API void kymo_async_end(uint64_t id);
/** Records a completed span. Times are nanoseconds of CLOCK_MONOTONIC. The category may be NULL. */
KYMO_API void kymo_emit_span(uint32_t track, const char* name, const char* category, int64_t start_ns,
                             int64_t duration_ns);
/** Phases of a flow. */
enum kymo_flow_phase { KYMO_FLOW_BEGIN = 0, KYMO_FLOW_STEP = 1, KYMO_FLOW_END = 2 };
/** A point of a flow: joins the scope currently open on this thread to the others of the flow. */
KYMO_API void kymo_flow(uint64_t flow_id, int phase);
/** The same for an emitted span: the innermost one on the track at that time of CLOCK_MONOTONIC. Ignored on track 0. */
KYMO_API void kymo_flow_at(uint32_t track, int64_t time_ns, uint64_t flow_id, int phase);

/* ---- Cost ---- */

/** Measures the current cost of a recorded scope on this machine (about 2 ms of CPU). Returns nanoseconds. */
KYMO_API double kymo_calibrate(void);
/** The result of the last calibration; calibrates if there was none. */
KYMO_API double kymo_empty_scope_ns(void);
/** Resident memory of this process in bytes; 0 if it cannot be read. About a microsecond. */
KYMO_API uint64_t kymo_current_memory_bytes(void);
/** "0.1.0" */
KYMO_API const char* kymo_version(void);

/* ---- Binary interface of the C++ headers ---- */

/** Assigns the site its id before its first scope. 1 if it has one; 0 if it is left out, or there is no room. */
KYMO_API int kymo_declare_site_v1(kymo_site* site);
/** The same for a site that stands for another: `KYMO_SITES` is matched to that one's name. */
KYMO_API int kymo_declare_site_as_v1(kymo_site* site, kymo_site* other);
/** From now on scopes of this process may nest deeper than the stack has room for, as those of interpreters do: none is
 * closed because it cannot exist. */
KYMO_API void kymo_allow_scopes_without_stack_v1(void);
/** Finishes all captures and removes the shared memory, as exit does. For processes that end by _exit; nothing can be
 * recorded afterwards. */
KYMO_API void kymo_end_process_v1(void);

#ifdef __cplusplus
}
#endif

#endif
