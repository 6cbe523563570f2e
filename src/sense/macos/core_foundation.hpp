// CoreFoundation, loaded at run time, for reading the frameworks' texts, numbers and dictionaries.
#pragma once

#include <dlfcn.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/system/library_function.hpp"

namespace kymo::sense {

/// A library that is never unloaded, because frameworks cannot be.
class Framework {
 public:
  explicit Framework(const char* path) : path_(path), handle_(::dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      trouble_ = std::string("cannot load ") + path;
    }
  }

  /// Finds a function. The first one missing is reported as trouble.
  base::LibraryFunction find(const char* name) {
    const base::LibraryFunction function(handle_, name);
    if (!function.is_there() && trouble_.empty()) {
      trouble_ = std::string(path_) + " lacks " + name;
    }
    return function;
  }

  /// Why it cannot be used; empty if it can.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  const char* path_;
  void* handle_;
  std::string trouble_;
};

/// An object of CoreFoundation.
using CFThing = const void*;

class CoreFoundation {
 public:
  /// The single instance, loaded by the first call.
  static const CoreFoundation& instance();

  [[nodiscard]] const std::string& trouble() const { return framework_.trouble(); }

  /// Makes a framework text; release() it.
  [[nodiscard]] CFThing make_text(const char* text) const { return create_string_(nullptr, text, utf8); }
  /// Empty if it is not a text or is longer than 255 bytes.
  [[nodiscard]] std::string text_of(CFThing thing) const;
  /// Nothing if it is not a number.
  [[nodiscard]] std::optional<std::int64_t> number_of(CFThing thing) const;
  /// Null if it is not a dictionary or lacks the key. Owned by the dictionary.
  [[nodiscard]] CFThing value_of(CFThing dictionary, const char* key) const;
  [[nodiscard]] bool is_dictionary(CFThing thing) const {
    return thing != nullptr && type_of_(thing) == dictionary_type_();
  }
  [[nodiscard]] bool is_array(CFThing thing) const { return thing != nullptr && type_of_(thing) == array_type_(); }
  [[nodiscard]] long count_of(CFThing array) const { return array_count_(array); }
  [[nodiscard]] CFThing at(CFThing array, long index) const { return array_at_(array, index); }
  void release(CFThing thing) const {
    if (thing != nullptr) {
      release_(thing);
    }
  }
  /// Calls `visit(context, key, value)` for each entry of a dictionary.
  void for_each(CFThing dictionary, void (*visit)(CFThing key, CFThing value, void* context), void* context) const {
    apply_(dictionary, visit, context);
  }

 private:
  static constexpr std::uint32_t utf8 = 0x08000100;
  static constexpr long sint64 = 4;

  CoreFoundation() = default;

  Framework framework_{"/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"};
  CFThing (*create_string_)(CFThing allocator, const char* text,
                            std::uint32_t encoding) = framework_.find("CFStringCreateWithCString");
  unsigned char (*get_string_)(CFThing text, char* buffer, long size,
                               std::uint32_t encoding) = framework_.find("CFStringGetCString");
  unsigned char (*get_number_)(CFThing number, long type, void* value) = framework_.find("CFNumberGetValue");
  CFThing (*get_value_)(CFThing dictionary, CFThing key) = framework_.find("CFDictionaryGetValue");
  void (*apply_)(CFThing dictionary, void (*visit)(CFThing, CFThing, void*),
                 void* context) = framework_.find("CFDictionaryApplyFunction");
  long (*array_count_)(CFThing array) = framework_.find("CFArrayGetCount");
  CFThing (*array_at_)(CFThing array, long index) = framework_.find("CFArrayGetValueAtIndex");
  void (*release_)(CFThing thing) = framework_.find("CFRelease");
  unsigned long (*type_of_)(CFThing thing) = framework_.find("CFGetTypeID");
  unsigned long (*string_type_)() = framework_.find("CFStringGetTypeID");
  unsigned long (*number_type_)() = framework_.find("CFNumberGetTypeID");
  unsigned long (*dictionary_type_)() = framework_.find("CFDictionaryGetTypeID");
  unsigned long (*array_type_)() = framework_.find("CFArrayGetTypeID");
};

struct CFRelease {
  void operator()(CFThing thing) const { CoreFoundation::instance().release(thing); }
};
/// Releases an object in its destructor.
using CFOwner = std::unique_ptr<const void, CFRelease>;

}  // namespace kymo::sense
