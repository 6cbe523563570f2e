// Records of the kernel about threads (perf_event_open): context switches, forks, exits, names, losses.
//
//   record     := u32 type, u16 misc, u16 size, body, sample id         size counts all of it
//   sample id  := u32 pid, u32 tid, u64 time, u32 CPU, u32 unused       because of sample_id_all with those three
//
//   SWITCH (14)  no body; misc says whether the thread left its CPU, and whether it was pushed off
//   FORK (7), EXIT (4)  u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time
//   COMM (3)     u32 pid, u32 tid, name, zeros
//   MMAP2 (10)   u32 pid, u32 tid, u64 address, u64 size, u64 offset in the file, u32 major, u32 minor, u64 inode,
//                u64 generation, u32 protection, u32 flags, path, zeros
//   LOST (2)     u64 id, u64 number
//   SAMPLE (9)   the sample id's fields first, then u64 ns of CPU time (none: a switch), u64 number of addresses, u64 address
//                each; if stacks are copied, u64 1 and u64 each of the registers (or u64 0 and none), u64 size, the
//                stack from its pointer on, and if there is any u64 size of what was copied; no sample id at the end.
//                Of wakes: the sample id's fields, then u32 size, and so many bytes that the tracepoint describes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct perf_event_attr;

namespace kymo::threads {

/// One record. What a kind does not have is 0.
struct KernelRecord {
  enum class Kind : std::uint8_t {
    other,
    switched_in,   ///< the thread runs on the CPU
    pushed_off,    ///< it left the CPU and could go on
    blocked,       ///< it left the CPU to wait
    found,         ///< it existed before it was observed; not the kernel's, but describe_process()'s
    forked,        ///< it exists; pid and tid are its own, parent_tid is that of its creator
    exited,        ///< it ended
    named,         ///< it has a name
    mapped,        ///< its process can execute a file's bytes at an address
    sampled,       ///< it ran, in this call stack
    leaving,       ///< it is about to leave the CPU, in this call stack; pushed_off or blocked follows
    waking,        ///< it ended the wait of the thread `woken_tid`
    lost_records,  ///< the ring had no room for `lost` records
  };

  Kind kind = Kind::other;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t parent_pid = 0;
  std::uint32_t parent_tid = 0;
  std::uint32_t woken_tid = 0;
  std::uint32_t cpu = 0;
  std::int64_t time_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t lost = 0;
  bool is_exec = false;       ///< named: by an execve, which ended the other threads of its process
  bool is_in_kernel = false;  ///< sampled, leaving: the kernel ran on the thread's behalf
  std::string name;           ///< found, named: the thread's; mapped: the file's path
  std::uint64_t address = 0;  ///< mapped, with the next three
  std::uint64_t size = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t inode = 0;
  /// Sampled, leaving: where the thread was in its program, then the return addresses, the outermost last. Where a
  /// signal came instead of a call, the address is one behind the place, too.
  std::vector<std::uint64_t> chain;
  std::vector<std::uint64_t> kernel_chain;  ///< the same of the kernel, which called nothing in the program
  std::vector<std::uint64_t>
      registers;                 ///< the program's, as unwind_rule.hpp numbers them; none if the stack was not copied
  std::vector<std::byte> stack;  ///< from where the stack pointer points on
};

/// The kernel's tracepoint sched_waking: its number, and where in its bytes the number of the woken thread is.
struct WakeTracepoint {
  std::uint64_t id = 0;
  std::uint32_t woken_offset = 0;
};

/// What to ask the kernel for, beside forks, exits and names.
struct EventChoice {
  bool switches = true;
  std::uint32_t samples_hz = 0;  ///< call stacks of whatever runs, so often in a second of CPU time; 0: none
  bool samples_kernel = false;   ///< also while the kernel runs on a thread's behalf; perf_event_paranoid 1
  bool samples_waits = false;    ///< also the stacks of threads that leave their CPU; needs samples_kernel
  /// So much of the stack, from its pointer on, and the registers with each stack, of waits at most 4 KiB; a multiple
  /// of 8; 0: none.
  std::uint32_t copied_stack_bytes = 0;
  bool is_own = false;  ///< of this process's threads alone, which run meanwhile: no processes that it starts
  std::optional<WakeTracepoint> wakes = std::nullopt;  ///< who ended whose wait, if the kernel permits it; none: nobody
};

/// What one event tells.
enum class EventKind : std::uint8_t {
  threads,  ///< switches, forks, exits, names, mappings
  samples,  ///< stacks by CPU time
  waits,    ///< stacks of threads that leave their CPU
  wakes,    ///< wakes, in the rings of `threads`
};

/// The settings with which an event yields the records above, permitted for one's own processes up to
/// perf_event_paranoid 2; wakes up to -1, or with CAP_PERFMON.
[[nodiscard]] perf_event_attr make_settings(EventKind kind, const EventChoice& choice,
                                            std::uint32_t wakeup_bytes) noexcept;

/// The size of the record that begins here; 0 if there is no whole record, or its size cannot be right.
[[nodiscard]] std::size_t record_size(std::span<const std::byte> bytes) noexcept;

/// Parses one whole record. What is too short for its type, or of another type, is Kind::other. Believes no byte.
/// With a tracepoint, samples are wakes. Those by an interrupt are Kind::other: the thread that it interrupted has no
/// part in them.
[[nodiscard]] KernelRecord parse_record(std::span<const std::byte> bytes,
                                        const std::optional<WakeTracepoint>& wakes = std::nullopt);

}  // namespace kymo::threads
