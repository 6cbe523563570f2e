#include "sites.hpp"

#include <unordered_map>

#include <frameobject.h>  // PyFrame_GetBack, up to Python 3.10

#include "name_table.hpp"

namespace kymo::python {

namespace {

struct SiteText {
  std::string name;
  std::string function;
  std::string file;
};

/// The recorder takes sites as C strings, which a NUL would cut.
std::string without_nul(std::string_view text) {
  std::string made(text);
  for (std::size_t at = made.find('\0'); at != std::string::npos; at = made.find('\0', at)) {
    made.replace(at, 1, "\u2400");
  }
  return made;
}

}  // namespace

kymo_site* intern_site(std::string_view name, std::string_view function, std::string_view file, unsigned line) {
  std::string key;
  key.append(name).append(1, '\0').append(function).append(1, '\0').append(file).append(1, '\0');
  key.append(std::to_string(line));
  kymo_site*& site = immortal<std::unordered_map<std::string, kymo_site*>>()[key];
  if (site == nullptr) {
    const auto* const text = new SiteText{without_nul(name), without_nul(function), without_nul(file)};
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

namespace {

/// Whether a module is a package or within it.
bool is_within(std::string_view module, std::string_view package) {
  return module.substr(0, package.size()) == package &&
         (module.size() == package.size() || module[package.size()] == '.');
}

std::string module_of(PyObject* frame) {
  const Owned globals(PyObject_GetAttrString(frame, "f_globals"));
  if (!globals) {
    PyErr_Clear();
    return {};
  }
  PyObject* const name = PyDict_GetItemString(globals.get(), "__name__");
  return name != nullptr && PyUnicode_Check(name) ? std::string(Text(name).view()) : std::string();
}

/// The innermost frame of the program. This package's own are not, nor PyTorch's where kymograph.torch follows it: they
/// are the same for all scopes. Null if there is none, as on PyTorch's own threads.
Owned frame_of_program() {
  bool is_torch_followed = false;
  Owned frame = Owned::of(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    const std::string module = module_of(frame.get());
    if (!is_within(module, "kymograph") && !(is_torch_followed && is_within(module, "torch"))) {
      break;
    }
    is_torch_followed = is_torch_followed || module == "kymograph.torch";
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame.get()))));
  }
  return frame;
}

kymo_site* make_site_of_scope(std::string_view text) {
  const Owned owned = frame_of_program();
  auto* const frame = reinterpret_cast<PyFrameObject*>(owned.get());
  if (frame == nullptr) {
    return intern_site(text, "", "", 0);
  }
  const Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const auto* const place = reinterpret_cast<PyCodeObject*>(code.get());
  const int line = PyFrame_GetLineNumber(frame);
  return intern_site(text, Text(place->co_name).view(), Text(place->co_filename).view(),
                     static_cast<unsigned>(line > 0 ? line : 0));
}

kymo_site* other_names() {
  static kymo_site* const site = [] {
    say("more than 65,536 names of scopes: the others are recorded as (other names). Arguments tell scopes apart");
    return intern_site("(other names)", "", "", 0);
  }();
  return site;
}

}  // namespace

kymo_site* site_of_scope(PyObject* name) {
  static auto& table = immortal<NameTable<kymo_site>>();
  kymo_site* const known = table.find(name, make_site_of_scope);
  return known != nullptr ? known : other_names();
}

ArgumentName* argument_name(PyObject* name) {
  static auto& table = immortal<NameTable<ArgumentName>>();
  ArgumentName* const known = table.find(name, [](std::string_view text) {
    return new ArgumentName{0, std::string(text)};
  });
  static auto* const other = new ArgumentName{0, "(other names)"};
  return known != nullptr ? known : other;
}

}  // namespace kymo::python
