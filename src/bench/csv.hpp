// CSV as RFC 4180 has it: fields of a line, and lines of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::bench {

/// Appends a field, quoted where it holds a comma, a quote or a line break.
void append_field(std::string& out, std::string_view field);
/// Appends the shortest number that reads back to the same value; nothing for NaN.
void append_field(std::string& out, double value);

/// Takes a text apart, record by record. Lines end with "\n" or "\r\n"; the last may lack its end. Throws
/// BenchFileError for quotes that are not closed or stand inside a field.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  /// The next record's fields; false at the end.
  [[nodiscard]] bool next(std::vector<std::string>& fields);
  /// Of the record that next() gave, from 1.
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

/// A field as a number: all of it, without blanks. False where it is none or does not fit. An empty one is NaN.
[[nodiscard]] bool parse_field(std::string_view field, double& value);
[[nodiscard]] bool parse_field(std::string_view field, std::uint64_t& value);
[[nodiscard]] bool parse_field(std::string_view field, std::int64_t& value);

/// Text from a file as a message may show it: quoted, cut, control characters escaped.
[[nodiscard]] std::string quote_for_message(std::string_view text);

/// All of a file. std::runtime_error where it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace kymo::bench
