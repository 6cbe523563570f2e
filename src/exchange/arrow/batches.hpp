// The batches of an Arrow stream, released when done with; what writers of Arrow and Parquet files read.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <kymo/arrow.hpp>
#include <kymo/exchange.hpp>
#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// The words of tables, by ArrowTable; the same as those of SQL views in Python.
inline constexpr std::array<std::string_view, 10> table_names{"spans",   "frames", "samples",  "sites",     "tracks",
                                                              "metrics", "phases", "messages", "processes", "stacks"};

/// A structure of the C interface, with its release.
template <typename Structure>
class ArrowOwned {
 public:
  ArrowOwned() = default;
  ArrowOwned(const ArrowOwned&) = delete;
  ArrowOwned& operator=(const ArrowOwned&) = delete;
  ~ArrowOwned() { reset(); }

  [[nodiscard]] Structure* operator->() { return &structure_; }
  [[nodiscard]] Structure& operator*() { return structure_; }
  /// Releases it, for another one.
  Structure* reset() {
    if (structure_.release != nullptr) {
      structure_.release(&structure_);
    }
    structure_ = {};
    return &structure_;
  }

 private:
  Structure structure_{};
};

/// A table of a timeline, batch by batch. Dictionaries are the same in every batch.
class ArrowBatches {
 public:
  /// The timeline must outlive it.
  ArrowBatches(const Timeline& timeline, ArrowTable table) {
    ArrowQuery query;
    query.table = table;
    open_arrow_stream(std::shared_ptr<const Timeline>(std::shared_ptr<void>(), &timeline), query, &*stream_);
    check(stream_->get_schema(&*stream_, schema_.reset()));
  }

  /// A struct; its children are the columns.
  [[nodiscard]] const ArrowSchema& schema() { return *schema_; }
  /// The next batch, valid until the next call; nothing at the end.
  [[nodiscard]] const ArrowArray* next() {
    check(stream_->get_next(&*stream_, batch_.reset()));
    return batch_->release == nullptr ? nullptr : &*batch_;
  }

 private:
  void check(int error) {
    if (error != 0) {
      const char* const text = stream_->get_last_error(&*stream_);
      throw ExchangeError(text != nullptr ? text : "not enough memory");
    }
  }

  ArrowOwned<ArrowArrayStream> stream_;
  ArrowOwned<ArrowSchema> schema_;
  ArrowOwned<ArrowArray> batch_;
};

/// Appends the lowest bytes of a number.
inline void append_little_endian(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i, value >>= 8U) {
    out.push_back(static_cast<char>(value & 0xFFU));
  }
}

/// Bytes of a value in a column's values of this format; 0 for bits and text.
[[nodiscard]] inline std::size_t arrow_width(std::string_view format) {
  switch (format.front()) {
    case 'l':
    case 'L':
    case 'g':
      return 8;
    case 'i':
    case 'I':
      return 4;
    case 's':
    case 'S':
      return 2;
    case 'c':
    case 'C':
      return 1;
    default:
      return 0;
  }
}

}  // namespace kymo::exchange
