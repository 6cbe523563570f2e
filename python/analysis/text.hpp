// Converts texts of captures for Python.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

namespace kymo::python {

/// Converts arbitrary bytes; those that are not UTF-8 become U+FFFD.
inline nanobind::str make_text(std::string_view text) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

/// Converts a path to Python's encoding.
inline nanobind::str make_path(const std::string& path) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

inline nanobind::dict make_dict(const std::vector<std::pair<std::string, std::string>>& pairs) {
  nanobind::dict dict;
  for (const auto& [key, value] : pairs) {
    dict[make_text(key)] = make_text(value);
  }
  return dict;
}

inline nanobind::list make_texts(const std::vector<std::string>& texts) {
  nanobind::list list;
  for (const std::string& text : texts) {
    list.append(make_text(text));
  }
  return list;
}

/// Takes paths as encoded by Python.
inline std::vector<std::string> take_paths(const std::vector<nanobind::bytes>& encoded) {
  std::vector<std::string> paths;
  paths.reserve(encoded.size());
  for (const nanobind::bytes& path : encoded) {
    paths.emplace_back(path.c_str(), path.size());
  }
  return paths;
}

}  // namespace kymo::python
