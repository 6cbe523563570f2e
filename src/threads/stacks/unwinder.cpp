#include "threads/stacks/unwinder.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace kymo::threads {
namespace {

using ValueKind = UnwindValue::Kind;

// x86-64's calls push the return address; AArch64's leave it in a register, so that the innermost function may have no
// stack of its own.
constexpr bool calls_push = program_counter == return_address;

/// A return address without the signature that AArch64 may put into its upper bits. The kernel's addresses are of no
/// interest here.
std::uint64_t without_signature(std::uint64_t address) {
  constexpr unsigned address_bits = 48;
  return calls_push ? address : address & ((std::uint64_t{1} << address_bits) - 1);
}

/// The registers of one frame after the other; what is not known of one is missing.
class Frame {
 public:
  explicit Frame(const KernelRecord& sample) : stack_(sample.stack), stack_begin_(sample.registers.at(stack_pointer)) {
    std::copy(sample.registers.begin(), sample.registers.end(), registers_.begin());
  }

  [[nodiscard]] std::optional<std::uint64_t> place() const { return registers_[program_counter]; }

  [[nodiscard]] bool has_no_frame_pointer() const { return registers_[frame_pointer] == std::uint64_t{0}; }

  /// Goes to the caller. Returns false if the frame does not tell. `has_called`: it is not the innermost function, nor
  /// one that a signal interrupted.
  bool leave(const UnwindRule& rule, bool has_called) {
    const auto frame = value_of(rule.frame, std::nullopt);
    if (!frame) {
      return false;
    }
    Registers next;
    for (std::size_t i = 0; i < register_count; ++i) {
      const UnwindValue& value = rule.registers[i];
      next[i] = value.kind == ValueKind::same ? registers_[i] : value_of(value, frame);
    }
    if (const ValueKind kind = rule.registers[stack_pointer].kind;
        kind != ValueKind::sum && kind != ValueKind::memory) {
      next[stack_pointer] = frame;
    }
    if (!next[return_address] || !next[stack_pointer]) {
      return false;
    }
    next[program_counter] = without_signature(*next[return_address]);
    // Handlers may have a stack of their own; all others grow in one direction.
    const std::uint64_t least_growth = calls_push || has_called ? 1 : 0;
    if (!rule.is_signal && registers_[stack_pointer] &&
        (*next[stack_pointer] < *registers_[stack_pointer] ||
         *next[stack_pointer] - *registers_[stack_pointer] < least_growth)) {
      return false;
    }
    registers_ = next;
    return true;
  }

 private:
  using Registers = std::array<std::optional<std::uint64_t>, register_count>;

  [[nodiscard]] std::optional<std::uint64_t> read(std::uint64_t address) const {
    std::uint64_t value = 0;
    if (address < stack_begin_ || address - stack_begin_ > stack_.size() ||
        stack_.size() - static_cast<std::size_t>(address - stack_begin_) < sizeof value) {
      return std::nullopt;
    }
    std::memcpy(&value, stack_.data() + (address - stack_begin_), sizeof value);
    return value;
  }

  [[nodiscard]] std::optional<std::uint64_t> value_of(const UnwindValue& value,
                                                      const std::optional<std::uint64_t>& frame) const {
    if (value.kind != ValueKind::sum && value.kind != ValueKind::memory) {
      return std::nullopt;
    }
    const auto base = value.base < register_count ? registers_[value.base] : frame;
    if (!base) {
      return std::nullopt;
    }
    const std::uint64_t sum = *base + static_cast<std::uint64_t>(std::int64_t{value.offset});
    return value.kind == ValueKind::sum ? std::optional(sum) : read(sum);
  }

  const std::vector<std::byte>& stack_;
  std::uint64_t stack_begin_;
  Registers registers_;
};

/// Code with frame pointers: the caller's is where this one points, and the return address follows.
UnwindRule frame_pointer_rule() {
  UnwindRule rule;
  constexpr std::int32_t two_words = 16;
  constexpr std::int32_t word = 8;
  rule.frame = {ValueKind::sum, frame_pointer, two_words};
  rule.registers[frame_pointer] = {ValueKind::memory, UnwindValue::frame_address, -two_words};
  rule.registers[return_address] = {ValueKind::memory, UnwindValue::frame_address, -word};
  return rule;
}

/// The rest of a stack that goes on beyond its copy. `last`: the place of the outermost frame found.
void append_rest(std::vector<std::uint64_t>& chain, std::optional<std::uint64_t> last,
                 const std::vector<std::uint64_t>& by_frame_pointers) {
  const auto same = std::find(by_frame_pointers.begin(), by_frame_pointers.end(), last);
  if (same == by_frame_pointers.end() || std::next(same) == by_frame_pointers.end()) {
    chain.push_back(0);
  } else {
    chain.insert(chain.end(), std::next(same), by_frame_pointers.end());
  }
}

}  // namespace

const UnwindRule* Unwinder::rule_of(const AddressSpaces::Place& place, const FileOf& file_of) {
  const File file = file_of(place.module);
  if (file.path.rfind('/', 0) != 0 && file.path != "[vdso]") {
    return nullptr;
  }
  Rules* rules = &rules_[place.module];
  auto after = rules->upper_bound(place.file_offset);
  if (after != rules->begin()) {
    const auto& [begin, rule] = *std::prev(after);
    if (rule ? place.file_offset < rule->end : place.file_offset == begin) {
      return rule ? &*rule : nullptr;
    }
  }
  if (count_ == most_rules) {
    rules_.clear();
    count_ = 0;
    rules = &rules_[place.module];
  }
  const auto rule = process_.find(place.module, file.path, file.inode, place.file_offset);
  const std::uint64_t begin = rule ? rule->begin : place.file_offset;
  const auto [entry, is_new] = rules->insert_or_assign(begin, rule);
  count_ += is_new ? 1 : 0;
  return entry->second ? &*entry->second : nullptr;
}

std::vector<std::uint64_t> Unwinder::unwind(const KernelRecord& sample, const AddressSpaces& spaces,
                                            const FileOf& file_of) {
  if (sample.registers.size() != register_count || sample.stack.empty() || !is_running()) {
    return sample.chain;
  }
  static const UnwindRule by_frame_pointer = frame_pointer_rule();
  Frame frame(sample);
  std::vector<std::uint64_t> chain{*frame.place()};
  bool is_exact = true;  // the place itself, not the one behind a call
  bool is_whole = false;
  bool has_stack_pointer = true;
  while (chain.size() < most_frames) {
    AddressSpaces::Place place;
    const std::uint64_t address = *frame.place() - (is_exact ? 0 : 1);
    if (!spaces.find(sample.pid, address, place)) {
      break;
    }
    const UnwindRule* known = rule_of(place, file_of);
    if (known != nullptr && !has_stack_pointer && known->frame.base != frame_pointer) {
      known = nullptr;
    }
    // The first function of a thread says that nothing called it; by frame pointers, there is none.
    is_whole =
        known != nullptr ? known->registers[return_address].kind == ValueKind::none : frame.has_no_frame_pointer();
    if (is_whole || !frame.leave(known != nullptr ? *known : by_frame_pointer, !is_exact)) {
      break;
    }
    // AArch64's frame pointer does not tell where the frame ends.
    has_stack_pointer = has_stack_pointer && (calls_push || known != nullptr);
    is_whole = *frame.place() == 0;
    if (is_whole) {
      break;
    }
    const bool is_below_signal = known != nullptr && known->is_signal;
    if (is_below_signal && !is_exact) {
      ++chain.back();  // no call returns to the kernel's way out of a handler: its first instruction is meant
    }
    is_exact = is_below_signal;
    chain.push_back(*frame.place() + (is_exact ? 1 : 0));
  }
  if (!is_whole && chain.size() < most_frames) {
    append_rest(chain, frame.place(), sample.chain);
  }
  return chain;
}

}  // namespace kymo::threads
