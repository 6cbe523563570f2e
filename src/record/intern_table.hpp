// Names that come at run time, and the ids that stand for them. Looked up without a lock, from signal handlers too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kymo/kymo.h>

#include "record/signal_safe_lock.hpp"

namespace kymo::record {

/// What a name names: the same text may be a metric and a frame stream.
enum class NameSpace : std::uint32_t { text, metric, frame_stream, async_lane, queue, dynamic_site, fiber_site, lock };

/// An interned name. Lives as long as the process.
struct InternedName {
  InternedName* next = nullptr;
  std::uint64_t hash = 0;
  NameSpace space = NameSpace::text;
  std::uint32_t size = 0;
  std::atomic<std::uint32_t> id{0};  ///< 0 until it is declared
  kymo_site site{};                  ///< of dynamic sites
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
};

/// Insert-only hash table in memory of its own. Lookups are lock-free; an insertion takes a lock.
class InternTable {
 public:
  static constexpr std::size_t largest_count = 65'536;
  static constexpr std::size_t longest_text = 256;
  static constexpr std::size_t bucket_count = 16'384;

  constexpr InternTable() = default;
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;
  ~InternTable();

  /// The entry of a name that is no longer than longest_text; null where there is none.
  [[nodiscard]] InternedName* find(NameSpace space, std::string_view text) const noexcept;

  /// The entry of a name, inserted where it is new; longer names are cut with a mark. Null when the table is full, or
  /// when the caller is a signal handler that interrupted an insertion. A dynamic site also gets the place where it was
  /// first opened.
  [[nodiscard]] InternedName* find_or_insert(NameSpace space, std::string_view text,
                                             const kymo_site* place = nullptr) noexcept;

  /// A number that stands for an entry, never 0, and the entry again.
  [[nodiscard]] std::uint32_t handle_of(const InternedName& name) const noexcept {
    const auto distance = reinterpret_cast<std::uintptr_t>(&name) - base();
    return static_cast<std::uint32_t>(distance / alignof(InternedName));
  }
  [[nodiscard]] InternedName* at(std::uint32_t handle) const noexcept {
    return reinterpret_cast<InternedName*>(base() + std::uintptr_t{handle} * alignof(InternedName));
  }

  /// Around fork: no insertion is under way.
  [[nodiscard]] bool lock() noexcept { return lock_.lock_in_any_case(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  [[nodiscard]] InternedName* find(NameSpace space, std::string_view text, std::uint64_t hash) const noexcept;
  /// What handles count from; they reach over the whole of a 32-bit address space, and over 32 GiB elsewhere.
  [[nodiscard]] std::uintptr_t base() const noexcept {
    return reinterpret_cast<std::uintptr_t>(buckets_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool map_memory() noexcept;
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;

  NestedLock lock_;
  // One mapping for both, made by the first insertion: nothing of it weighs on programs that never record.
  std::atomic<std::atomic<InternedName*>*> buckets_{nullptr};
  std::byte* arena_ = nullptr;
  std::size_t arena_used_ = 0;
  std::size_t count_ = 0;
};

}  // namespace kymo::record
