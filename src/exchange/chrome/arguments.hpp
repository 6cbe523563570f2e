// Arguments of spans as members of a JSON object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::exchange {

/// The arguments given so far to open scopes of one track. A scope's line, which holds its arguments, is written when
/// the scope ends. Also serves for a single span, as depth 0.
///
/// Holds the JSON text of the open scopes, at most about 64 KiB per scope. Anything beyond is left out and counted.
class OpenArguments {
 public:
  /// Adds an argument to the scope of this depth. `key` is JSON text without quotes; `text` holds the bytes of strings.
  /// Skips numbers that JSON lacks (NaN, infinity) and strings outside `text`.
  void add(std::size_t depth, std::string_view key, const ArgumentValue& value, std::string_view text);

  /// Adds "key":true.
  void add_mark(std::size_t depth, std::string_view key);

  /// Appends `,"args":{...}` for the scope of this depth, or nothing if it has none, and forgets the arguments of this
  /// depth and deeper. A repeated key gets a number: "loss", "loss#2".
  void take(std::size_t depth, std::string& out);

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  /// A member of args: its key and value are adjacent in text_.
  struct Entry {
    std::size_t depth = 0;
    std::size_t scope_begin = 0;  ///< where the text of the scope's first argument begins
    std::size_t key_begin = 0;
    std::size_t value_begin = 0;
  };

  [[nodiscard]] bool is_full(std::size_t depth) const;
  [[nodiscard]] std::size_t scope_begin(std::size_t depth) const;
  void append_members(std::size_t first, std::size_t depth, std::string& out) const;
  [[nodiscard]] std::string_view key(std::size_t entry) const;

  std::string text_;
  std::vector<Entry> entries_;
  std::uint64_t left_out_ = 0;  ///< arguments beyond the limit, of the scope of left_out_depth_
  std::size_t left_out_depth_ = 0;
};

}  // namespace kymo::exchange
