// Compiler function hooks: -finstrument-functions makes every function of a program call them on entry and exit.
// Functions that are patched instead (patched_functions.hpp) come here by their handler.
//
// A hook has no guard object for its scope's token, so each thread keeps its own stack of open hooked functions. An
// exit closes the innermost open scope of its function and drops the frames above, which were left without an exit (by
// an exception under Clang, by longjmp).
#include <algorithm>
#include <atomic>
#include <cerrno>

#include <kymo/detail/hot_path.hpp>

#include "record/hooks/function_table.hpp"
#include "record/hooks/hook_thread.hpp"
#include "record/hooks/kept_registers.hpp"
#include "record/hooks/patched_functions.hpp"
#include "record/hot/track_writer.hpp"
#include "record/recorder/recorder.hpp"

#define KYMO_HOOK __attribute__((visibility("default"), no_instrument_function))

namespace kymo::record {

namespace {

// Never destroyed: hooks run until the very end of the process.
union TableStorage {
  constexpr TableStorage() : table() {}
  ~TableStorage() {}  // NOLINT(modernize-use-equals-default): the union's would be deleted
  FunctionTable table;
};
constinit TableStorage table_storage;

FunctionTable& table() noexcept {
  return table_storage.table;
}

constinit PatchedFunctions patched_functions;

/// Counts a function for which there is no frame, so that its exit is not taken for that of an outer call of it.
__attribute__((noinline)) void enter_without_frame(HookThread& thread) noexcept {
  // A handler that comes in between leaves a count that is not 0, and then not the place.
  if (++thread.unpushed == 1) {
    thread.unpushed_from = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  }
}

/// How a compiler's hook runs what is not quick: it is a call like any other.
struct HookCall {
  template <typename Work>
  static auto run(const Work& work) noexcept {
    return work();
  }
};

/// How a patched function's handler does. The program does not expect a call there.
struct PatchCall {
  template <typename Work>
  static auto run(const Work& work) noexcept {
    return with_registers_kept(work);
  }
};

/// Pushes a function's frame; `open` opens its scope.
template <typename Call, typename Open>
inline void push(HookThread& thread, const void* function, const void* call_site, const Open& open) noexcept {
  const std::uint32_t depth = thread.depth;
  if (depth == HookThread::most_frames) {
    Call::run([&thread] {
      count_dropped(Dropped::scope);
      enter_without_frame(thread);
    });
    return;
  }
  Frame& frame = thread.frames[depth];
  thread.depth = depth + 1;
  detail::signal_fence();
  frame.call_site = call_site;
  frame.token = open();
  detail::signal_fence();
  frame.function = function;
}

/// Counts a scope that cannot be recorded and keeps it open: arguments recorded inside do not belong to its caller.
detail::ScopeToken drop_scope() noexcept {
  count_dropped(Dropped::scope);
  return detail::leave_out_scope();
}

/// Pushes the frame of a function that KYMO_SITES leaves out.
template <typename Call>
void push_left_out(HookThread& thread, const void* function, const void* call_site) noexcept {
  if (thread.depth < HookThread::most_frames) {
    push<Call>(thread, function, call_site, [] { return detail::leave_out_scope(); });
  } else {
    Call::run([&thread] { enter_without_frame(thread); });
  }
}

bool declare(FunctionEntry& entry, std::uintptr_t address) noexcept {
  HookedPlace place;
  char build_id[128];
  place.address = address;
  if (const HookedModule* const module = entry.module) {
    place.module = module->id;
    place.load_base = module->load_base;
    place.size = module->end - module->load_base;
    place.path = module->path;
    place.build_id = module->build_id.hex(build_id);
  }
  return Recorder::instance().declarations().declare_hooked_site(entry.site, place);
}

/// For the first entry of a thread or function.
__attribute__((noinline)) void enter_slow(const void* function, const void* call_site) noexcept {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  HookThread* const thread = hook_thread != nullptr ? hook_thread : make_hook_thread();
  const bool has_slot = attached_slot() != nullptr;
  FunctionEntry* entry = table().find(address);
  if (entry == nullptr) {
    entry = table().admit(address, Recorder::instance().sites());
  }
  const bool is_silent = entry != nullptr && (entry->is_filtered || detail::is_left_out(entry->site));
  if (thread == nullptr) {
    if (!is_silent) {
      count_dropped(Dropped::scope);
    }
  } else if (entry == nullptr) {
    push<HookCall>(*thread, function, call_site, drop_scope);
  } else if (!is_silent) {
    const bool is_declared = detail::has_id(entry->site) || (has_slot && declare(*entry, address));
    push<HookCall>(*thread, function, call_site,
                   [&] { return is_declared ? detail::open_scope(entry->site) : drop_scope(); });
  } else if (!entry->is_filtered) {
    push_left_out<HookCall>(*thread, function, call_site);
  }
  errno = saved_errno;
}

/// Pops frames down to `depth`. Closes dropped scopes, so that arguments go to their callers again.
void drop_frames(HookThread& thread, std::uint32_t depth) noexcept {
  while (thread.depth > depth) {
    Frame& frame = thread.frames[thread.depth - 1];
    const detail::ScopeToken token = frame.token;
    const bool is_whole = frame.function != nullptr;
    frame.function = nullptr;
    detail::signal_fence();
    --thread.depth;
    if (is_whole && detail::is_left_out(token)) {
      detail::close_scope(token);
    }
  }
}

bool has_frame(const HookThread& thread, const void* function, const void* call_site) noexcept {
  return std::any_of(thread.frames, thread.frames + thread.depth,
                     [&](const Frame& frame) { return frame.function == function && frame.call_site == call_site; });
}

/// Exit of a function that is not the innermost open one.
__attribute__((noinline)) void exit_slow(HookThread& thread, const void* function, const void* call_site) noexcept {
  const FunctionEntry* const entry = table().find(reinterpret_cast<std::uintptr_t>(function));
  if (entry != nullptr && entry->is_filtered) {
    return;
  }
  for (std::uint32_t depth = thread.depth; depth > 0; --depth) {
    const Frame& frame = thread.frames[depth - 1];
    if (frame.function == function && frame.call_site == call_site) {
      const detail::ScopeToken token = frame.token;
      drop_frames(thread, depth);
      thread.frames[depth - 1].function = nullptr;
      detail::signal_fence();
      thread.depth = depth - 1;
      if (token.word != 0) {
        detail::close_scope(token);
      }
      return;
    }
  }
}

/// Exit while all frames are in use.
__attribute__((noinline)) void exit_full(HookThread& thread, const void* function, const void* call_site) noexcept {
  const FunctionEntry* const entry = table().find(reinterpret_cast<std::uintptr_t>(function));
  if (entry != nullptr && entry->is_filtered) {
    return;
  }
  if (thread.unpushed != 0) {
    // Where the stack is clearly shorter than at the first function without a frame, those were left without an exit.
    // A signal handler's own stack may look so too, but the functions there have no frame.
    constexpr std::uintptr_t clearly = 1024;
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const bool are_left = place > thread.unpushed_from + clearly && has_frame(thread, function, call_site);
    thread.unpushed = are_left ? 0 : thread.unpushed - 1;
    if (!are_left) {
      return;
    }
  }
  exit_slow(thread, function, call_site);
}

/// `entry` is the function's; null if that is not known.
template <typename Call>
inline void enter_function(FunctionEntry* entry, const void* function, const void* call_site) noexcept {
  if (HookThread* const thread = hook_thread; thread != nullptr && entry != nullptr) {
    if (entry->is_filtered) {
      return;
    }
    if (detail::has_id(entry->site)) {
      push<Call>(*thread, function, call_site, [entry] {
        return detail::open_scope(entry->site, [](kymo_site& site, std::uint64_t key) {
          return Call::run([&site, key] { return detail::open_rest(site, key); });
        });
      });
      return;
    }
    if (detail::is_left_out(entry->site)) {
      push_left_out<Call>(*thread, function, call_site);
      return;
    }
  }
  Call::run([&] { enter_slow(function, call_site); });
}

template <typename Call>
inline void exit_function(const void* function, const void* call_site) noexcept {
  HookThread* const thread = hook_thread;
  if (thread == nullptr || thread->depth == 0) {
    return;
  }
  Frame& frame = thread->frames[thread->depth - 1];
  if (thread->depth == HookThread::most_frames) {
    Call::run([&] { exit_full(*thread, function, call_site); });
    return;
  }
  if (frame.function != function || frame.call_site != call_site) {
    Call::run([&] { exit_slow(*thread, function, call_site); });
    return;
  }
  const detail::ScopeToken token = frame.token;
  frame.function = nullptr;
  detail::signal_fence();
  --thread->depth;
  if (token.word != 0) {
    detail::close_scope(token, [](detail::ScopeToken open) { Call::run([open] { detail::close_rest(open); }); });
  }
}

/// What patched functions call.
void on_patched(std::int32_t number, int kind) noexcept {
  FunctionEntry* const entry = patched_functions.at(number);
  if (entry == nullptr) {
    return;
  }
  const auto* const function = reinterpret_cast<const void*>(entry->address.load(std::memory_order_relaxed));
  switch (static_cast<PatchKind>(kind)) {
    case PatchKind::entry:
    case PatchKind::entry_with_argument:
      if (detail::scopes_on()) {
        enter_function<PatchCall>(entry, function, nullptr);
      }
      break;
    case PatchKind::exit:
    case PatchKind::tail_call:
      exit_function<PatchCall>(function, nullptr);
      break;
  }
}

}  // namespace

extern "C" {

KYMO_HOOK void __cyg_profile_func_enter(void* function, void* call_site);
KYMO_HOOK void __cyg_profile_func_exit(void* function, void* call_site);
KYMO_HOOK void kymo_add_function_filter_v1(kymo_function_filter_v1* filter);
KYMO_HOOK void kymo_remove_function_filter_v1(kymo_function_filter_v1* filter);
KYMO_HOOK void kymo_add_function_patches_v1(const kymo_function_patches_v1* runtime);

void __cyg_profile_func_enter(void* function, void* call_site) {
  if (kymo::detail::scopes_on()) {
    enter_function<HookCall>(
        hook_thread != nullptr ? table().find(reinterpret_cast<std::uintptr_t>(function)) : nullptr, function,
        call_site);
  }
}

void __cyg_profile_func_exit(void* function, void* call_site) {
  exit_function<HookCall>(function, call_site);
}

void kymo_add_function_filter_v1(kymo_function_filter_v1* filter) {
  kymo::record::table().add_filter(*filter);
}

void kymo_remove_function_filter_v1(kymo_function_filter_v1* filter) {
  kymo::record::table().remove_filter(*filter);
}

/// Called when an executable with patchable functions is loaded: they are patched before events are first turned on.
void kymo_add_function_patches_v1(const kymo_function_patches_v1* runtime) {
  patched_functions.set_runtime(*runtime);
  find_registers_to_keep();
  Recorder::instance().prepare_by([] { patched_functions.patch(table(), Recorder::instance().sites(), on_patched); });
}
}

}  // namespace kymo::record
