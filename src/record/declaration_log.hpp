// The log of declarations: what the ids in events stand for, written into chunks of the pool before the first event
// that uses them, as bytes. What they look like is in declaration_reader.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include <kymo/kymo.h>
#include <kymo/declarations.hpp>
#include <kymo/metric.hpp>

#include "record/declaration_reader.hpp"
#include "record/intern_table.hpp"
#include "record/pool.hpp"
#include "record/signal_safe_lock.hpp"

namespace kymo::record {

/// Where a hooked function is.
struct HookedPlace {
  std::uint64_t address = 0;
  ModuleId module = 0;  ///< 0: in none
  std::uint64_t load_base = 0;
  std::uint64_t size = 0;
  std::string_view path;
  std::string_view build_id;  ///< lower-case hex
};

/// Writes declarations. Allocates nothing and may be called from signal handlers; a declaration that finds no room is
/// not made, its id stays 0 and what would have used it is dropped and counted.
class DeclarationLog {
 public:
  /// Begins to write into a pool: at the start, and in a forked child.
  void attach(Pool& pool) noexcept;

  /// Declares nothing until it is attached again.
  void detach() noexcept {
    pool_ = nullptr;
    slot_ = nullptr;
  }

  /// Gives the site its id. False when that is not possible now.
  [[nodiscard]] bool declare(kymo_site& site) noexcept;
  /// Gives `count` names consecutive ids and stores the first in `first_id`.
  [[nodiscard]] bool declare_names(std::uint32_t& first_id, std::span<const std::string_view> texts) noexcept;
  /// Gives an interned name its id; 0 when that is not possible now. `detail` is a metric's unit.
  [[nodiscard]] std::uint32_t declare(InternedName& name, std::string_view detail = {}) noexcept;
  /// Gives a metric its id where it has none yet, and says what it is; 0 when that is not possible now.
  [[nodiscard]] std::uint32_t describe(InternedName& metric, const MetricDescription& description) noexcept;
  /// A thread's or a fiber's track, or its new name.
  [[nodiscard]] bool declare_thread(TrackId track, std::uint64_t os_thread_id, std::string_view name,
                                    TrackRole role = TrackRole::plain) noexcept;
  [[nodiscard]] bool declare_info(std::string_view key, std::string_view value) noexcept;
  /// A function that compiler hooks met: its site's id, and where it is. Named by the collector, or by recovery.
  [[nodiscard]] bool declare_hooked_site(kymo_site& site, const HookedPlace& place) noexcept;

  /// A new track's id.
  [[nodiscard]] TrackId next_track() noexcept { return next_track_.fetch_add(1, std::memory_order_relaxed); }

  /// Around fork: no declaration is half made.
  [[nodiscard]] bool lock() noexcept { return lock_.lock_in_any_case(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  class Record;
  /// Writes a record that `fill` makes, in a new chunk where this one has no room. False where there is none.
  template <typename Fill>
  [[nodiscard]] bool write(DeclarationKind kind, const Fill& fill) noexcept;
  [[nodiscard]] bool take_chunk(std::size_t words) noexcept;

  NestedLock lock_;
  Pool* pool_ = nullptr;
  TrackSlot* slot_ = nullptr;
  std::uint32_t next_site_ = 1;
  std::uint32_t next_name_ = 1;
  std::uint32_t next_metric_ = 1;
  std::uint32_t next_stream_ = 1;
  std::atomic<std::uint32_t> next_track_{1};
};

}  // namespace kymo::record
