#include "record/names/site_filter.hpp"

#include "base/text/pattern.hpp"
#include "record/names/function_name.hpp"

namespace kymo::record {

namespace {

/// Removes the first pattern from a list and returns it without surrounding spaces.
std::string_view take_pattern(std::string_view& list) noexcept {
  const std::size_t comma = list.find(',');
  std::string_view pattern = list.substr(0, comma);
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  while (!pattern.empty() && pattern.front() == ' ') {
    pattern.remove_prefix(1);
  }
  while (!pattern.empty() && pattern.back() == ' ') {
    pattern.remove_suffix(1);
  }
  return pattern;
}

std::string_view text_or_none(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

bool SiteFilter::is_sound(std::string_view patterns) noexcept {
  if (patterns.empty() || patterns.back() == ',') {
    return false;
  }
  while (!patterns.empty()) {
    const std::string_view pattern = take_pattern(patterns);
    if (pattern.empty() || pattern == "-") {
      return false;
    }
  }
  return true;
}

std::string_view SiteFilter::patterns() const noexcept {
  return text_or_none(patterns_.load(std::memory_order_acquire));
}

bool SiteFilter::takes(std::string_view name, std::string_view signature) const noexcept {
  bool has_include = false;
  bool is_included = false;
  for (std::string_view left = patterns(); !left.empty();) {
    std::string_view pattern = take_pattern(left);
    const bool is_exclude = pattern.front() == '-';
    pattern.remove_prefix(is_exclude ? 1 : 0);
    const bool is_of_signature = !signature.empty() && pattern.find('(') != std::string_view::npos;
    const bool is_match = base::fits_pattern(pattern, is_of_signature ? signature : name);
    if (is_exclude && is_match) {
      return false;
    }
    has_include = has_include || !is_exclude;
    is_included = is_included || is_match;
  }
  return is_included || !has_include;
}

bool SiteFilter::takes(const kymo_site& site) const noexcept {
  const std::string_view function = text_or_none(site.function);
  return site.kind == KYMO_SITE_FUNCTION ? takes(short_function_name(function), function)
                                         : takes(text_or_none(site.name));
}

}  // namespace kymo::record
