// The log of declarations. It gives the ids in events their meaning and is written, as bytes, into chunks of the pool
// before the first event that uses an id. The format is in declaration_reader.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include <kymo/kymo.h>
#include <kymo/declarations.hpp>
#include <kymo/metric.hpp>

#include "record/names/declaration_reader.hpp"
#include "record/names/intern_table.hpp"
#include "record/names/known_ids.hpp"
#include "record/platform/signal_safe_lock.hpp"
#include "record/pool/pool.hpp"

namespace kymo::record {

/// Location of a hooked function.
struct HookedPlace {
  std::uint64_t address = 0;
  ModuleId module;  ///< 0: in none
  std::uint64_t load_base = 0;
  std::uint64_t size = 0;
  std::string_view path;
  std::string_view build_id;  ///< lower-case hex
};

/// Writes declarations. Allocates nothing; async-signal-safe. A declaration that finds no room is not made: its id
/// stays 0, and events that would use it are dropped and counted.
class DeclarationLog {
 public:
  /// Starts writing into a pool, at the start and in a forked child.
  void attach(Pool& pool) noexcept;

  /// Stops declaring until the next attach().
  void detach() noexcept {
    pool_ = nullptr;
    slot_ = nullptr;
  }

  /// Gives the site its id, that of an equal one if there was any. False if that is impossible at the moment.
  [[nodiscard]] bool declare(kymo_site& site) noexcept;
  /// Gives names consecutive ids, those of equal names if there were any, and stores the first in `first_id`.
  [[nodiscard]] bool declare_names(std::uint32_t& first_id, std::span<const std::string_view> texts) noexcept;
  /// Gives an interned name its id; 0 if that is impossible at the moment. `detail` is a metric's unit.
  [[nodiscard]] std::uint32_t declare(InternedName& name, std::string_view detail = {}) noexcept;
  /// Gives a metric its id if it has none yet, and declares its description. 0 if that is impossible at the moment.
  [[nodiscard]] std::uint32_t describe(InternedName& metric, const MetricDescription& description) noexcept;
  /// Declares the track of a thread or fiber, or its new name.
  [[nodiscard]] bool declare_thread(TrackId track, std::uint64_t os_thread_id, std::string_view name,
                                    TrackRole role = TrackRole::plain) noexcept;
  [[nodiscard]] bool declare_info(std::string_view key, std::string_view value) noexcept;
  /// Declares a function met by compiler hooks: its site's id and its location. The collector or recovery names it.
  [[nodiscard]] bool declare_hooked_site(kymo_site& site, const HookedPlace& place) noexcept;

  /// A new track id.
  [[nodiscard]] TrackId next_track() noexcept { return TrackId{next_track_.fetch_add(1, std::memory_order_relaxed)}; }

  /// Held around fork, so that no declaration is half written in the child.
  [[nodiscard]] bool lock() noexcept { return lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  class Record;
  /// Writes the record that `fill` builds, in a new chunk if this one has no room. False if there is none.
  template <typename Fill>
  [[nodiscard]] bool write(DeclarationKind kind, const Fill& fill) noexcept;
  [[nodiscard]] bool take_chunk(std::size_t words) noexcept;
  [[nodiscard]] std::uint32_t id_of(const kymo_site& site) noexcept;
  [[nodiscard]] std::uint32_t id_of(std::span<const std::string_view> texts) noexcept;

  UninterruptedLock lock_;
  Pool* pool_ = nullptr;
  TrackSlot* slot_ = nullptr;
  std::uint64_t* end_ = nullptr;  ///< of the chunk that is being written
  KnownIds known_sites_;
  KnownIds known_names_;
  std::uint32_t next_site_ = 1;
  std::uint32_t next_name_ = 1;
  std::uint32_t next_metric_ = 1;
  std::uint32_t next_stream_ = 1;
  std::atomic<std::uint32_t> next_track_{1};
};

}  // namespace kymo::record
