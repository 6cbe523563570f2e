// Arguments of scopes and spans: converts Python values for the recorder.
#pragma once

#include <array>
#include <cstddef>

#include <kymo/argument.hpp>

#include "python.hpp"
#include "sites.hpp"

namespace kymo::python {

/// An argument read from a Python object. Keeps its text alive.
struct KeptArgument {
  ArgumentName* name = nullptr;
  ArgumentType type = ArgumentType::int64;
  std::uint64_t bits = 0;
  PyObject* text = nullptr;

  [[nodiscard]] Argument view() const;
};

/// The arguments of one scope, stored in place without allocation.
class KeptArguments {
 public:
  static constexpr std::size_t most = 8;

  KeptArguments() = default;
  KeptArguments(const KeptArguments&) = delete;
  KeptArguments& operator=(const KeptArguments&) = delete;
  ~KeptArguments() { clear(); }

  /// Reads keyword arguments of a vector call. Returns false with TypeError set if there are too many.
  [[nodiscard]] bool read(PyObject* names, PyObject* const* values);
  /// Reads the items of a dict.
  [[nodiscard]] bool read(PyObject* dict);
  /// Reads one more. There must be room for it.
  void add(PyObject* name, PyObject* value);
  void clear();

  /// Records them on this thread's innermost open scope, which must be recorded.
  void record() const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Argument operator[](std::size_t i) const { return list_[i].view(); }

 private:
  std::array<KeptArgument, most> list_;
  std::size_t size_ = 0;
};

}  // namespace kymo::python
