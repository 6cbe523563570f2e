// What a span is of: the site of a scope, or the name of a span that is none.
#pragma once

#include <cstdint>
#include <variant>

#include <kymo/ids.hpp>

namespace kymo::base {

/// The site of a scope, or the name of an emitted or async span.
using SiteOrName = std::variant<SiteId, NameId>;

/// From a list of plain numbers that says once for all of them which of the two they are.
[[nodiscard]] constexpr SiteOrName site_or_name(bool is_name, std::uint32_t id) {
  return is_name ? SiteOrName(NameId{id}) : SiteOrName(SiteId{id});
}

[[nodiscard]] constexpr std::uint32_t value_of(SiteOrName what) {
  return std::visit([](auto id) { return id.value(); }, what);
}

[[nodiscard]] constexpr bool is_name(SiteOrName what) {
  return std::holds_alternative<NameId>(what);
}

/// The site of a scope; none for another span.
[[nodiscard]] constexpr SiteId site_of(SiteOrName what) {
  const SiteId* const site = std::get_if<SiteId>(&what);
  return site != nullptr ? *site : SiteId{};
}

/// The name of a span that is no scope; none for a scope.
[[nodiscard]] constexpr NameId name_of(SiteOrName what) {
  const NameId* const name = std::get_if<NameId>(&what);
  return name != nullptr ? *name : NameId{};
}

}  // namespace kymo::base
