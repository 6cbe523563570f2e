#include "sites.hpp"

#include <array>
#include <memory>
#include <unordered_map>

namespace kymo::python {

namespace {

constexpr std::size_t most_scope_names = 65'536;

/// Maps str objects to values. Literals are the same object each time, so a small table by address saves hashing them.
/// It holds references, so an address always belongs to the same str.
template <typename Value>
class NameTable {
 public:
  template <typename Make>
  Value* find(PyObject* name, const Make& make) {
    Entry& entry = recent_[(reinterpret_cast<std::uintptr_t>(name) >> 4U) % recent_.size()];
    if (entry.name == name) {
      return entry.value;
    }
    const Text text(name);
    Value*& known = all_[text.str()];
    if (known == nullptr) {
      known = make(text.view(), all_.size());
    }
    if (PyUnicode_CheckExact(name)) {
      Py_INCREF(name);
      PyObject* const replaced = std::exchange(entry.name, name);
      entry.value = known;
      Py_XDECREF(replaced);
    }
    return known;
  }

 private:
  struct Entry {
    PyObject* name = nullptr;
    Value* value = nullptr;
  };
  std::array<Entry, 1024> recent_{};
  std::unordered_map<std::string, Value*> all_;
};

/// Never destroyed because threads may record while static objects are destroyed.
template <typename T>
T& immortal() {
  static T* const object = new T;
  return *object;
}

struct SiteText {
  std::string name;
  std::string function;
  std::string file;
};

}  // namespace

kymo_site* intern_site(std::string_view name, std::string_view function, std::string_view file, unsigned line) {
  std::string key;
  key.append(name).append(1, '\0').append(function).append(1, '\0').append(file).append(1, '\0');
  key.append(std::to_string(line));
  kymo_site*& site = immortal<std::unordered_map<std::string, kymo_site*>>()[key];
  if (site == nullptr) {
    const auto* const text = new SiteText{std::string(name), std::string(function), std::string(file)};
    site = new kymo_site{0, 0, text->name.c_str(), text->function.c_str(), text->file.c_str(), line, KYMO_SITE_SCOPE};
  }
  return site;
}

kymo_site* intern_code(PyCodeObject* code, PyObject* module) {
#if PY_VERSION_HEX >= 0x030B0000
  const Text function(code->co_qualname);
#else
  const Text function(code->co_name);
#endif
  std::string name;
  if (module != nullptr && PyUnicode_Check(module)) {
    name.append(Text(module).view()).append(1, '.');
  }
  name.append(function.view());
  return intern_site(name, function.view(), Text(code->co_filename).view(),
                     static_cast<unsigned>(code->co_firstlineno));
}

kymo_site* site_of_scope(PyObject* name) {
  static auto& table = immortal<NameTable<kymo_site>>();
  return table.find(name, [](std::string_view text, std::size_t count) {
    if (count > most_scope_names) {
      return intern_site("(other names)", "", "", 0);
    }
    PyFrameObject* const frame = PyEval_GetFrame();
    if (frame == nullptr) {
      return intern_site(text, "", "", 0);
    }
    const Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const auto* const place = reinterpret_cast<PyCodeObject*>(code.get());
    const int line = PyFrame_GetLineNumber(frame);
    return intern_site(text, Text(place->co_name).view(), Text(place->co_filename).view(),
                       static_cast<unsigned>(line > 0 ? line : 0));
  });
}

ArgumentName* argument_name(PyObject* name) {
  static auto& table = immortal<NameTable<ArgumentName>>();
  return table.find(name, [](std::string_view text, std::size_t /*count*/) {
    return new ArgumentName{0, std::string(text)};
  });
}

}  // namespace kymo::python
