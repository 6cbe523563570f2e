// CoreFoundation, loaded at run time, for reading the frameworks' texts, numbers and dictionaries.
#pragma once

#include <dlfcn.h>
#include <cstdint>
#include <optional>
#include <string>

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
  template <typename Function>
  void find(Function*& function, const char* name) {
    function = handle_ != nullptr ? reinterpret_cast<Function*>(::dlsym(handle_, name)) : nullptr;
    if (function == nullptr && trouble_.empty()) {
      trouble_ = std::string(path_) + " lacks " + name;
    }
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

  CoreFoundation();

  Framework framework_;
  CFThing (*create_string_)(CFThing allocator, const char* text, std::uint32_t encoding) = nullptr;
  unsigned char (*get_string_)(CFThing text, char* buffer, long size, std::uint32_t encoding) = nullptr;
  unsigned char (*get_number_)(CFThing number, long type, void* value) = nullptr;
  CFThing (*get_value_)(CFThing dictionary, CFThing key) = nullptr;
  void (*apply_)(CFThing dictionary, void (*visit)(CFThing, CFThing, void*), void* context) = nullptr;
  long (*array_count_)(CFThing array) = nullptr;
  CFThing (*array_at_)(CFThing array, long index) = nullptr;
  void (*release_)(CFThing thing) = nullptr;
  unsigned long (*type_of_)(CFThing thing) = nullptr;
  unsigned long (*string_type_)() = nullptr;
  unsigned long (*number_type_)() = nullptr;
  unsigned long (*dictionary_type_)() = nullptr;
  unsigned long (*array_type_)() = nullptr;
};

/// Releases an object in its destructor.
class CFOwner {
 public:
  explicit CFOwner(CFThing thing) : thing_(thing) {}
  CFOwner(const CFOwner&) = delete;
  CFOwner& operator=(const CFOwner&) = delete;
  ~CFOwner() { CoreFoundation::instance().release(thing_); }
  [[nodiscard]] CFThing get() const { return thing_; }

 private:
  CFThing thing_;
};

}  // namespace kymo::sense
