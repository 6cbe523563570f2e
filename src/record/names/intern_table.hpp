// Names known only at run time, and their ids. Looked up without a lock, even from signal handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <kymo/kymo.h>

#include "record/platform/signal_safe_lock.hpp"

namespace kymo::record {

/// The kind of a name: the same text may be a metric and a frame stream.
enum class NameSpace : std::uint32_t { text, metric, frame_stream, async_lane, queue, dynamic_site, fiber_site, lock };

/// An interned name. Lives as long as the process.
struct InternedName {
  InternedName* next = nullptr;
  std::uint64_t hash = 0;
  NameSpace space = NameSpace::text;
  std::uint32_t size = 0;
  std::atomic<std::uint32_t> id{0};  ///< 0 until declared
  kymo_site site{};                  ///< of dynamic sites
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(this + 1), size}; }
};

/// Insert-only hash table with its own memory. Lookups are lock-free; an insertion takes a lock.
class InternTable {
 public:
  static constexpr std::size_t largest_count = 65'536;
  static constexpr std::size_t longest_text = 256;
  static constexpr std::size_t bucket_count = 16'384;

  constexpr InternTable() = default;
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;
  ~InternTable();

  /// The entry of a name of at most longest_text bytes; null if there is none.
  [[nodiscard]] InternedName* find(NameSpace space, std::string_view text) const noexcept;

  /// The entry of a name, inserted if it is new; longer names are cut with a mark. Null if the table is full. A dynamic
  /// site also gets the place where it was first opened.
  [[nodiscard]] InternedName* find_or_insert(NameSpace space, std::string_view text,
                                             const kymo_site* place = nullptr) noexcept;

  /// Converts an entry to a number, never 0, and back.
  [[nodiscard]] std::uint32_t handle_of(const InternedName& name) const noexcept {
    const auto distance = reinterpret_cast<std::uintptr_t>(&name) - base();
    return static_cast<std::uint32_t>(distance / alignof(InternedName));
  }
  [[nodiscard]] InternedName* at(std::uint32_t handle) const noexcept {
    return reinterpret_cast<InternedName*>(base() + std::uintptr_t{handle} * alignof(InternedName));
  }

  /// Held around fork, so that no insertion is in progress.
  [[nodiscard]] bool lock() noexcept { return lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  [[nodiscard]] InternedName* find(NameSpace space, std::string_view text, std::uint64_t hash) const noexcept;
  /// The origin of handles. They reach over a whole 32-bit address space, elsewhere over 32 GiB.
  [[nodiscard]] std::uintptr_t base() const noexcept {
    return reinterpret_cast<std::uintptr_t>(buckets_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool map_memory() noexcept;
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept;

  UninterruptedLock lock_;
  // One mapping for both, created by the first insertion, so programs that never record pay nothing.
  std::atomic<std::atomic<InternedName*>*> buckets_{nullptr};
  std::byte* arena_ = nullptr;
  std::size_t arena_used_ = 0;
  std::size_t count_ = 0;
};

}  // namespace kymo::record
