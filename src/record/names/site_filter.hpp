// Selects the sites to record: KYMO_SITES.
//
// A site is matched against the patterns once, before its first scope. A selected site gets its id like any other and
// bypasses the filter from then on, so the filter costs it nothing. A site that is left out gets left_out_id, which
// takes its scopes off the hot path.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <kymo/kymo.h>
#include <kymo/detail/hot_path.hpp>

namespace kymo::record {

inline void mark_left_out(kymo_site& site) noexcept {
  __atomic_store_n(&site.id, detail::left_out_id, __ATOMIC_RELAXED);
}

/// Patterns separated by commas; a leading `-` excludes. A site is recorded if no pattern with `-` matches its name and
/// either a pattern without `-` does or there are none. For functions, a pattern with a `(` is matched against the
/// whole signature. Allocates nothing; thread-safe, async-signal-safe.
class SiteFilter {
 public:
  constexpr SiteFilter() = default;

  /// Sets the patterns, which must be valid and outlive the filter's use. Null records every site.
  void use(const char* patterns) noexcept { patterns_.store(patterns, std::memory_order_release); }

  [[nodiscard]] bool is_set() const noexcept { return patterns_.load(std::memory_order_relaxed) != nullptr; }
  /// The current patterns; empty if there are none.
  [[nodiscard]] std::string_view patterns() const noexcept;

  /// Whether sites of that name are recorded. About 10 ns per pattern.
  [[nodiscard]] bool takes(std::string_view name, std::string_view signature = {}) const noexcept;
  [[nodiscard]] bool takes(const kymo_site& site) const noexcept;

 private:
  std::atomic<const char*> patterns_{nullptr};
};

}  // namespace kymo::record
