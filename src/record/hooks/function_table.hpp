// The functions met by compiler hooks, by address: each one's site and whether it is recorded.
//
//   address -> FunctionEntry (site, filtered or not) -> HookedModule (path, build id, where it was loaded)
//
// Look-ups take no lock. A function is admitted once, under a lock. If its module has patterns, it is named and matched
// then, before its first scope. When a module is unloaded, its functions are retired, so that another function at the
// same address becomes a site of its own. The same module loaded there again gets its old sites back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <kymo/kymo.h>
#include <kymo/declarations.hpp>

#include "record/names/site_filter.hpp"
#include "record/names/symbols.hpp"
#include "record/platform/signal_safe_lock.hpp"

extern "C" {
/// Compiled into a module by kymo_instrument_functions() and passed on when the module is loaded. The lists end with a
/// null pointer. The last three members belong to the recorder.
struct kymo_function_filter_v1 {
  const char* const* include;
  const char* const* exclude;
  kymo_function_filter_v1* next;
  std::uintptr_t begin;
  std::uintptr_t end;
};
}

namespace kymo::record {

/// A module with hooked functions. Lives as long as the process, even if unloaded.
struct HookedModule {
  HookedModule* next = nullptr;
  ModuleId id;
  std::uintptr_t load_base = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  const char* path = "";  ///< absolute
  bool is_executable = false;
  std::atomic<bool> is_loaded{true};
  BuildId build_id;
  const SymbolIndex* symbols = nullptr;  ///< read when a name is first needed, then kept
};

/// A hooked function. One cache line.
struct alignas(64) FunctionEntry {
  /// Its address; with retired_bit once its module is unloaded.
  std::atomic<std::uintptr_t> address{0};
  HookedModule* module = nullptr;  ///< null: in no module known to the dynamic linker
  bool is_filtered = false;        ///< the module's patterns leave it out
  kymo_site site{};
  static constexpr std::uintptr_t retired_bit = std::uintptr_t{1} << 63U;
};
static_assert(sizeof(FunctionEntry) == 64);

/// An open-addressing hash table of entries. When half full, it is replaced by a larger one. Readers may still use the
/// old one, which stays and lacks only later entries.
class FunctionSlots {
 public:
  /// `count` is a power of two; that many null pointers follow the object.
  explicit FunctionSlots(std::size_t count) noexcept
      : count_(count), shift_(64U - static_cast<unsigned>(__builtin_ctzll(count))) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] static std::size_t bytes(std::size_t count) noexcept {
    return sizeof(FunctionSlots) + count * sizeof(std::atomic<FunctionEntry*>);
  }

  /// The first entry on an address's probe path for which `is_it` is true; null if there is none.
  template <typename Predicate>
  [[nodiscard]] FunctionEntry* find(std::uintptr_t address, const Predicate& is_it) noexcept {
    for (std::size_t slot = first_of(address);; slot = (slot + 1) & (count_ - 1)) {
      FunctionEntry* const entry = at()[slot].load(std::memory_order_acquire);
      if (entry == nullptr || is_it(*entry)) {
        return entry;
      }
    }
  }

  void put(std::uintptr_t address, FunctionEntry* entry) noexcept {
    std::size_t slot = first_of(address);
    while (at()[slot].load(std::memory_order_relaxed) != nullptr) {
      slot = (slot + 1) & (count_ - 1);
    }
    at()[slot].store(entry, std::memory_order_release);
  }

 private:
  [[nodiscard]] std::atomic<FunctionEntry*>* at() noexcept {
    return reinterpret_cast<std::atomic<FunctionEntry*>*>(this + 1);
  }
  [[nodiscard]] std::size_t first_of(std::uintptr_t address) const noexcept {
    return static_cast<std::size_t>((address * 0x9E3779B97F4A7C15U) >> shift_);
  }

  std::size_t count_;
  unsigned shift_;
};

class FunctionTable {
 public:
  static constexpr std::size_t largest_count = 262'144;

  constexpr FunctionTable() = default;
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;
  /// Only for tables that no thread uses.
  ~FunctionTable();

  /// The entry of a function; null if it was not admitted yet. Lock-free, async-signal-safe, a few nanoseconds.
  [[nodiscard]] FunctionEntry* find(std::uintptr_t address) const noexcept {
    FunctionSlots* const slots = slots_.load(std::memory_order_acquire);
    return slots == nullptr ? nullptr : slots->find(address, [address](const FunctionEntry& entry) {
      return entry.address.load(std::memory_order_relaxed) == address;
    });
  }

  /// The entry of a function, created if there is none. Null if the table is full (kymo warns once), or in a signal
  /// handler that interrupted an admission or would have to match patterns. About 2 us. If the module or `sites` has
  /// patterns about 10 us, and the first time 0.1 us per symbol of the module.
  [[nodiscard]] FunctionEntry* admit(std::uintptr_t address, const SiteFilter& sites) noexcept;

  /// Called after a module prepared by kymo_instrument_functions() was loaded, and before it is unloaded. `filter` lies
  /// in the module.
  void add_filter(kymo_function_filter_v1& filter) noexcept;
  void remove_filter(kymo_function_filter_v1& filter) noexcept;

  /// A function's name from its module's symbols; empty names if they lack it. Nothing if this thread is already naming
  /// a function, or another one has been for two seconds.
  [[nodiscard]] std::optional<FunctionName> name_of(HookedModule& module, std::uintptr_t address) noexcept;

 private:
  struct Memory;
  struct Filters;
  struct Verdict;
  struct Symbols;

  [[nodiscard]] Memory* memory() noexcept;
  void retire_unloaded(std::uint64_t unloads) noexcept;
  static void retire(Memory& memory, HookedModule& module) noexcept;
  [[nodiscard]] HookedModule* module_of(Memory& memory, const LoadedModule& loaded) noexcept;
  [[nodiscard]] Filters filters_of(std::uintptr_t address) const noexcept;
  [[nodiscard]] static bool is_wanted(const Filters& filters, const FunctionName& name) noexcept;
  [[nodiscard]] FunctionEntry* revive(std::uintptr_t address, const HookedModule* module) const noexcept;
  [[nodiscard]] FunctionEntry* add(Memory& memory, std::uintptr_t address, HookedModule* module,
                                   Verdict verdict) noexcept;
  [[nodiscard]] bool grow(const Memory& memory) noexcept;

  std::atomic<Memory*> memory_{nullptr};
  std::atomic<FunctionSlots*> slots_{nullptr};
  std::atomic<std::uint64_t> unloads_{0};
  std::atomic<HookedModule*> modules_{nullptr};
  kymo_function_filter_v1* filters_ = nullptr;  // guarded by the lock
  Symbols* symbols_ = nullptr;                  // all symbols read, guarded by the naming lock
};

}  // namespace kymo::record
