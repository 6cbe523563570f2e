#include "sense/macos/core_foundation.hpp"

#include <array>

namespace kymo::sense {

CoreFoundation::CoreFoundation() : framework_("/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation") {
  framework_.find(create_string_, "CFStringCreateWithCString");
  framework_.find(get_string_, "CFStringGetCString");
  framework_.find(get_number_, "CFNumberGetValue");
  framework_.find(get_value_, "CFDictionaryGetValue");
  framework_.find(apply_, "CFDictionaryApplyFunction");
  framework_.find(array_count_, "CFArrayGetCount");
  framework_.find(array_at_, "CFArrayGetValueAtIndex");
  framework_.find(release_, "CFRelease");
  framework_.find(type_of_, "CFGetTypeID");
  framework_.find(string_type_, "CFStringGetTypeID");
  framework_.find(number_type_, "CFNumberGetTypeID");
  framework_.find(dictionary_type_, "CFDictionaryGetTypeID");
  framework_.find(array_type_, "CFArrayGetTypeID");
}

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
