#include "threads/states/kernel_records.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <ctime>

#include <linux/perf_event.h>
#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#include "threads/states/unwind_rule.hpp"

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;

constexpr std::size_t sample_id_size = 24;
/// Tells samples by CPU time from those of switches, which begin with a number of addresses: no kernel samples more
/// often, and no record has room for so many.
constexpr std::uint64_t least_cpu_period_ns = 10'000;
constexpr std::size_t most_name_bytes = 64;
constexpr std::size_t most_path_bytes = 4096;

template <typename Integer>
Integer number_at(std::span<const std::byte> bytes, std::size_t offset) {
  Integer value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// FORK and EXIT name the thread themselves: a fork is reported by the thread that forks.
KernelRecord parse_task(std::span<const std::byte> body, Kind kind, KernelRecord record) {
  constexpr std::size_t size = 24;
  if (body.size() >= size) {
    record.kind = kind;
    record.pid = number_at<std::uint32_t>(body, 0);
    record.tid = number_at<std::uint32_t>(body, 8);
    record.parent_pid = number_at<std::uint32_t>(body, 4);
    record.parent_tid = number_at<std::uint32_t>(body, 12);
  }
  return record;
}

std::string text_of(std::span<const std::byte> bytes, std::size_t most) {
  const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
  const auto length = std::min(static_cast<std::size_t>(end - bytes.begin()), most);
  return {reinterpret_cast<const char*>(bytes.data()), length};
}

KernelRecord parse_name(std::span<const std::byte> body, std::uint16_t misc, KernelRecord record) {
  constexpr std::size_t ids = 8;
  if (body.size() > ids) {
    record.is_exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
    record.kind = Kind::named;
    record.pid = number_at<std::uint32_t>(body, 0);
    record.tid = number_at<std::uint32_t>(body, 4);
    record.name = text_of(body.subspan(ids), most_name_bytes);
  }
  return record;
}

KernelRecord parse_mapping(std::span<const std::byte> body, KernelRecord record) {
  constexpr std::size_t path = 64;
  if (body.size() > path) {
    record.kind = Kind::mapped;
    record.pid = number_at<std::uint32_t>(body, 0);
    record.tid = number_at<std::uint32_t>(body, 4);
    record.address = number_at<std::uint64_t>(body, 8);
    record.size = number_at<std::uint64_t>(body, 16);
    record.file_offset = number_at<std::uint64_t>(body, 24);
    record.inode = number_at<std::uint64_t>(body, 40);
    record.name = text_of(body.subspan(path), most_path_bytes);
  }
  return record;
}

/// The kernel's numbers of the registers by DWARF's.
#if defined(__x86_64__)
constexpr std::array<std::uint8_t, register_count> kernel_registers{
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,  PERF_REG_X86_DI,
    PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15, PERF_REG_X86_IP};
#elif defined(__aarch64__)
// The same numbers.
static_assert(PERF_REG_ARM64_X29 == frame_pointer && PERF_REG_ARM64_LR == return_address &&
              PERF_REG_ARM64_SP == stack_pointer && PERF_REG_ARM64_PC == program_counter);
constexpr std::array<std::uint8_t, register_count> kernel_registers = [] {
  std::array<std::uint8_t, register_count> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::uint8_t>(i);
  }
  return numbers;
}();
#else
constexpr std::array<std::uint8_t, 0> kernel_registers{};
#endif

std::uint64_t register_mask() {
  std::uint64_t mask = 0;
  for (const std::uint8_t number : kernel_registers) {
    mask |= std::uint64_t{1} << number;
  }
  return mask;
}

/// Waits may come in thousands a second.
constexpr std::uint32_t most_copied_of_wait = std::uint32_t{4} << 10U;

/// The registers and the copy of the stack at a sample's end, if both are there.
void parse_stack(std::span<const std::byte> body, KernelRecord& record) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  constexpr std::size_t registers_end = word * (kernel_registers.size() + 1);
  if (kernel_registers.empty() || body.size() < registers_end + word ||
      number_at<std::uint64_t>(body, 0) != PERF_SAMPLE_REGS_ABI_64) {
    return;
  }
  const std::span<const std::byte> copy = body.subspan(registers_end);
  const auto size = number_at<std::uint64_t>(copy, 0);
  if (size == 0 || size > copy.size() - word || copy.size() - word - static_cast<std::size_t>(size) < word) {
    return;
  }
  const auto used = std::min(number_at<std::uint64_t>(copy, word + static_cast<std::size_t>(size)), size);
  const auto stack = copy.subspan(word, static_cast<std::size_t>(used));
  record.stack.assign(stack.begin(), stack.end());
  const std::uint64_t mask = register_mask();
  for (const std::uint8_t number : kernel_registers) {
    // The kernel writes them by ascending number of its own.
    const auto before = static_cast<std::size_t>(std::popcount(mask & ((std::uint64_t{1} << number) - 1)));
    record.registers.push_back(number_at<std::uint64_t>(body, word * (before + 1)));
  }
}

/// `record` has the ids and the time; `body` begins behind them.
KernelRecord parse_sample(std::span<const std::byte> body, std::uint16_t misc, KernelRecord record) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  Kind kind = Kind::leaving;
  if (body.size() >= word && number_at<std::uint64_t>(body, 0) >= least_cpu_period_ns) {
    kind = Kind::sampled;
    body = body.subspan(word);
  }
  if (body.size() < word || number_at<std::uint64_t>(body, 0) > body.size() / word - 1) {
    return record;
  }
  record.kind = kind;
  record.is_in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  const auto count = static_cast<std::size_t>(number_at<std::uint64_t>(body, 0));
  record.chain.reserve(count);
  bool is_user = false;
  bool is_kernel = false;
  for (std::size_t i = 1; i <= count; ++i) {
    const auto address = number_at<std::uint64_t>(body, i * sizeof(std::uint64_t));
    if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      is_user = address == static_cast<std::uint64_t>(PERF_CONTEXT_USER);
      is_kernel = address == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
    } else if (is_user) {
      record.chain.push_back(address);
    } else if (is_kernel) {
      record.kernel_chain.push_back(address);
    }
  }
  parse_stack(body.subspan((count + 1) * word), record);
  return record;
}

/// `record` has the ids and the time; `body` begins behind them.
KernelRecord parse_wake(std::span<const std::byte> body, const WakeTracepoint& wakes, KernelRecord record) {
  constexpr std::size_t flags_offset = 2;
  constexpr unsigned in_interrupt = 0x08U | 0x10U;  // TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ
  const std::size_t woken_end = std::size_t{wakes.woken_offset} + sizeof record.woken_tid;
  if (body.size() < sizeof(std::uint32_t) ||
      std::min<std::size_t>(number_at<std::uint32_t>(body, 0), body.size() - sizeof(std::uint32_t)) <
          std::max(woken_end, flags_offset + 1)) {
    return record;
  }
  const std::span<const std::byte> fields = body.subspan(sizeof(std::uint32_t));
  if ((number_at<std::uint8_t>(fields, flags_offset) & in_interrupt) == 0) {
    record.kind = Kind::waking;
    record.woken_tid = number_at<std::uint32_t>(fields, wakes.woken_offset);
  }
  return record;
}

/// The sample id's fields. False if the time is none of CLOCK_MONOTONIC.
bool parse_id(std::span<const std::byte> id, KernelRecord& record) {
  record.pid = number_at<std::uint32_t>(id, 0);
  record.tid = number_at<std::uint32_t>(id, 4);
  record.time_ns = static_cast<std::int64_t>(number_at<std::uint64_t>(id, 8));
  record.cpu = number_at<std::uint32_t>(id, 16);
  return record.time_ns >= 0;
}

}  // namespace

perf_event_attr make_settings(EventKind kind, const EventChoice& choice, std::uint32_t wakeup_bytes) noexcept {
  perf_event_attr settings{};
  settings.size = sizeof settings;
  settings.type = PERF_TYPE_SOFTWARE;
  settings.config = PERF_COUNT_SW_DUMMY;
  settings.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  settings.sample_id_all = 1;
  settings.inherit = 1;
  settings.exclude_kernel = 1;
  settings.exclude_hv = 1;
  settings.use_clockid = 1;
  settings.clockid = CLOCK_MONOTONIC;
  settings.watermark = 1;
  settings.wakeup_watermark = wakeup_bytes;
  if (kind == EventKind::threads) {
    settings.context_switch = choice.switches;
    settings.task = 1;
    settings.comm = 1;
    settings.comm_exec = 1;
    settings.mmap = choice.samples_hz != 0;
    settings.mmap2 = choice.samples_hz != 0;
    return settings;
  }
  if (kind == EventKind::wakes) {
    settings.type = PERF_TYPE_TRACEPOINT;
    settings.config = choice.wakes ? choice.wakes->id : 0;
    settings.sample_type |= PERF_SAMPLE_RAW;
    settings.sample_period = 1;
    settings.exclude_kernel = 0;
    return settings;
  }
  settings.sample_type |= PERF_SAMPLE_CALLCHAIN;
  settings.exclude_kernel = !choice.samples_kernel;
  settings.exclude_callchain_kernel = !choice.samples_kernel;
  std::uint32_t copied_bytes = choice.copied_stack_bytes;
  if (kind == EventKind::samples) {
    settings.sample_type |= PERF_SAMPLE_PERIOD;
    settings.config = PERF_COUNT_SW_CPU_CLOCK;
    settings.freq = 1;
    settings.sample_freq = choice.samples_hz;
  } else {
    settings.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    settings.sample_period = 1;
    copied_bytes = std::min(copied_bytes, most_copied_of_wait);
  }
  if (copied_bytes != 0 && !kernel_registers.empty()) {
    settings.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    settings.sample_regs_user = register_mask();
    settings.sample_stack_user = copied_bytes;
  }
  return settings;
}

std::size_t record_size(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(perf_event_header)) {
    return 0;
  }
  const auto size = number_at<std::uint16_t>(bytes, offsetof(perf_event_header, size));
  return size >= sizeof(perf_event_header) && size <= bytes.size() ? size : 0;
}

KernelRecord parse_record(std::span<const std::byte> bytes, const std::optional<WakeTracepoint>& wakes) {
  KernelRecord record;
  if (bytes.size() < sizeof(perf_event_header) + sample_id_size) {
    return record;
  }
  const auto type = number_at<std::uint32_t>(bytes, offsetof(perf_event_header, type));
  const auto misc = number_at<std::uint16_t>(bytes, offsetof(perf_event_header, misc));
  const std::span<const std::byte> content = bytes.subspan(sizeof(perf_event_header));
  if (type == PERF_RECORD_SAMPLE) {
    if (!parse_id(content, record)) {
      return record;
    }
    const std::span<const std::byte> body = content.subspan(sample_id_size);
    return wakes ? parse_wake(body, *wakes, std::move(record)) : parse_sample(body, misc, std::move(record));
  }
  const std::span<const std::byte> body = content.first(content.size() - sample_id_size);
  if (!parse_id(content.last(sample_id_size), record)) {
    return record;
  }
  switch (type) {
    case PERF_RECORD_SWITCH:
      record.kind = (misc & PERF_RECORD_MISC_SWITCH_OUT) == 0           ? Kind::switched_in
                    : (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0 ? Kind::pushed_off
                                                                        : Kind::blocked;
      break;
    case PERF_RECORD_FORK:
      return parse_task(body, Kind::forked, std::move(record));
    case PERF_RECORD_EXIT:
      return parse_task(body, Kind::exited, std::move(record));
    case PERF_RECORD_COMM:
      return parse_name(body, misc, std::move(record));
    case PERF_RECORD_MMAP2:
      return parse_mapping(body, std::move(record));
    case PERF_RECORD_LOST:
      if (body.size() >= 2 * sizeof(std::uint64_t)) {
        record.kind = Kind::lost_records;
        record.lost = number_at<std::uint64_t>(body, sizeof(std::uint64_t));
      }
      break;
    default:
      break;
  }
  return record;
}

}  // namespace kymo::threads
