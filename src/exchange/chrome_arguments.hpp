// Arguments of spans as members of a JSON object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::exchange {

/// The arguments that scopes of one track have been given and that no event carries yet: a scope's line is written when
/// the scope ends. Also serves for one span alone, as depth 0.
///
/// Holds the JSON text of what is open, at most about 64 KiB a scope; what is beyond is left out and counted.
class OpenArguments {
 public:
  /// Adds an argument of the scope of this depth. `key` is JSON text without quotes; `text` holds the bytes of strings.
  /// A number that JSON does not know (NaN, infinity) and a string outside of `text` are skipped.
  void add(std::size_t depth, std::string_view key, const ArgumentValue& value, std::string_view text);

  /// Adds "key":true.
  void add_mark(std::size_t depth, std::string_view key);

  /// Appends `,"args":{...}` of the scope of this depth, or nothing where it has none, and forgets it and every deeper
  /// one. A key that comes again gets a number: "loss", "loss#2".
  void take(std::size_t depth, std::string& out);

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  /// One member: its key and its value stand in text_, one after the other.
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
