// Tables: the content of a block's payload.
//
//   payload := table*        until the payload's end
//   table   := u8 table id, varint key, column*, u8 0
//   column  := see column.hpp; its id is not 0
//
// Column 1 of a table gives the number of rows. A column of only zero or empty values may be absent, unless its count
// is needed to know how many there are. Readers skip tables and columns with unknown ids.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "capture/format/column.hpp"

namespace kymo::capture {

/// Ids from 64 on belong to summaries.
enum class TableId : std::uint8_t {
  capture = 1,
  processes = 2,
  infos = 3,
  names = 4,
  modules = 5,
  sites = 6,
  tracks = 7,
  metrics = 8,
  metric_labels = 9,
  frame_streams = 10,
  threads = 11,
  functions = 12,
  stacks = 13,
  scopes = 16,  ///< one table per run; the key is the track
  spans = 17,
  span_arguments = 18,
  async_begins = 19,
  frame_marks = 20,
  samples = 21,  ///< one table per run; the key is the metric
  messages = 22,
  flows = 23,
  sync_points = 24,
  track_ends = 25,
  clock_anchors = 26,
  clock_uncertainties = 27,
  text = 28,
  thread_states = 29,  ///< one table per run; the key is the thread
  stack_samples = 30,
  wakes = 31,
  blocks = 40,
  track_totals = 41,
  closing_facts = 42,
};

/// Limit of a payload's content, so that a few bytes cannot demand much memory. A number counts 1, a text 16, a table
/// 64.
constexpr std::uint64_t max_payload_cost = std::uint64_t{1} << 22U;
constexpr std::uint64_t text_cost = 16;
constexpr std::uint64_t table_cost = 64;

/// How columns of integers become small numbers.
constexpr Encoding plain{};
constexpr Encoding signed_values{Storage::packed, false, true};
constexpr Encoding ascending{Storage::packed, true, false};
constexpr Encoding wandering{Storage::packed, true, true};  ///< neighbours are close, in either direction

/// The rows of a list, whose fields become columns. Type-erased, so that the code behind it is compiled once instead of
/// per field.
struct Rows {
  template <typename Row>
  explicit Rows(std::span<const Row> rows) : row_size(sizeof(Row)), count(rows.size()) {}

  std::size_t row_size;
  std::size_t count;
};

/// Appends tables to a payload: begin(), columns, end(). Throws std::length_error above max_payload_cost.
class TableWriter {
 public:
  TableWriter(ByteBuffer& out, Packing packing) : out_(out), packing_(packing) {}

  void begin(TableId id, std::uint64_t key = 0);
  void end() { out_.append_u8(0); }

  /// Consumes the values. Omitted if all are zero, except as column 1.
  void numbers(std::uint8_t column, Encoding encoding, std::vector<std::uint64_t>& values);
  /// The same, but never omitted, because its count carries information.
  void counted_numbers(std::uint8_t column, Encoding encoding, std::vector<std::uint64_t>& values);
  /// Omitted if all are 0, unless their count carries information.
  void floats(std::uint8_t column, std::span<const double> values, bool is_counted = false);
  void bytes(std::uint8_t column, std::string_view content);
  void column(std::uint8_t column, Encoding encoding, std::uint64_t count, std::span<const std::byte> content);
  /// Appends a finished lane; omitted if empty.
  void lane(std::uint8_t column, const NumberLane& lane);

  /// Appends one field of all rows as a column: an integer, an enumerator or a double of `size` bytes. `first` is that
  /// of the first row.
  void field(std::uint8_t column, Encoding encoding, const Rows& rows, const void* first, std::size_t size);
  /// The same for times in nanoseconds since `origin`.
  void time_field(std::uint8_t column, const Rows& rows, const std::int64_t* first, std::uint64_t origin);
  void text_field(std::uint8_t column, const Rows& rows, const std::string* first);
  /// The same for a computed value: value(row) returns its 64-bit pattern.
  template <typename Rows, typename Value>
  void field(std::uint8_t column, Encoding encoding, const Rows& rows, Value value) {
    values_.clear();
    for (const auto& row : rows) {
      values_.push_back(static_cast<std::uint64_t>(value(row)));
    }
    numbers(column, encoding, values_);
  }
  /// Texts that are not a field.
  void texts(std::uint8_t column, std::span<const std::string_view> texts);

  /// Offsets in the payload at which the bytes' statistics change: the boundaries of columns and their planes.
  [[nodiscard]] const std::vector<std::size_t>& cuts() const { return cuts_; }
  /// Scratch for callers; numbers() and field() overwrite it.
  [[nodiscard]] std::vector<std::uint64_t>& values() { return values_; }

 private:
  void spend(std::uint64_t cost);
  void add_text(std::string_view text);
  void put_texts(std::uint8_t column, std::size_t count);

  ByteBuffer& out_;
  Packing packing_;
  std::uint64_t spent_ = 0;
  std::vector<std::size_t> cuts_;
  std::vector<std::uint64_t> values_;
  ByteBuffer texts_;
  bool has_text_ = false;  // a non-empty one
  ByteBuffer coded_;
};

/// One table of a payload, with columns checked against their bytes. Points into the payload.
class TableView {
 public:
  [[nodiscard]] std::uint8_t id() const { return id_; }
  /// Total number of values in its columns.
  [[nodiscard]] std::uint64_t values() const {
    std::uint64_t all = 0;
    for (const ColumnView& column : columns_) {
      all += column.count;
    }
    return all;
  }
  [[nodiscard]] bool is(TableId id) const { return id_ == static_cast<std::uint8_t>(id); }
  [[nodiscard]] std::uint64_t key() const { return key_; }

  /// Number of values of column 1.
  [[nodiscard]] std::uint64_t rows() const { return count(1); }
  /// Number of values of a column; 0 if it is absent.
  [[nodiscard]] std::uint64_t count(std::uint8_t column) const;
  [[nodiscard]] const ColumnView* find(std::uint8_t column) const;

  /// A column of exactly `count` numbers; zeros if it is absent. Throws DecodeError if it has another count or type.
  [[nodiscard]] NumberCursor numbers(std::uint8_t column, std::uint64_t count) const;

  /// Calls assign(row index, 64-bit pattern) for each of `rows` values of a column.
  template <typename Assign>
  void field(std::uint8_t column, std::uint64_t rows, Assign assign) const {
    NumberCursor cursor = numbers(column, rows);
    std::array<std::uint64_t, group_size> group;
    for (std::size_t row = 0; row < rows;) {
      const std::size_t count = cursor.next(group.data());
      for (std::size_t i = 0; i < count; ++i, ++row) {
        assign(row, group[i]);
      }
    }
  }
  /// Reads floats, stored as words or as integers that represent them.
  void floats(std::uint8_t column, std::span<double> out) const;
  /// Calls assign(row index, text) for each of `rows` texts of a column.
  template <typename Assign>
  void text_field(std::uint8_t column, std::uint64_t rows, Assign assign) const {
    ByteCursor cursor(text_bytes(column, rows));
    for (std::size_t row = 0; row < rows; ++row) {
      assign(row, cursor.at_end() ? std::string_view() : cursor.text(cursor.varint()));
    }
  }
  [[nodiscard]] std::string_view bytes(std::uint8_t column) const;
  /// The first values of a column that later versions may lengthen; zeros for those that it lacks.
  template <std::size_t number>
  [[nodiscard]] std::array<std::uint64_t, number> first_values(std::uint8_t column) const {
    std::array<std::uint64_t, number> values{};
    field(column, count(column), [&values](std::size_t i, std::uint64_t value) {
      if (i < number) {
        values[i] = value;
      }
    });
    return values;
  }

 private:
  friend class TableReader;
  [[nodiscard]] std::span<const std::byte> text_bytes(std::uint8_t column, std::uint64_t rows) const;

  std::uint8_t id_ = 0;
  std::uint64_t key_ = 0;
  std::vector<ColumnView> columns_;  // by ascending id
};

/// Iterates over the tables of a payload, which must be in a BlockPayload. Treats every byte as hostile: DecodeError.
class TableReader {
 public:
  explicit TableReader(std::span<const std::byte> payload) : cursor_(payload) {}

  /// Moves `table` to the next table; false at the payload's end.
  [[nodiscard]] bool next(TableView& table);

 private:
  void spend(std::uint64_t cost);

  ByteCursor cursor_;
  std::uint64_t spent_ = 0;
};

}  // namespace kymo::capture
