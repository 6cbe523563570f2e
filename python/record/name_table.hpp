// Values for names that Python hands in as str objects.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "python.hpp"

namespace kymo::python {

/// Never destroyed, because threads may record while static objects are destroyed.
template <typename T>
T& immortal() {
  static T* const object = new T;
  return *object;
}

/// Maps str objects to values. Literals are the same object each time, so a small table by address saves hashing them.
/// It holds references, so an address always belongs to the same str.
template <typename Value>
class NameTable {
 public:
  static constexpr std::size_t most_names = 65'536;

  /// The value, made from the name at its first use. Null for names beyond the limit. A few nanoseconds for a literal.
  template <typename Make>
  Value* find(PyObject* name, const Make& make) {
    Entry& entry = recent_[(reinterpret_cast<std::uintptr_t>(name) >> 4U) % recent_.size()];
    if (entry.name == name) {
      return entry.value;
    }
    const Text text(name);
    auto known = all_.find(text.str());
    if (known == all_.end()) {
      if (all_.size() >= most_names) {
        return nullptr;
      }
      known = all_.emplace(text.str(), make(text.view())).first;
    }
    if (PyUnicode_CheckExact(name)) {
      Py_INCREF(name);
      PyObject* const replaced = std::exchange(entry.name, name);
      entry.value = known->second;
      Py_XDECREF(replaced);
    }
    return known->second;
  }

 private:
  struct Entry {
    PyObject* name = nullptr;
    Value* value = nullptr;
  };
  std::array<Entry, 1024> recent_{};
  std::unordered_map<std::string, Value*> all_;
};

}  // namespace kymo::python
