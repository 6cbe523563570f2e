// Declarations: the meaning of the ids in events. Each is made once, before the first event that uses its id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/ids.hpp>

namespace kymo {

/// Name of a track's kind and role for tables: "thread", "fiber", "async", "lock", "queue".
[[nodiscard]] constexpr std::string_view name_of(TrackKind kind, TrackRole role) noexcept {
  if (role != TrackRole::plain) {
    return role == TrackRole::fiber ? "fiber" : "lock";
  }
  if (kind == TrackKind::async) {
    return "async";
  }
  return kind == TrackKind::queue ? "queue" : "thread";
}

/// Name of a run state for tables: "running", "runnable", "blocked".
[[nodiscard]] constexpr std::string_view name_of(RunState state) noexcept {
  if (state == RunState::runnable) {
    return "runnable";
  }
  return state == RunState::blocked ? "blocked" : "running";
}

/// Name of a metric kind for tables: "gauge", "counter", "energy_counter".
[[nodiscard]] constexpr std::string_view name_of(MetricKind kind) noexcept {
  if (kind == MetricKind::counter) {
    return "counter";
  }
  return kind == MetricKind::energy_counter ? "energy_counter" : "gauge";
}

/// Source of a site's name.
enum class SiteKind : std::uint8_t {
  scope = 0,     ///< KYMO_SCOPE or the C interface
  function = 1,  ///< KYMO_FUNCTION
  dynamic = 2,   ///< KYMO_SCOPE_DYNAMIC: named at run time
  hooked = 3,    ///< compiler function hooks: named from the module's symbols
};

/// Meaning of a site's scopes.
enum class SiteRole : std::uint8_t {
  work = 0,
  fiber_run = 1,  ///< on a thread's track: the thread runs the fiber of that name
  wait = 2,       ///< the thread waits for a lock
};

/// A place in the code that opens scopes.
struct SiteDeclaration {
  SiteId id{};
  SiteKind kind = SiteKind::scope;
  ProcessId process{1};
  std::uint32_t line = 0;  ///< 0: unknown
  std::string name;
  std::string function;
  std::string file;
  ModuleId module{};                ///< hooked sites: the module that contains the function
  std::uint64_t module_offset = 0;  ///< hooked sites: function address minus the module's load base
  SiteRole role = SiteRole::work;
};

/// An interned text: the name of an argument, a span or a category.
struct NameDeclaration {
  NameId id{};
  std::string text;
};

/// A lane of spans. A later declaration with the same id replaces the earlier one, for example after a thread is
/// renamed.
struct TrackDeclaration {
  TrackId id{};
  TrackKind kind = TrackKind::thread;
  ProcessId process{1};
  std::uint64_t os_thread_id = 0;  ///< thread tracks: the kernel's thread id
  std::string name;
  TrackRole role = TrackRole::plain;
};

/// A time series, with the properties of its values.
struct MetricDeclaration {
  MetricId id{};
  MetricKind kind = MetricKind::gauge;
  ProcessId process{1};
  std::string name;
  std::string unit;    ///< empty: none
  std::string source;  ///< origin of the values: a path or a call; empty: the program itself
  std::vector<std::pair<std::string, std::string>> labels;
  double step = 0;              ///< resolution of the source, in the unit; 0: unknown
  std::int64_t renewal_ns = 0;  ///< interval at which the source makes a new value; 0: at every read, or unknown
  std::int64_t window_ns = 0;   ///< interval before its time that a value covers; 0: a moment, or unknown
  std::uint32_t traits = 0;

  /// Values are derived from others, not measured.
  static constexpr std::uint32_t estimated = 1;
  /// Includes values that other metrics of the same source also measure.
  static constexpr std::uint32_t total = 2;
  /// `renewal_ns` was measured while recording; otherwise the source states it.
  static constexpr std::uint32_t renewal_measured = 4;
};

/// A stream of frames; a process may have several.
struct FrameStreamDeclaration {
  FrameStreamId id{};
  ProcessId process{1};
  std::string name;  ///< empty: the program's main stream
};

/// A thread whose run states or stacks were observed from outside. It may record scopes of its own: their track has the
/// same process and kernel thread id. The kernel reuses such ids, so several threads of a capture may have one, one
/// after the other.
struct ThreadDeclaration {
  ThreadId id{};
  ProcessId process{1};   ///< the observer, not the thread's own process
  std::uint64_t pid = 0;  ///< of the thread's process
  std::uint64_t os_thread_id = 0;
  std::string name;  ///< its latest name for the kernel; empty: unknown
};

/// An executable or shared library that was mapped while recording.
struct ModuleDeclaration {
  ModuleId id{};
  ProcessId process{1};
  std::uint64_t load_base = 0;
  std::uint64_t size = 0;
  std::string path;
  std::string build_id;  ///< lower-case hex; empty: the module has none
};

/// A function on sampled stacks.
struct FunctionDeclaration {
  FunctionId id{};
  ModuleId module{};                ///< none: an address of no known module, or the kernel
  std::uint64_t module_offset = 0;  ///< its address in the module's file; without a name: the sampled address
  std::string name;                 ///< empty: the module has no symbol there
  std::string file = {};            ///< the path of its source; empty: not known
};

/// A call stack: a place in a function and the stack that called it. Stacks that begin alike share their outer part.
struct StackDeclaration {
  StackId id{};
  StackId caller{};  ///< declared before, with a smaller id; none: this is the outermost function
  FunctionId function{};
  std::uint32_t line = 0;  ///< in the function's file: where it was found, or where it called; 0: not known
};

/// One recorded process. A capture written by one process declares process 1; a merge declares several.
struct ProcessDeclaration {
  ProcessId id{};
  std::uint64_t pid = 0;
  std::string host;
  std::string boot_id;
  std::string rank;  ///< empty: not part of a parallel job
  std::string command_line;
};

/// A fact about the run: header facts, `set_info` pairs, labels. A later value of a key replaces the earlier one.
struct InfoDeclaration {
  ProcessId process{1};
  std::string key;
  std::string value;
};

/// A set of declarations: the new ones of a batch, or all of a capture. Vectors keep the order of declaration.
struct Declarations {
  std::vector<ProcessDeclaration> processes;
  std::vector<InfoDeclaration> infos;
  std::vector<NameDeclaration> names;
  std::vector<ModuleDeclaration> modules;
  std::vector<SiteDeclaration> sites;
  std::vector<TrackDeclaration> tracks;
  std::vector<MetricDeclaration> metrics;
  std::vector<FrameStreamDeclaration> frame_streams;
  std::vector<ThreadDeclaration> threads;
  std::vector<FunctionDeclaration> functions;
  std::vector<StackDeclaration> stacks;

  [[nodiscard]] bool empty() const {
    return processes.empty() && infos.empty() && names.empty() && modules.empty() && sites.empty() && tracks.empty() &&
           metrics.empty() && frame_streams.empty() && threads.empty() && functions.empty() && stacks.empty();
  }
  void clear() {
    processes.clear();
    infos.clear();
    names.clear();
    modules.clear();
    sites.clear();
    tracks.clear();
    metrics.clear();
    frame_streams.clear();
    threads.clear();
    functions.clear();
    stacks.clear();
  }
};

}  // namespace kymo

/// Ids as keys of unordered containers.
template <kymo::IdKind kind>
struct std::hash<kymo::Id<kind>> {
  std::size_t operator()(kymo::Id<kind> id) const noexcept { return std::hash<std::uint32_t>()(id.value()); }
};
