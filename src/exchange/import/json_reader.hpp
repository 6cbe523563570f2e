// A streaming JSON tokenizer. Its memory does not grow with the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::exchange {

/// An input is not of its format, or exceeds a limit. what() gives the reason and the byte.
class MalformedInput : public std::runtime_error {
 public:
  MalformedInput(const std::string& what, std::uint64_t offset, bool is_at_end)
      : std::runtime_error("byte " + std::to_string(offset) + ": " + what), is_at_end_(is_at_end) {}

  /// The text ends too early.
  [[nodiscard]] bool is_at_end() const { return is_at_end_; }

 private:
  bool is_at_end_;
};

enum class JsonToken : std::uint8_t {
  begin_object,
  end_object,
  begin_array,
  end_array,
  key,
  string,
  number,
  true_value,
  false_value,
  null_value,
  end,  ///< end of the text
};

struct JsonLimits {
  std::size_t depth = 256;                   ///< nesting of arrays and objects; beyond it MalformedInput
  std::size_t text = std::size_t{1} << 16U;  ///< bytes kept of a string or key; the rest is skipped
};

/// Reads one JSON text. Beyond the standard it accepts what tracing programs write: NaN, Infinity and -Infinity as
/// numbers, control characters in strings, a comma before a closing bracket, a byte order mark. Each piece of a string
/// that is not UTF-8 becomes U+FFFD. At most about 6 ns per byte. One thread at a time.
class JsonReader {
 public:
  /// Fills in up to that many bytes and returns the number filled in, 0 at the end. Its exceptions pass through.
  using Read = std::function<std::size_t(char*, std::size_t)>;

  explicit JsonReader(Read read, JsonLimits limits = {});

  /// The next token; `end` after the single value of a text. After a MalformedInput nothing more can be read.
  JsonToken next();
  /// The text of the last token from next(): a key, a string, or any other value as written. Valid until next().
  [[nodiscard]] std::string_view text() const { return text_; }
  /// The text exceeded the limit and was cut.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// A hash of the last string's bytes beyond the limit. Tells texts apart whose kept bytes are equal.
  [[nodiscard]] std::uint64_t rest_hash() const { return rest_hash_; }
  /// Skips the rest of a value whose first token is the last one from next().
  void skip(JsonToken first);

  /// Where the last token from next() begins, in bytes from the start of the text.
  [[nodiscard]] std::uint64_t offset() const { return token_offset_; }
  [[nodiscard]] std::size_t depth() const { return is_object_.size(); }
  /// Number of texts so far that had pieces that were not UTF-8.
  [[nodiscard]] std::uint64_t repaired_texts() const { return repaired_texts_; }

 private:
  static constexpr int no_byte = -1;
  enum class State : std::uint8_t { value, first_member, member, first_element, after_value, done };

  [[noreturn]] void fail(const std::string& what) const;
  bool refill();
  /// The next byte without consuming it; no_byte at the end.
  int peek() { return at_ < size_ || refill() ? static_cast<unsigned char>(buffer_[at_]) : no_byte; }
  int take();
  int skip_space();
  JsonToken read_value(int first);
  JsonToken open(bool is_object);
  JsonToken close(bool is_object);
  JsonToken end_value(JsonToken token);
  void read_key();
  void read_string();
  void read_escape();
  unsigned read_hex();
  void append_code_point(unsigned code);
  void append_byte(char byte);
  void append_bytes(std::string_view bytes);
  void repair_text();
  void read_number(int first);
  void read_word(std::string_view word);

  Read read_;
  JsonLimits limits_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::uint64_t buffer_offset_ = 0;  ///< offset of buffer_[0] in the text
  std::uint64_t token_offset_ = 0;
  std::string text_;
  bool is_cut_ = false;
  std::uint64_t rest_hash_ = 0;
  bool has_high_bytes_ = false;
  bool is_broken_ = false;  ///< a surrogate without its other half
  std::uint64_t repaired_texts_ = 0;
  std::vector<bool> is_object_;
  State state_ = State::value;
};

}  // namespace kymo::exchange
