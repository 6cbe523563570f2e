#include "sense/macos/core_foundation.hpp"

#include <array>

namespace kymo::sense {

const CoreFoundation& CoreFoundation::instance() {
  static const CoreFoundation one;
  return one;
}

std::string CoreFoundation::text_of(CFThing thing) const {
  std::array<char, 256> text{};
  const bool is_text = thing != nullptr && type_of_(thing) == string_type_() &&
                       get_string_(thing, text.data(), static_cast<long>(text.size()), utf8) != 0;
  return is_text ? std::string(text.data()) : std::string();
}

std::optional<std::int64_t> CoreFoundation::number_of(CFThing thing) const {
  std::int64_t number = 0;
  const bool is_number =
      thing != nullptr && type_of_(thing) == number_type_() && get_number_(thing, sint64, &number) != 0;
  return is_number ? std::optional(number) : std::nullopt;
}

CFThing CoreFoundation::value_of(CFThing dictionary, const char* key) const {
  if (!is_dictionary(dictionary)) {
    return nullptr;
  }
  const CFOwner name(make_text(key));
  return name.get() != nullptr ? get_value_(dictionary, name.get()) : nullptr;
}

}  // namespace kymo::sense
