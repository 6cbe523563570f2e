// CSV according to RFC 4180: fields of a line, and lines of a text.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/text/escapes.hpp"

namespace kymo::bench {

/// Appends a field, quoted if it holds a comma, a quote or a line break.
inline void append_field(std::string& out, std::string_view field) {
  base::append_csv_field(out, field);
}
/// Appends the shortest number that reads back as the same value; nothing for NaN.
void append_field(std::string& out, double value);

/// Parses a text record by record. Lines end with "\n" or "\r\n"; the last line may lack its end. Throws BenchFileError
/// for quotes that are not closed or occur inside a field.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  /// Reads the next record's fields. Returns false at the end.
  [[nodiscard]] bool next(std::vector<std::string>& fields);
  /// Line number of the last record, from 1.
  [[nodiscard]] std::uint64_t line() const { return line_; }
  /// Throws BenchFileError "name:line: problem".
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  void take_quoted(std::string& field);

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t next_line_ = 1;
};

/// Parses a whole field as a number, without blanks. Returns false if it is not a number or does not fit. An empty
/// field is NaN.
template <typename Number>
[[nodiscard]] bool parse_field(std::string_view field, Number& value) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (field.empty()) {
      value = std::numeric_limits<Number>::quiet_NaN();
      return true;
    }
  }
  const char* const end = field.data() + field.size();
  const auto parsed = std::from_chars(field.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

/// Text from a file in a form for messages: quoted, cut, control characters escaped.
[[nodiscard]] std::string quote_for_message(std::string_view text);

/// Reads a whole file. Throws std::runtime_error if it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace kymo::bench
