// Which sites are recorded at all: KYMO_SITES.
//
// A site is held against the patterns once, before its first scope. One that passes gets its id like any other and
// never comes here again: the filter costs it nothing. One that is left out stays without an id, which leads its scopes
// off the hot path, and bears a mark that ends them there.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <kymo/kymo.h>
#include <kymo/detail/hot_path.hpp>

namespace kymo::record {

/// Whether a site was found to be left out. Async-signal-safe.
[[nodiscard]] inline bool is_left_out(const kymo_site& site) noexcept {
  return __atomic_load_n(&site.argument_names, __ATOMIC_RELAXED) == detail::left_out_mark;
}

inline void mark_left_out(kymo_site& site) noexcept {
  __atomic_store_n(&site.argument_names, detail::left_out_mark, __ATOMIC_RELAXED);
}

/// Patterns with commas between them; one behind a `-` leaves out what it matches. A site is recorded when a pattern
/// without `-` matches its name, or there is none such, and no pattern with `-` does. For functions, a pattern with a
/// `(` is held against the whole signature. Allocates nothing; thread safe, async-signal-safe.
class SiteFilter {
 public:
  constexpr SiteFilter() = default;

  /// Whether a text is made of patterns: none of them is empty.
  [[nodiscard]] static bool is_sound(std::string_view patterns) noexcept;

  /// Takes patterns that are sound and live as long as the filter is used; null: every site is recorded.
  void use(const char* patterns) noexcept { patterns_.store(patterns, std::memory_order_release); }

  [[nodiscard]] bool is_set() const noexcept { return patterns_.load(std::memory_order_relaxed) != nullptr; }
  /// What is in use; empty when nothing is.
  [[nodiscard]] std::string_view patterns() const noexcept;

  /// Whether sites of that name are recorded. About 10 ns a pattern.
  [[nodiscard]] bool takes(std::string_view name, std::string_view signature = {}) const noexcept;
  [[nodiscard]] bool takes(const kymo_site& site) const noexcept;

 private:
  std::atomic<const char*> patterns_{nullptr};
};

}  // namespace kymo::record
