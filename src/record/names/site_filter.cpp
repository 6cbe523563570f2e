#include "record/names/site_filter.hpp"

#include "base/text/pattern_list.hpp"
#include "record/names/function_name.hpp"

namespace kymo::record {

namespace {

std::string_view text_or_none(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

std::string_view SiteFilter::patterns() const noexcept {
  return text_or_none(patterns_.load(std::memory_order_acquire));
}

bool SiteFilter::takes(std::string_view name, std::string_view signature) const noexcept {
  return base::list_takes(patterns(), name, signature);
}

bool SiteFilter::takes(const kymo_site& site) const noexcept {
  const std::string_view function = text_or_none(site.function);
  return site.kind == KYMO_SITE_FUNCTION ? takes(short_function_name(function), function)
                                         : takes(text_or_none(site.name));
}

}  // namespace kymo::record
