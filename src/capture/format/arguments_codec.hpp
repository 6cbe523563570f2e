// Arguments: the columns of a list of ArgumentValue in a table, six from `first_column` on:
//
//   +0  names            every argument
//   +1  types            every argument: ArgumentType, plus 128 if the string was cut
//   +2  integers         int64 (zigzagged), uint64 and boolean arguments, in order
//   +3  floats           float64 arguments, in order: 64-bit patterns
//   +4  text sizes       string arguments, in order
//   +5  text gaps        string arguments, in order: offset in the batch's text minus the end of the string before
#pragma once

#include <cstdint>
#include <vector>

#include <kymo/events.hpp>

#include "capture/format/table.hpp"

namespace kymo::capture {

/// Encodes lists of arguments; keeps its scratch memory.
class ArgumentsEncoder {
 public:
  void clear();
  void add(const ArgumentValue& value);
  void put(TableWriter& table, std::uint8_t first_column);

 private:
  std::vector<std::uint64_t> names_;
  std::vector<std::uint64_t> types_;
  std::vector<std::uint64_t> integers_;
  std::vector<std::uint64_t> floats_;
  std::vector<std::uint64_t> text_sizes_;
  std::vector<std::uint64_t> text_gaps_;
  std::uint64_t text_end_ = 0;
};

/// Calls assign(index, ArgumentValue) for each argument. check_text() validates strings later, since the text is in
/// another table.
template <typename Assign>
void decode_arguments(const TableView& table, std::uint8_t first_column, Assign assign);

/// Throws DecodeError if a string argument lies outside a text of this size.
void check_text(const ArgumentValue& value, std::size_t text_size);

/// Reads a column value by value.
class NumberStream {
 public:
  explicit NumberStream(NumberCursor cursor) : cursor_(cursor) {}
  [[nodiscard]] std::uint64_t next() {
    if (at_ == filled_) {
      filled_ = cursor_.next(group_.data());
      at_ = 0;
      if (filled_ == 0) {
        throw DecodeError("a column has fewer values than the types of the arguments ask for");
      }
    }
    return group_[at_++];
  }
  [[nodiscard]] bool at_end() const { return at_ == filled_ && cursor_.remaining() == 0; }

 private:
  NumberCursor cursor_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::array<std::uint64_t, group_size> group_{};
};

template <typename Assign>
void decode_arguments(const TableView& table, std::uint8_t first_column, Assign assign) {
  const auto id = [first_column](unsigned which) { return static_cast<std::uint8_t>(first_column + which); };
  const std::uint64_t count = table.count(id(0));
  const auto stream = [&](unsigned which) { return NumberStream(table.numbers(id(which), table.count(id(which)))); };
  NumberStream names = stream(0);
  NumberStream types(table.numbers(id(1), count));
  NumberStream integers = stream(2);
  NumberStream floats = stream(3);
  // Sizes first, as they count the gaps: a column of zero gaps is omitted.
  NumberStream text_sizes = stream(4);
  NumberStream text_gaps(table.numbers(id(5), table.count(id(4))));
  std::uint64_t text_end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ArgumentValue value;
    value.name = narrow<NameId>(names.next());
    const std::uint64_t type = types.next();
    value.is_cut = (type & 0x80U) != 0;
    if ((type & ~std::uint64_t{0x80}) > static_cast<std::uint64_t>(ArgumentType::string)) {
      throw DecodeError("an argument has a type that this version of kymo does not know");
    }
    value.type = static_cast<ArgumentType>(type & 0x7FU);
    switch (value.type) {
      case ArgumentType::int64:
        value.bits = unzigzag(integers.next());
        break;
      case ArgumentType::uint64:
      case ArgumentType::boolean:
        value.bits = integers.next();
        break;
      case ArgumentType::float64:
        value.bits = floats.next();
        break;
      case ArgumentType::string:
        value.text_size = narrow<std::uint32_t>(text_sizes.next());
        value.bits = text_end + text_gaps.next();
        text_end = value.bits + value.text_size;
        break;
    }
    assign(i, value);
  }
  if (!integers.at_end() || !floats.at_end() || !text_sizes.at_end()) {
    throw DecodeError("a column has more values than the types of the arguments ask for");
  }
}

}  // namespace kymo::capture
