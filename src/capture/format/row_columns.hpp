// The fields of plain rows as columns of a table. A visit() lists the fields of a kind of row once, for both
// directions: it is called with a RowsOut to write them and with a RowsIn to read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "capture/format/bytes.hpp"
#include "capture/format/table.hpp"

namespace kymo::capture {

/// The zero of relative times: the block's start.
class Origin {
 public:
  explicit Origin(std::int64_t start_ns) : start_(static_cast<std::uint64_t>(start_ns)) {}
  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t relative(std::int64_t time_ns) const {
    return static_cast<std::uint64_t>(time_ns) - start_;
  }
  [[nodiscard]] std::int64_t absolute(std::uint64_t relative) const {
    return static_cast<std::int64_t>(start_ + relative);
  }

 private:
  std::uint64_t start_;
};

/// Writes each field of all rows as a column. There is at least one row.
template <typename Row>
class RowsOut {
 public:
  RowsOut(TableWriter& table, std::span<const Row> rows, Origin origin = Origin(0))
      : table_(table), rows_(rows), first_(rows.front()), origin_(origin.start()) {}

  void time(std::uint8_t column, std::int64_t Row::*field) {
    table_.time_field(column, rows_, &(first_.*field), origin_);
  }
  template <typename Field>
  void number(std::uint8_t column, Field Row::*field, Encoding encoding = plain) {
    static_assert(sizeof(Field) == 8 || !std::is_signed_v<Field>, "a narrow field is not widened by its sign");
    table_.field(column, encoding, rows_, &(first_.*field), sizeof(Field));
  }
  template <typename Kind>
  void kind(std::uint8_t column, Kind Row::*field, Kind) {
    number(column, field);
  }
  template <typename Role>
  void role(std::uint8_t column, Role Row::*field, Role) {
    number(column, field);
  }
  void real(std::uint8_t column, double Row::*field) { number(column, field); }
  void text(std::uint8_t column, std::string Row::*field) { table_.text_field(column, rows_, &(first_.*field)); }

 private:
  TableWriter& table_;
  Rows rows_;
  const Row& first_;
  std::uint64_t origin_;
};

/// Appends the table's rows and fills each of their fields from its column. Throws DecodeError at a value that does not
/// fit its field.
template <typename Row>
class RowsIn {
 public:
  RowsIn(const TableView& table, std::vector<Row>& rows, Origin origin = Origin(0))
      : table_(table), rows_(rows), origin_(origin), first_(rows.size()), count_(table.rows()) {
    rows.resize(first_ + static_cast<std::size_t>(count_));
  }

  void time(std::uint8_t column, std::int64_t Row::*field) {
    read(column, [&](Row& row, std::uint64_t value) { row.*field = origin_.absolute(value); });
  }
  template <typename Integer>
  void number(std::uint8_t column, Integer Row::*field, Encoding = plain) {
    read(column, [&](Row& row, std::uint64_t value) { row.*field = narrow<Integer>(value); });
  }
  void number(std::uint8_t column, std::int64_t Row::*field, Encoding = plain) {
    read(column, [&](Row& row, std::uint64_t value) { row.*field = static_cast<std::int64_t>(value); });
  }
  template <typename Kind>
  void kind(std::uint8_t column, Kind Row::*field, Kind last) {
    read(column, [&](Row& row, std::uint64_t value) {
      if (value > static_cast<std::uint64_t>(last)) {
        throw DecodeError("an event or a declaration is of a kind that this version of kymo does not know");
      }
      row.*field = static_cast<Kind>(value);
    });
  }
  /// An unknown role is ignored; the kind stays.
  template <typename Role>
  void role(std::uint8_t column, Role Row::*field, Role last) {
    read(column, [&](Row& row, std::uint64_t value) {
      row.*field = value <= static_cast<std::uint64_t>(last) ? static_cast<Role>(value) : Role{};
    });
  }
  void real(std::uint8_t column, double Row::*field) {
    read(column, [&](Row& row, std::uint64_t bits) { row.*field = double_of(bits); });
  }
  void text(std::uint8_t column, std::string Row::*field) {
    table_.text_field(column, count_, [&](std::size_t i, std::string_view value) { rows_[first_ + i].*field = value; });
  }

 private:
  template <typename Assign>
  void read(std::uint8_t column, Assign assign) {
    table_.field(column, count_, [&](std::size_t i, std::uint64_t value) { assign(rows_[first_ + i], value); });
  }

  const TableView& table_;
  std::vector<Row>& rows_;
  Origin origin_;
  std::size_t first_;
  std::uint64_t count_;
};

}  // namespace kymo::capture
