// Reads an Arrow stream to its end into contiguous columns.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <kymo/arrow.hpp>

namespace kymo::python {

/// The columns of a table.
class Columns {
 public:
  /// Reads all of it, or whole batches until there are `enough_rows`. Does not need the GIL. CaptureError passes
  /// through; throws std::runtime_error for errors of the stream.
  Columns(std::shared_ptr<const Timeline> timeline, const ArrowQuery& query,
          std::size_t enough_rows = std::numeric_limits<std::size_t>::max());
  ~Columns();
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

  /// By name: an array; (codes, texts) for columns of names, with -1 for none; a list of texts or None for free text.
  [[nodiscard]] nanobind::dict take();
  [[nodiscard]] std::size_t row_count() const { return row_count_; }

 private:
  class Column;

  std::vector<std::unique_ptr<Column>> columns_;
  std::size_t row_count_ = 0;
};

}  // namespace kymo::python
