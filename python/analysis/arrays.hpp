// NumPy arrays that own the memory of C++ containers without a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace kymo::python {

/// A one-dimensional array of the container's elements that keeps it alive; read-only.
template <typename Container>
nanobind::object make_array(Container&& elements) {
  using Owned = std::decay_t<Container>;
  using Element = typename Owned::value_type;
  auto owned = std::make_unique<Owned>(std::forward<Container>(elements));
  const Element* const data = owned->data();
  const std::size_t size = owned->size();
  const nanobind::capsule owner(owned.get(), [](void* pointer) noexcept { delete static_cast<Owned*>(pointer); });
  static_cast<void>(owned.release());
  return nanobind::ndarray<nanobind::numpy, const Element, nanobind::ndim<1>>(data, {size}, owner).cast();
}

}  // namespace kymo::python
