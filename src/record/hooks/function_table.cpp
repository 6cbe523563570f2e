#include "record/hooks/function_table.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "base/system/message.hpp"
#include "base/text/pattern.hpp"

namespace kymo::record {

namespace {

constexpr std::size_t most_modules = 4096;
constexpr std::size_t module_text_bytes = 1024 * 1024;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t first_slot_count = 4096;

base::SayOnce say_full;
base::SayOnce say_no_memory;

void* map_zeros(std::size_t bytes) noexcept {
  void* const mapping =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

/// Holds a lock; empty if this thread already holds it.
class Locked {
 public:
  explicit Locked(SignalSafeLock& lock) noexcept : lock_(lock.lock() ? &lock : nullptr) {}
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() {
    if (lock_ != nullptr) {
      lock_->unlock();
    }
  }
  [[nodiscard]] explicit operator bool() const noexcept { return lock_ != nullptr; }

 private:
  SignalSafeLock* lock_;
};

/// Held while a function is named, which allocates. An instrumented allocator comes back here on the same thread, or on
/// another one that holds the allocator's lock. So nobody waits for long.
class NamingLock {
 public:
  explicit NamingLock(std::atomic<std::uintptr_t>& owner) noexcept {
    static __thread char here;
    const auto self = reinterpret_cast<std::uintptr_t>(&here);
    std::timespec begin{};
    ::clock_gettime(CLOCK_MONOTONIC, &begin);
    for (std::timespec now = begin; now.tv_sec - begin.tv_sec <= 2; ::clock_gettime(CLOCK_MONOTONIC, &now)) {
      std::uintptr_t expected = 0;
      if (owner.compare_exchange_strong(expected, self, std::memory_order_acquire, std::memory_order_relaxed)) {
        owner_ = &owner;
        return;
      }
      if (expected == self) {
        return;
      }
      // A yield would not suffice: a waiter of a real-time class keeps the holder off its CPU.
      constexpr std::timespec pause{0, 50'000};
      ::nanosleep(&pause, nullptr);
    }
  }
  NamingLock(const NamingLock&) = delete;
  NamingLock& operator=(const NamingLock&) = delete;
  ~NamingLock() {
    if (owner_ != nullptr) {
      owner_->store(0, std::memory_order_release);
    }
  }
  [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  std::atomic<std::uintptr_t>* owner_ = nullptr;
};

_Unwind_Reason_Code look_for_signal_frame(_Unwind_Context* context, void* is_found) noexcept {
  int is_signal_frame = 0;
  static_cast<void>(_Unwind_GetIPInfo(context, &is_signal_frame));
  *static_cast<bool*>(is_found) = is_signal_frame != 0;
  return is_signal_frame != 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// Whether a signal handler is among the callers, according to the unwind tables. Allocates nothing; about 0.3 us per
/// frame.
bool is_in_signal_handler() noexcept {
  bool is_found = false;
  _Unwind_Backtrace(look_for_signal_frame, &is_found);
  return is_found;
}

bool is_module(const HookedModule& known, const LoadedModule& loaded) noexcept {
  if (known.load_base != loaded.load_base || known.begin != loaded.begin || known.end != loaded.end ||
      known.build_id != loaded.build_id) {
    return false;
  }
  std::string_view path(loaded.path);
  path.remove_prefix(path.substr(0, 2) == "./" ? 2 : 0);
  const std::string_view known_path(known.path);
  return known.build_id.size != 0 || path.empty() ||
         (known_path.size() >= path.size() && known_path.substr(known_path.size() - path.size()) == path);
}

}  // namespace

/// Everything but the slots. All zero when mapped, and committed on access. Every step of a change leaves it
/// consistent, so that a child forked in between loses at most one entry.
struct FunctionTable::Memory {
  // On a page that the kernel clears in a forked child, where a thread that held a lock does not exist.
  alignas(page_bytes) SignalSafeLock admitting;
  std::atomic<std::uintptr_t> naming;

  alignas(page_bytes) std::atomic<std::size_t> entry_count;
  std::size_t module_count;
  std::size_t module_text_used;
  FunctionEntry entries[largest_count];
  HookedModule modules[most_modules];
  char module_text[module_text_bytes];

  /// A copy that lives as long as the process; null if there is no room.
  const char* keep(std::string_view first, std::string_view second) noexcept {
    if (first.size() + second.size() >= module_text_bytes - module_text_used) {
      return nullptr;
    }
    char* const copy = module_text + module_text_used;
    module_text_used += first.size() + second.size() + 1;
    std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), copy));
    return copy;
  }
};

/// The filters of a function's module. They stay valid while the function runs.
struct FunctionTable::Filters {
  std::array<const kymo_function_filter_v1*, 64> list{};
  std::size_t count = 0;
  bool has_patterns = false;
};

/// The patterns' result for a function.
struct FunctionTable::Verdict {
  bool is_filtered = false;
  bool is_left_out = false;
};

/// Symbols of one module.
struct FunctionTable::Symbols {
  SymbolIndex index;
  Symbols* next;
};

FunctionTable::~FunctionTable() {
  while (symbols_ != nullptr) {
    delete std::exchange(symbols_, symbols_->next);
  }
  if (Memory* const memory = memory_.load(std::memory_order_relaxed)) {
    ::munmap(memory, sizeof(Memory));
  }
  if (FunctionSlots* const slots = slots_.load(std::memory_order_relaxed)) {
    ::munmap(slots, FunctionSlots::bytes(slots->count()));
  }
}

FunctionTable::Memory* FunctionTable::memory() noexcept {
  Memory* known = memory_.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto* const fresh = static_cast<Memory*>(map_zeros(sizeof(Memory)));
    if (fresh == nullptr) {
      say_no_memory("functions are not recorded: there is no address space for their table");
      return nullptr;
    }
    ::madvise(fresh, page_bytes, MADV_WIPEONFORK);
    if (memory_.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) {
      known = fresh;
    } else {
      ::munmap(fresh, sizeof(Memory));
    }
  }
  return known;
}

FunctionEntry* FunctionTable::admit(std::uintptr_t address, const SiteFilter& sites) noexcept {
  LoadedModule loaded;
  std::uint64_t unloads = 0;
  const bool is_in_module = find_loaded_module(address, loaded, unloads);
  Memory* const memory = this->memory();
  if (memory == nullptr) {
    return nullptr;
  }
  if (unloads != unloads_.load(std::memory_order_relaxed)) {
    retire_unloaded(unloads);
  }
  HookedModule* module = nullptr;
  Filters filters;
  {
    const Locked locked(memory->admitting);
    if (!locked) {
      return nullptr;
    }
    if (FunctionEntry* const known = find(address)) {
      return known;
    }
    module = is_in_module ? module_of(*memory, loaded) : nullptr;
    if (FunctionEntry* const revived = revive(address, module)) {
      return revived;
    }
    filters = filters_of(address);
    if (!filters.has_patterns && !sites.is_set()) {
      return add(*memory, address, module, {});
    }
  }
  // Naming allocates: impossible in a handler that interrupted an allocation, and forbidden while the lock is held.
  if (is_in_signal_handler()) {
    return nullptr;
  }
  const std::optional<FunctionName> name = module != nullptr ? name_of(*module, address) : FunctionName{};
  if (!name) {
    return nullptr;
  }
  Verdict verdict;
  verdict.is_filtered = filters.has_patterns && !is_wanted(filters, *name);
  verdict.is_left_out = !sites.takes(name->qualified, name->full);
  const Locked locked(memory->admitting);
  if (!locked) {
    return nullptr;
  }
  FunctionEntry* const known = find(address);
  return known != nullptr ? known : add(*memory, address, module, verdict);
}

FunctionEntry* FunctionTable::revive(std::uintptr_t address, const HookedModule* module) const noexcept {
  FunctionSlots* const slots = slots_.load(std::memory_order_relaxed);
  FunctionEntry* const retired = slots == nullptr ? nullptr : slots->find(address, [&](const FunctionEntry& entry) {
    return entry.address.load(std::memory_order_relaxed) == (address | FunctionEntry::retired_bit) &&
           entry.module == module;
  });
  if (retired != nullptr) {
    retired->address.store(address, std::memory_order_relaxed);
  }
  return retired;
}

FunctionEntry* FunctionTable::add(Memory& memory, std::uintptr_t address, HookedModule* module,
                                  Verdict verdict) noexcept {
  const std::size_t index = memory.entry_count.load(std::memory_order_relaxed);
  if (index == largest_count || !grow(memory)) {
    say_full("only the first 262,144 functions are recorded");
    return nullptr;
  }
  auto* const entry = new (&memory.entries[index]) FunctionEntry;
  entry->module = module;
  entry->is_filtered = verdict.is_filtered;
  if (verdict.is_left_out) {
    mark_left_out(entry->site);
  }
  entry->address.store(address, std::memory_order_relaxed);
  memory.entry_count.store(index + 1, std::memory_order_release);
  slots_.load(std::memory_order_relaxed)->put(address, entry);
  return entry;
}

bool FunctionTable::grow(const Memory& memory) noexcept {
  const FunctionSlots* const current = slots_.load(std::memory_order_relaxed);
  const std::size_t used = memory.entry_count.load(std::memory_order_relaxed);
  if (current != nullptr && (used + 1) * 2 <= current->count()) {
    return true;
  }
  const std::size_t count = current != nullptr ? current->count() * 2 : first_slot_count;
  void* const mapping = map_zeros(FunctionSlots::bytes(count));
  if (mapping == nullptr) {
    return false;
  }
  auto* const larger = new (mapping) FunctionSlots(count);
  for (std::size_t i = 0; i < used; ++i) {
    auto* const entry = const_cast<FunctionEntry*>(&memory.entries[i]);
    larger->put(entry->address.load(std::memory_order_relaxed) & ~FunctionEntry::retired_bit, entry);
  }
  slots_.store(larger, std::memory_order_release);
  return true;
}

HookedModule* FunctionTable::module_of(Memory& memory, const LoadedModule& loaded) noexcept {
  for (HookedModule* module = modules_.load(std::memory_order_relaxed); module != nullptr; module = module->next) {
    if (is_module(*module, loaded)) {
      module->is_loaded.store(true, std::memory_order_relaxed);
      return module;
    }
  }
  if (memory.module_count == most_modules) {
    return nullptr;
  }
  const std::string_view path(loaded.path);
  char directory[PATH_MAX];
  const char* kept = nullptr;
  if (path.empty()) {
    const ssize_t size = ::readlink("/proc/self/exe", directory, sizeof directory);
    kept = memory.keep({directory, size > 0 ? static_cast<std::size_t>(size) : 0}, {});
  } else if (path.front() == '/' || ::getcwd(directory, sizeof directory) == nullptr) {
    kept = memory.keep(path, {});
  } else {
    std::strncat(directory, "/", sizeof directory - std::strlen(directory) - 1);
    kept = memory.keep(directory, path.substr(path.substr(0, 2) == "./" ? 2 : 0));
  }
  if (kept == nullptr) {
    return nullptr;
  }
  auto* const module = new (&memory.modules[memory.module_count++]) HookedModule;
  module->id = ModuleId{static_cast<std::uint32_t>(memory.module_count)};
  module->load_base = loaded.load_base;
  module->begin = loaded.begin;
  module->end = loaded.end;
  module->path = kept;
  module->is_executable = path.empty();
  module->build_id = loaded.build_id;
  module->next = modules_.load(std::memory_order_relaxed);
  modules_.store(module, std::memory_order_release);
  return module;
}

void FunctionTable::retire(Memory& memory, HookedModule& module) noexcept {
  module.is_loaded.store(false, std::memory_order_relaxed);
  const std::span entries(static_cast<FunctionEntry*>(memory.entries),
                          memory.entry_count.load(std::memory_order_relaxed));
  for (FunctionEntry& entry : entries) {
    if (entry.module == &module) {
      entry.address.fetch_or(FunctionEntry::retired_bit, std::memory_order_relaxed);
    }
  }
}

void FunctionTable::retire_unloaded(std::uint64_t unloads) noexcept {
  Memory& memory = *this->memory();
  for (HookedModule* module = modules_.load(std::memory_order_acquire); module != nullptr; module = module->next) {
    LoadedModule there;
    std::uint64_t ignored = 0;
    if (module->is_executable || !module->is_loaded.load(std::memory_order_relaxed) ||
        (find_loaded_module(module->begin, there, ignored) && is_module(*module, there))) {
      continue;
    }
    const Locked locked(memory.admitting);
    if (!locked) {
      return;
    }
    retire(memory, *module);
  }
  unloads_.store(unloads, std::memory_order_relaxed);
}

void FunctionTable::add_filter(kymo_function_filter_v1& filter) noexcept {
  LoadedModule loaded;
  std::uint64_t unloads = 0;
  Memory* const memory = this->memory();
  if (memory == nullptr || !find_loaded_module(reinterpret_cast<std::uintptr_t>(&filter), loaded, unloads)) {
    return;
  }
  filter.begin = loaded.begin;
  filter.end = loaded.end;
  const Locked locked(memory->admitting);
  if (locked) {
    filter.next = filters_;
    filters_ = &filter;
  }
}

void FunctionTable::remove_filter(kymo_function_filter_v1& filter) noexcept {
  Memory* const memory = this->memory();
  if (memory == nullptr) {
    return;
  }
  const Locked locked(memory->admitting);
  if (!locked) {
    return;
  }
  for (kymo_function_filter_v1** link = &filters_; *link != nullptr; link = &(*link)->next) {
    if (*link == &filter) {
      *link = filter.next;
      break;
    }
  }
  for (HookedModule* module = modules_.load(std::memory_order_relaxed); module != nullptr; module = module->next) {
    if (!module->is_executable && module->begin == filter.begin && module->end == filter.end &&
        module->is_loaded.load(std::memory_order_relaxed)) {
      retire(*memory, *module);
    }
  }
}

FunctionTable::Filters FunctionTable::filters_of(std::uintptr_t address) const noexcept {
  Filters filters;
  for (const kymo_function_filter_v1* filter = filters_; filter != nullptr; filter = filter->next) {
    if (address >= filter->begin && address < filter->end && filters.count < filters.list.size()) {
      filters.list[filters.count++] = filter;
      filters.has_patterns = filters.has_patterns || *filter->include != nullptr || *filter->exclude != nullptr;
    }
  }
  return filters;
}

bool FunctionTable::is_wanted(const Filters& filters, const FunctionName& name) noexcept {
  const auto matches_any = [&](const char* const* patterns) {
    for (; *patterns != nullptr; ++patterns) {
      const std::string_view pattern(*patterns);
      if (base::fits_pattern(pattern, pattern.find('(') == std::string_view::npos ? name.qualified : name.full)) {
        return true;
      }
    }
    return false;
  };
  bool is_included = false;
  for (const kymo_function_filter_v1* filter : std::span(filters.list).first(filters.count)) {
    if (matches_any(filter->exclude)) {
      return false;
    }
    is_included = is_included || *filter->include == nullptr || matches_any(filter->include);
  }
  return is_included;
}

std::optional<FunctionName> FunctionTable::name_of(HookedModule& module, std::uintptr_t address) noexcept {
  const NamingLock locked(memory()->naming);
  if (!locked) {
    return std::nullopt;
  }
  try {
    if (module.symbols == nullptr) {
      // The link leads to the running file even if another one has its path by now.
      const char* const path = module.is_executable ? "/proc/self/exe" : module.path;
      symbols_ = new Symbols{SymbolIndex::read(path, module.build_id), symbols_};
      module.symbols = &symbols_->index;
    }
    const std::string symbol = module.symbols->name_at(address - module.load_base);
    return symbol.empty() ? FunctionName{} : demangle(symbol);
  } catch (...) {
    return FunctionName{};
  }
}

}  // namespace kymo::record
