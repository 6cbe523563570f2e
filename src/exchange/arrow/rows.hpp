// Tables of a timeline, read in batches: the common part of all tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/arrow.hpp>
#include <kymo/batch_cursor.hpp>
#include <kymo/timeline.hpp>

#include "exchange/arrow/table.hpp"

namespace kymo::exchange {

/// One table of a timeline.
class ArrowRows {
 public:
  ArrowRows() = default;
  ArrowRows(const ArrowRows&) = delete;
  ArrowRows& operator=(const ArrowRows&) = delete;
  virtual ~ArrowRows() = default;

  [[nodiscard]] virtual std::vector<const ArrowColumn*> columns() const = 0;
  /// Fills in a non-empty batch. Returns false at the end.
  virtual bool next(ArrowArray& array) = 0;
};

/// Each reads the rows that the query asks for. Timeline and query must outlive it.
[[nodiscard]] std::unique_ptr<ArrowRows> make_span_rows(const Timeline& timeline, const ArrowQuery& query);
[[nodiscard]] std::unique_ptr<ArrowRows> make_sample_rows(const Timeline& timeline, const ArrowQuery& query);
[[nodiscard]] std::unique_ptr<ArrowRows> make_stack_rows(const Timeline& timeline, const ArrowQuery& query);
[[nodiscard]] std::unique_ptr<ArrowRows> make_frame_rows(const Timeline& timeline, const ArrowQuery& query);
/// Tables short enough to be built at once.
[[nodiscard]] std::unique_ptr<ArrowRows> make_list_rows(const Timeline& timeline, const ArrowQuery& query);

/// The part of a timeline that a query selects.
class ArrowChoice {
 public:
  ArrowChoice(const Timeline& timeline, ArrowQuery query);

  [[nodiscard]] const ArrowQuery& query() const { return query_; }

  [[nodiscard]] bool takes_process(ProcessId id) const { return takes_all_processes_ || takes_listed_process(id); }
  [[nodiscard]] bool takes_block(std::size_t capture, std::size_t block) const;
  /// Whether this reader returns the rows that belong to no block.
  [[nodiscard]] bool takes_lists_of(std::size_t capture) const { return takes_block(capture, 0); }
  [[nodiscard]] bool takes_name(std::string_view name) const { return fits_any(query_.names, name); }
  [[nodiscard]] bool takes_track(const TrackDeclaration& track) const {
    return takes_process(track.process) && fits_any(query_.tracks, track.name);
  }
  [[nodiscard]] bool overlaps(std::int64_t start_ns, std::int64_t end_ns) const {
    return start_ns < query_.range.end_ns && (end_ns > query_.range.start_ns || start_ns >= query_.range.start_ns);
  }
  [[nodiscard]] bool holds(std::int64_t time_ns) const {
    return time_ns >= query_.range.start_ns && time_ns < query_.range.end_ns;
  }
  /// The blocks to read.
  [[nodiscard]] BatchCursor cursor(BatchParts parts) const;
  /// Like cursor(), including blocks in between that appear to lie outside the range because a later block holds events
  /// that were handed in late. Matching opens with closes needs every block.
  [[nodiscard]] BatchCursor cursor_without_gaps(BatchParts parts) const;
  /// The number of a capture's blocks up to the last one that begins before the range ends.
  [[nodiscard]] std::size_t count_begun(std::size_t capture) const;

 private:
  static bool fits_any(const std::vector<std::string>& patterns, std::string_view text);
  [[nodiscard]] bool takes_listed_process(ProcessId id) const;

  const Timeline& timeline_;
  ArrowQuery query_;
  bool takes_all_processes_;
  std::vector<bool> captures_;  // captures with a selected process
};

/// Numbers of the texts of declared things. The last number is for undeclared ones.
template <typename Things, typename TextOf>
std::vector<std::uint32_t> number_texts(const Things& things, ArrowDictionary& dictionary, TextOf&& text_of) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(things.size() + 1);
  for (const auto& thing : things) {
    numbers.push_back(dictionary.add(text_of(thing)));
  }
  numbers.push_back(dictionary.add("(undeclared)"));
  return numbers;
}

/// The value for an id, which counts from 1. The last value is for undeclared ids.
template <typename Value, typename Key>
const Value& value_of(const std::vector<Value>& values, Key id) {
  return values[std::min<std::size_t>(id.value() - std::size_t{1}, values.size() - 1)];
}

/// Formats labels: "rail=GPU, board=1".
[[nodiscard]] std::string labels_of(const MetricDeclaration& metric);

/// The process columns, which every table has.
class ArrowProcesses {
 public:
  explicit ArrowProcesses(const Timeline& timeline);

  /// Index into Timeline::processes().
  [[nodiscard]] static std::uint32_t index_of(ProcessId process) { return process ? process.value() - 1 : 0; }

  /// The columns of a process, in the order of Column.
  enum class Column : std::uint8_t { process, pid, host, rank, capture };
  static constexpr std::size_t column_count = 5;
  [[nodiscard]] ArrowColumn make_column(Column column) const;
  /// Adds rows for processes given by index. `process_of` returns the index for a row.
  template <typename ProcessOf>
  void fill(Column column, ArrowColumn& into, std::size_t rows, ProcessOf&& process_of) const {
    if (column == Column::pid) {
      std::uint64_t* const out = into.extend<std::uint64_t>(rows);
      for (std::size_t row = 0; row < rows; ++row) {
        out[row] = clamped(pids_, process_of(row));
      }
      return;
    }
    std::uint32_t* const out = into.extend<std::uint32_t>(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint32_t process = process_of(row);
      out[row] = column == Column::process ? process
                 : column == Column::host  ? clamped(host_numbers_, process)
                 : column == Column::rank  ? clamped(rank_numbers_, process)
                                           : clamped(capture_numbers_, process);
    }
  }

 private:
  template <typename Value>
  static Value clamped(const std::vector<Value>& values, std::uint32_t index) {
    return values[std::min<std::size_t>(index, values.size() - 1)];
  }

  std::vector<std::uint64_t> pids_;
  std::vector<std::uint32_t> host_numbers_;
  std::vector<std::uint32_t> rank_numbers_;
  std::vector<std::uint32_t> capture_numbers_;
  std::shared_ptr<ArrowDictionary> hosts_ = std::make_shared<ArrowDictionary>();
  std::shared_ptr<ArrowDictionary> ranks_ = std::make_shared<ArrowDictionary>();
  std::shared_ptr<ArrowDictionary> captures_ = std::make_shared<ArrowDictionary>();
};

/// Picks the columns asked for by name, in that order, or else the table's default columns. An element of `all` has
/// members `column` and `is_default`.
template <typename Column>
std::vector<Column> pick_columns(std::vector<Column> all, const std::vector<std::string>& names) {
  std::vector<Column> picked;
  if (names.empty()) {
    for (Column& column : all) {
      if (column.is_default) {
        picked.push_back(std::move(column));
      }
    }
    return picked;
  }
  std::string known;
  for (const Column& column : all) {
    known += (known.empty() ? "" : ", ") + column.column.name();
  }
  for (const std::string& name : names) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&name](const Column& column) { return column.column.name() == name; });
    if (found == all.end()) {
      throw std::invalid_argument("the table has no column '" + name + "'; it has " + known);
    }
    picked.push_back(std::move(*found));
  }
  return picked;
}

/// The columns of a table; an element of `all` has a member `column`.
template <typename Column>
std::vector<const ArrowColumn*> columns_of(const std::vector<Column>& all) {
  std::vector<const ArrowColumn*> columns;
  columns.reserve(all.size());
  for (const Column& column : all) {
    columns.push_back(&column.column);
  }
  return columns;
}

/// Appends a member of each row.
template <auto member, typename Row>
void extend_by(ArrowColumn& column, const std::vector<Row>& rows) {
  auto* const out = column.extend<std::decay_t<decltype(Row{}.*member)>>(rows.size());
  std::transform(rows.begin(), rows.end(), out, [](const Row& row) { return row.*member; });
}

/// Moves the rows that the columns hold into an array. False if there are none.
template <typename Column>
bool take_batch(std::vector<Column>& all, ArrowArray& array) {
  if (all.front().column.size() == 0) {
    return false;
  }
  std::vector<ArrowColumn*> columns;
  columns.reserve(all.size());
  for (Column& column : all) {
    columns.push_back(&column.column);
  }
  make_batch(columns, array);
  return true;
}

/// A table that is read block by block. `Derived` has
///   bool add_rows(): reads some rows; false at the end.
/// and a list of columns, each with a member function that fills it from the rows read.
template <typename Derived>
class BlockRows : public ArrowRows {
 public:
  [[nodiscard]] std::vector<const ArrowColumn*> columns() const override { return columns_of(columns_); }

  bool next(ArrowArray& array) override {
    while (!has_ended_ && columns_.front().column.size() < rows_a_batch) {
      has_ended_ = !static_cast<Derived&>(*this).add_rows();
    }
    return take_batch(columns_, array);
  }

 protected:
  using Fill = void (Derived::*)(ArrowColumn&);
  struct Column {
    ArrowColumn column;
    Fill fill = nullptr;  ///< null: uses of_process
    ArrowProcesses::Column of_process = ArrowProcesses::Column::process;
    bool is_default = true;
  };

  /// Small blocks are combined into batches of up to this many rows.
  static constexpr std::size_t rows_a_batch = 16'384;

  void add_column(ArrowColumn column, Fill fill, bool is_default = true) {
    columns_.push_back(Column{std::move(column), fill, ArrowProcesses::Column::process, is_default});
  }
  void add_process_column(const ArrowProcesses& processes, ArrowProcesses::Column column) {
    const bool is_default = column == ArrowProcesses::Column::process;
    columns_.push_back(Column{processes.make_column(column), nullptr, column, is_default});
  }
  /// Process columns that are added only on request.
  void add_process_columns(const ArrowProcesses& processes) {
    for (std::size_t i = 1; i < ArrowProcesses::column_count; ++i) {
      add_process_column(processes, static_cast<ArrowProcesses::Column>(i));
    }
  }

  template <typename ProcessOf>
  void fill_columns(const ArrowProcesses& processes, std::size_t rows, ProcessOf&& process_of) {
    for (Column& column : columns_) {
      if (column.fill != nullptr) {
        (static_cast<Derived&>(*this).*column.fill)(column.column);
      } else {
        processes.fill(column.of_process, column.column, rows, process_of);
      }
    }
  }

  std::vector<Column> columns_;  // NOLINT(readability-identifier-naming)

 private:
  bool has_ended_ = false;
};

}  // namespace kymo::exchange
