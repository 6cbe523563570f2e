#include "threads/stacks/stack_samples.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/append.hpp"
#include "threads/symbols/symbol_name.hpp"

namespace kymo::threads {

using Kind = KernelRecord::Kind;

namespace {

/// Addresses that belong to no function of a file: their numbers in module 0.
constexpr std::uint64_t unknown_place = 0;
constexpr std::uint64_t kernel_place = 1;
constexpr const char* kernel_name = "[kernel]";

constexpr std::int64_t known_for_ns = 10'000'000'000;

/// The thread, and the length in quarters of powers of two.
std::uint64_t length_of(std::uint32_t tid, std::int64_t waited_ns) {
  const auto waited = static_cast<std::uint64_t>(waited_ns);
  const auto bits = static_cast<unsigned>(std::bit_width(waited));
  const std::uint64_t quarter = (bits > 2 ? waited >> (bits - 3) : waited << (3 - bits)) & 3U;
  return (std::uint64_t{tid} << 8U) | (std::uint64_t{bits} << 2U) | quarter;
}

/// Lengths that differ by less than a factor of two: so many quarters longer or shorter.
constexpr std::uint64_t about = 3;

/// Waits that end so close to each other are often of one kind, and say no more than one.
constexpr std::int64_t one_time_ns = 50'000'000;
constexpr std::uint32_t most_times = known_for_ns / one_time_ns;

/// Memory that is no file, such as compiled at run time ("//anon") or the kernel's own ("[vdso]").
bool is_file(const std::string& path) {
  return path.rfind('/', 0) == 0 && path.rfind("//", 0) != 0;
}

}  // namespace

void StackSamples::take(const KernelRecord& record, ThreadId thread) {
  last_ns_ = record.time_ns;
  switch (record.kind) {
    case Kind::mapped:
      map(record);
      return;
    case Kind::sampled:
      take_sample(record, thread);
      return;
    case Kind::leaving:
      take_leaving(record, thread);
      return;
    case Kind::blocked:
      if (const auto wait = waits_.find(record.tid); wait != waits_.end()) {
        wait->second.is_blocked = true;
      } else if (has_waits_) {
        waits_[record.tid] = {std::nullopt, record.time_ns, true};
      }
      return;
    case Kind::switched_in:
      end_wait(record, thread);
      return;
    case Kind::pushed_off:
      waits_.erase(record.tid);
      return;
    case Kind::exited:
      waits_.erase(record.tid);
      spaces_.take(record);
      return;
    default:
      spaces_.take(record);
      if (record.kind == Kind::named && record.is_exec) {
        perf_maps_.erase(record.pid);
      }
      return;
  }
}

/// 0 if there are too many.
std::uint32_t StackSamples::number_of(std::string path, std::uint64_t inode) {
  const auto key = std::make_pair(std::move(path), inode);
  const auto known = module_numbers_.find(key);
  if (known != module_numbers_.end()) {
    return known->second;
  }
  if (modules_.size() == most_modules) {
    return 0;
  }
  modules_.push_back({{}, key.first, key.second, {}});
  return module_numbers_.emplace(key, static_cast<std::uint32_t>(modules_.size())).first->second;
}

void StackSamples::map(const KernelRecord& record) {
  const std::uint64_t inode = is_file(record.name) ? record.inode : 0;
  if (const std::uint32_t module = number_of(record.name == "//anon" ? "[anonymous]" : record.name, inode)) {
    spaces_.map(record, module);
  }
}

ModuleId StackSamples::declare(Module& module) {
  if (!module.id) {
    module.id = ModuleId{++last_module_};
    ModuleDeclaration declaration;
    declaration.id = module.id;
    declaration.path = module.path;
    if (module.symbols) {
      std::array<char, 128> text{};
      declaration.build_id = module.symbols->build_id().hex(text);
    }
    pending_.declarations.modules.push_back(std::move(declaration));
  }
  return module.id;
}

FunctionId StackSamples::function_of(std::uint32_t module, std::uint64_t address, const std::string& name,
                                     const std::string& file) {
  const std::uint64_t key = key_of(module, address);
  const auto known = functions_.find(key);
  return known != functions_.end() ? known->second : add_function(key, module, address, name, file);
}

/// Wherever it is inlined it is one function, whose address is the first that was seen.
FunctionId StackSamples::inlined_function_of(std::uint32_t module, std::uint64_t address, const SourceFrame& source) {
  constexpr std::uint64_t mark = std::uint64_t{1} << 63U;  // beyond all modules
  const auto [known, is_new] = inlined_.try_emplace({module, source.symbol});
  if (is_new) {
    const std::string name = name_of_symbol(source.symbol) + " (inlined)";
    known->second = add_function(mark | inlined_.size(), module, address, name, source.file);
  }
  return known->second;
}

FunctionId StackSamples::add_function(std::uint64_t key, std::uint32_t module, std::uint64_t address,
                                      const std::string& name, const std::string& file) {
  if (functions_.size() == most_functions) {
    return {};
  }
  const FunctionId id = FunctionId::from_index(functions_.size());
  functions_.emplace(key, id);
  FunctionDeclaration declaration;
  declaration.id = id;
  declaration.name = name;
  declaration.file = file;
  if (module != 0) {
    declaration.module = declare(modules_[module - std::size_t{1}]);
    declaration.module_offset = address;
  }
  pending_.declarations.functions.push_back(std::move(declaration));
  return id;
}

std::vector<StackSamples::Frame> StackSamples::resolve(std::uint32_t number, std::uint64_t file_offset) {
  Module& module = modules_[number - std::size_t{1}];
  if (!is_file(module.path)) {
    return {{function_of(number, 0, {})}};
  }
  if (!module.symbols) {
    module.symbols.emplace(module.path, module.inode);
  }
  const NamedFunction function = module.symbols->find(file_offset);
  const std::uint64_t address = module.symbols->address_of(file_offset);
  if (function.address >> position_bits != 0 || address >> position_bits != 0) {
    return {{function_of(0, unknown_place, {})}};
  }
  std::vector<SourceFrame> source;
  if (unwinder_ && !module.symbols->debug_path().empty()) {
    source = unwinder_->find_source(number, module.symbols->debug_path(), module.symbols->debug_inode(), address);
  }
  if (source.empty()) {
    return {{function_of(number, function.address, function.name)}};
  }
  // The symbol table names the outermost, as it names functions without debug information.
  std::vector<Frame> frames{
      {function_of(number, function.address, function.name, source.front().file), source.front().line}};
  std::for_each(source.begin() + 1, source.end(), [&](const SourceFrame& inlined) {
    frames.push_back({inlined_function_of(number, address, inlined), inlined.line});
  });
  return frames;
}

/// Code that the program compiled: none if its map has no name for it.
FunctionId StackSamples::compiled_function_at(std::uint32_t pid, std::uint64_t address) {
  auto map = perf_maps_.find(pid);
  if (map == perf_maps_.end()) {
    if (perf_maps_.size() == AddressSpaces::most_processes) {
      return {};
    }
    map = perf_maps_.emplace(pid, PerfMap::of_process(pid)).first;
  }
  const std::string* const name = map->second.find(address);
  const std::uint32_t module = name != nullptr ? number_of("[compiled]", 0) : 0;
  if (module == 0) {
    return {};
  }
  const auto [known, is_new] = compiled_.try_emplace(*name);
  if (is_new) {
    known->second = function_of(module, compiled_.size(), *name);
  }
  return known->second;
}

const KernelSymbols& StackSamples::kernel() {
  if (!kernel_) {
    kernel_.emplace("/proc/kallsyms", meanwhile_);
  }
  return *kernel_;
}

FunctionId StackSamples::kernel_function_at(std::uint64_t address) {
  const auto* const symbol = kernel().find(address);
  const std::uint32_t module = symbol != nullptr ? number_of(kernel_name, 0) : 0;
  constexpr std::uint64_t low_bits = (std::uint64_t{1} << position_bits) - 1;
  return module == 0 ? function_of(0, kernel_place, kernel_name)
                     : function_of(module, symbol->first & low_bits, symbol->second);
}

/// All waits end in it; what called it tells them apart.
bool StackSamples::is_scheduler(std::uint64_t address) {
  const auto* const symbol = kernel().find(address);
  constexpr std::array<std::string_view, 3> names{"__schedule", "schedule", "io_schedule"};
  return symbol != nullptr && std::any_of(names.begin(), names.end(), [symbol](std::string_view name) {
           return symbol->second.compare(0, name.size(), name) == 0;
         });
}

WaitEnd StackSamples::read_wait(std::span<const std::uint64_t> kernel_chain) {
  for (const std::uint64_t address : kernel_chain) {
    const auto* const symbol = kernel().find(address);
    if (symbol == nullptr) {
      continue;
    }
    // Compilers add to the names of functions that they divide: do_wait.part.0.
    const std::string_view name = std::string_view(symbol->second).substr(0, symbol->second.find('.'));
    if (name == "do_nanosleep" || name == "hrtimer_nanosleep") {
      return WaitEnd::timer;
    }
    if (name == "do_wait" || name == "kernel_wait4" || name == "kernel_waitid") {
      return WaitEnd::child;
    }
  }
  return WaitEnd::unknown;
}

std::span<const StackSamples::Frame> StackSamples::frames_at(std::uint32_t pid, std::uint64_t address) {
  AddressSpaces::Place place;
  const bool is_mapped = spaces_.find(pid, address, place) && place.file_offset >> position_bits == 0;
  if (!is_mapped || modules_[place.module - std::size_t{1}].path == "[anonymous]") {
    single_ = {compiled_function_at(pid, address)};
    if (!single_.function && !is_mapped) {
      single_ = {function_of(0, unknown_place, {})};
    }
    if (single_.function) {
      return {&single_, 1};
    }
  }
  const std::uint64_t key = key_of(place.module, place.file_offset);
  if (const auto known = places_.find(key); known != places_.end()) {
    return known->second;
  }
  std::vector<Frame> frames = resolve(place.module, place.file_offset);
  if (places_.size() == most_functions) {
    places_.clear();
  }
  return places_.emplace(key, std::move(frames)).first->second;
}

std::size_t StackSamples::HashOfCalledFrame::operator()(const CalledFrame& key) const noexcept {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;  // 2^64 by the golden ratio
  const std::uint64_t function = (std::uint64_t{key.caller.value()} << 32U) | key.frame.function.value();
  const std::uint64_t mixed = (function * odd) ^ key.frame.line;
  return (mixed ^ (mixed >> 32U)) * odd;
}

StackId StackSamples::stack_of(StackId caller, const Frame& frame) {
  const CalledFrame key{caller, frame};
  const auto known = stacks_.find(key);
  if (known != stacks_.end()) {
    return known->second;
  }
  if (!frame.function || stacks_.size() == most_stacks) {
    return {};
  }
  const StackId id = StackId::from_index(stacks_.size());
  stacks_.emplace(key, id);
  pending_.declarations.stacks.push_back({id, caller, frame.function, frame.line});
  return id;
}

/// Id 0 if the stack could not be read; none if it needs more than is followed.
std::optional<StackId> StackSamples::find_stack(const KernelRecord& record, std::size_t skipped) {
  StackId stack;
  bool is_complete = true;
  const auto push = [&](const Frame& frame) {
    stack = is_complete ? stack_of(stack, frame) : StackId{};
    is_complete = static_cast<bool>(stack);
  };
  const FunctionId unknown = function_of(0, unknown_place, {});
  FunctionId last;
  const auto file_of = [this](std::uint32_t number) {
    const Module& module = modules_[number - std::size_t{1}];
    return Unwinder::File{module.path, module.inode};
  };
  const std::vector<std::uint64_t> chain = unwinder_ ? unwinder_->unwind(record, spaces_, file_of) : record.chain;
  for (std::size_t i = chain.size(); i-- > 0;) {
    // A return address may be the first byte behind the function that called.
    for (const Frame& frame : frames_at(record.pid, chain[i] - (i != 0 ? 1 : 0))) {
      if (frame.function != unknown || last != unknown) {
        push(frame);
      }
      last = frame.function;
    }
  }
  for (std::size_t i = record.kernel_chain.size(); i-- > skipped;) {
    push({kernel_function_at(record.kernel_chain[i] - (i != 0 ? 1 : 0))});
  }
  if (record.is_in_kernel && record.kernel_chain.empty()) {
    push({function_of(0, kernel_place, kernel_name)});
  }
  return is_complete ? std::optional(stack) : std::nullopt;
}

void StackSamples::take_sample(const KernelRecord& record, ThreadId thread) {
  const auto stack = thread ? find_stack(record) : std::nullopt;
  if (!stack) {
    ++left_out_;
    return;
  }
  ++samples_;
  pending_.stack_samples.push_back({thread, *stack, record.cpu, record.time_ns, 0, 0, 0});
}

/// The stack is needed now: what the process maps may be another thing by the end of the wait.
void StackSamples::take_leaving(const KernelRecord& record, ThreadId thread) {
  std::size_t skipped = 0;
  while (skipped < record.kernel_chain.size() && is_scheduler(record.kernel_chain[skipped])) {
    ++skipped;
  }
  if (const auto stack = thread ? find_stack(record, skipped) : std::nullopt) {
    waits_[record.tid] = {*stack, record.time_ns, false};
  } else {
    ++left_out_;
  }
}

/// Counts one more. Beyond some hundred, what was before counts half.
void StackSamples::Alike::add(StackId stack) {
  constexpr std::uint32_t most_waits = 512;
  constexpr std::size_t most_different = 64;
  const auto find = [&] {
    return std::find_if(stacks.begin(), stacks.end(), [stack](const auto& entry) { return entry.first == stack; });
  };
  auto known = find();
  if (known == stacks.end() ? stacks.size() == most_different : known->second == most_waits) {
    for (auto& entry : stacks) {
      entry.second /= 2;
    }
    std::erase_if(stacks, [](const auto& entry) { return entry.second == 0; });
    known = find();
  }
  if (known != stacks.end()) {
    ++known->second;
  } else if (stacks.size() < most_different) {
    stacks.emplace_back(stack, 1);
  }
}

void StackSamples::end_wait(const KernelRecord& record, ThreadId thread) {
  const auto found = waits_.find(record.tid);
  if (found == waits_.end()) {
    return;
  }
  const Wait wait = found->second;
  waits_.erase(found);
  const std::int64_t waited_ns = record.time_ns - wait.since_ns;
  if (!wait.is_blocked || waited_ns <= 0 || !thread) {
    return;
  }
  Alike& alike = alike_[length_of(record.tid, waited_ns)];
  alike.thread = thread;
  alike.cpu = record.cpu;
  if (wait.stack) {
    ++waits_taken_;
    alike.add(*wait.stack);
    alike.stack_ns = record.time_ns;
    if (alike.times < most_times && (alike.times == 0 || record.time_ns - alike.time_ns >= one_time_ns)) {
      ++alike.times;
      alike.time_ns = record.time_ns;
    }
    pending_.stack_samples.push_back({thread, *wait.stack, record.cpu, record.time_ns, waited_ns, 0, 0});
    return;
  }
  alike.first_ns = alike.waited_ns == 0 ? record.time_ns : alike.first_ns;
  alike.last_ns = record.time_ns;
  alike.waited_ns += waited_ns;
}

/// The stacks of waits that are about as long.
StackSamples::Shares StackSamples::shares_of(std::uint64_t length) const {
  Shares shares;
  for (std::uint64_t other = length - about; other <= length + about; ++other) {
    if (const auto alike = alike_.find(other); alike != alike_.end()) {
      for (const auto& [stack, count] : alike->second.stacks) {
        shares.counts[stack] += count;
        shares.all += count;
      }
      shares.times = std::max(shares.times, alike->second.times);
    }
  }
  return shares;
}

/// Writes what was waited as the shares say, to the last nanosecond.
void StackSamples::push_shares(Alike& alike, const Shares& shares) {
  std::int64_t left_ns = std::exchange(alike.waited_ns, 0);
  std::uint32_t left = shares.all;
  const auto push = [&](StackId stack, std::int64_t part_ns) {
    pending_.stack_samples.push_back({alike.thread, stack, alike.cpu, alike.last_ns, 0, part_ns, shares.times});
  };
  for (const auto& [stack, count] : shares.counts) {
    const double share = static_cast<double>(count) / static_cast<double>(left);
    const auto part_ns = static_cast<std::int64_t>(static_cast<double>(left_ns) * share);
    left_ns -= part_ns;
    left -= count;
    if (part_ns > 0) {
      push(stack, part_ns);
    }
  }
  if (left_ns > 0) {
    push({}, left_ns);
  }
}

/// Which waits have stacks is a matter of time, not of what they are. So the others have them in the same shares, by
/// length: a rare long wait does not count to the function that often waits for a short time.
void StackSamples::share_out(bool is_last) {
  for (auto& [length, alike] : alike_) {
    if (alike.waited_ns == 0) {
      continue;
    }
    const Shares shares = shares_of(length);
    if (shares.all != 0 || is_last || last_ns_ - alike.first_ns >= known_for_ns) {
      push_shares(alike, shares);
    }
  }
  std::erase_if(alike_, [this](const auto& entry) {
    return entry.second.waited_ns == 0 && last_ns_ - entry.second.stack_ns > known_for_ns;
  });
}

void StackSamples::collect(EventBatch& batch, bool is_last) {
  share_out(is_last);
  base::append(batch.declarations, pending_.declarations);
  for (const StackSample& sample : pending_.stack_samples) {
    batch.start_ns = std::min(batch.start_ns, sample.time_ns);
    batch.end_ns = std::max(batch.end_ns, sample.time_ns);
  }
  batch.stack_samples.insert(batch.stack_samples.end(), pending_.stack_samples.begin(), pending_.stack_samples.end());
  pending_ = {};
}

}  // namespace kymo::threads
