#include "exchange/import/json_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/escapes.hpp"
#include "base/text/json_text.hpp"
#include "base/text/text.hpp"
#include "exchange/import/text_hash.hpp"

namespace kymo::exchange {
namespace {

constexpr std::size_t json_buffer_size = std::size_t{1} << 18U;
constexpr std::size_t most_digits = 512;

/// The values that are words. Each begins with another letter.
struct Word {
  std::string_view text;
  JsonToken token;
};
constexpr std::array words{Word{"true", JsonToken::true_value}, Word{"false", JsonToken::false_value},
                           Word{"null", JsonToken::null_value}, Word{"NaN", JsonToken::number},
                           Word{"Infinity", JsonToken::number}};

/// What may follow a backslash, but for \u, and what it stands for.
constexpr std::string_view escaped_letters = "\"\\/bfnrt";
constexpr std::string_view escaped_bytes = "\"\\/\b\f\n\r\t";

bool is_space(int byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/// Bytes that a string may hold unescaped.
bool is_plain(char byte) {
  return byte != '"' && byte != '\\' && static_cast<unsigned char>(byte) < 0x80;
}

std::string describe_byte(int byte) {
  if (byte >= 0x20 && byte < 0x7F) {
    return std::string("'") + static_cast<char>(byte) + '\'';
  }
  const auto value = static_cast<unsigned char>(byte);
  return "the byte 0x" + base::to_hex(&value, 1);
}

}  // namespace

JsonReader::JsonReader(Read read, JsonLimits limits)
    : read_(std::move(read)), limits_(limits), buffer_(json_buffer_size) {
  for (const int byte : {0xEF, 0xBB, 0xBF}) {
    if (peek() != byte) {
      break;
    }
    ++at_;
  }
}

void JsonReader::fail(const std::string& what) const {
  const bool is_at_end = at_ == size_;
  throw MalformedInput(is_at_end ? what + ", and the text ends here" : what, buffer_offset_ + at_, is_at_end);
}

bool JsonReader::refill() {
  buffer_offset_ += size_;
  at_ = 0;
  size_ = 0;
  size_ = std::min(read_(buffer_.data(), buffer_.size()), buffer_.size());
  return size_ > 0;
}

int JsonReader::take() {
  const int byte = peek();
  at_ += byte == no_byte ? 0 : 1;
  return byte;
}

int JsonReader::skip_space() {
  int byte = peek();
  while (is_space(byte)) {
    ++at_;
    byte = peek();
  }
  return byte;
}

JsonToken JsonReader::next() {
  int byte = skip_space();
  if (state_ == State::after_value) {
    if (is_object_.empty()) {
      state_ = State::done;
    } else if (byte == ',') {
      ++at_;
      byte = skip_space();
      state_ = is_object_.back() ? State::first_member : State::first_element;
    } else if (byte != (is_object_.back() ? '}' : ']')) {
      fail(is_object_.back() ? "',' or '}' is missing" : "',' or ']' is missing");
    }
  }
  token_offset_ = buffer_offset_ + at_;
  switch (state_) {
    case State::done:
      if (byte != no_byte) {
        fail("the text goes on with " + describe_byte(byte) + " after its value");
      }
      return JsonToken::end;
    case State::after_value:
      return close(is_object_.back());
    case State::first_member:
      if (byte == '}') {
        return close(true);
      }
      read_key();
      return JsonToken::key;
    case State::first_element:
      if (byte == ']') {
        return close(false);
      }
      break;
    case State::value:
    case State::member:
      break;
  }
  return read_value(byte);
}

void JsonReader::skip(JsonToken first) {
  if (first != JsonToken::begin_object && first != JsonToken::begin_array) {
    return;
  }
  const std::size_t outside = depth() - 1;
  while (depth() > outside) {
    next();
  }
}

JsonToken JsonReader::read_value(int first) {
  switch (first) {
    case '{':
      return open(true);
    case '[':
      return open(false);
    case '"':
      ++at_;
      read_string();
      return end_value(JsonToken::string);
    default:
      break;
  }
  if (first == '-' || base::is_digit(first)) {
    read_number(first);
    return end_value(JsonToken::number);
  }
  for (const Word& word : words) {
    if (first == word.text.front()) {
      read_word(word.text);
      return end_value(word.token);
    }
  }
  if (first == no_byte) {
    fail("a value is missing");
  }
  fail(describe_byte(first) + " begins no value");
}

JsonToken JsonReader::open(bool is_object) {
  if (is_object_.size() >= limits_.depth) {
    fail("arrays and objects lie deeper within each other than " + std::to_string(limits_.depth));
  }
  ++at_;
  is_object_.push_back(is_object);
  state_ = is_object ? State::first_member : State::first_element;
  return is_object ? JsonToken::begin_object : JsonToken::begin_array;
}

JsonToken JsonReader::close(bool is_object) {
  ++at_;
  is_object_.pop_back();
  state_ = State::after_value;
  return is_object ? JsonToken::end_object : JsonToken::end_array;
}

JsonToken JsonReader::end_value(JsonToken token) {
  state_ = State::after_value;
  return token;
}

void JsonReader::read_key() {
  if (peek() != '"') {
    fail("a member's name is missing");
  }
  ++at_;
  read_string();
  if (skip_space() != ':') {
    fail("':' is missing");
  }
  ++at_;
  state_ = State::member;
}

void JsonReader::read_string() {
  text_.clear();
  is_cut_ = false;
  rest_hash_ = text_hash_seed;
  has_high_bytes_ = false;
  is_broken_ = false;
  for (;;) {
    if (peek() == no_byte) {
      fail("a string has no end");
    }
    const char* const begin = buffer_.data() + at_;
    const char* const end = buffer_.data() + size_;
    const char* const stop = std::find_if_not(begin, end, is_plain);
    append_bytes({begin, static_cast<std::size_t>(stop - begin)});
    at_ += static_cast<std::size_t>(stop - begin);
    if (stop == end) {
      continue;
    }
    ++at_;
    if (*stop == '"') {
      break;
    }
    if (*stop == '\\') {
      read_escape();
    } else {
      append_byte(*stop);
    }
  }
  if (text_.size() > limits_.text) {
    is_cut_ = true;
    const std::size_t kept = base::cut_text(text_, limits_.text).size();
    rest_hash_ = hash_text(std::string_view(text_).substr(kept), rest_hash_);
    text_.resize(kept);
  }
  if (has_high_bytes_) {
    repair_text();
  }
  repaired_texts_ += is_broken_ ? 1U : 0U;
}

void JsonReader::append_byte(char byte) {
  has_high_bytes_ = has_high_bytes_ || static_cast<unsigned char>(byte) >= 0x80;
  append_bytes({&byte, 1});
}

void JsonReader::append_bytes(std::string_view bytes) {
  // One byte more than is kept, so that cut_text sees where a sequence ends.
  const std::size_t room = limits_.text + 1 - std::min(limits_.text + 1, text_.size());
  text_ += bytes.substr(0, room);
  if (bytes.size() > room) {
    is_cut_ = true;
    rest_hash_ = hash_text(bytes.substr(room), rest_hash_);
  }
}

void JsonReader::repair_text() {
  std::string repaired;
  if (!base::append_valid_text(repaired, text_)) {
    is_broken_ = true;
    // A replacement may be longer than the bytes it replaces.
    text_ = base::cut_text(repaired, limits_.text);
  }
}

void JsonReader::read_escape() {
  const int byte = take();
  const std::size_t letter = byte == no_byte ? std::string_view::npos : escaped_letters.find(static_cast<char>(byte));
  if (letter != std::string_view::npos) {
    append_byte(escaped_bytes[letter]);
    return;
  }
  if (byte != 'u') {
    fail("a backslash in a string is followed by nothing that JSON knows");
  }
  unsigned code = read_hex();
  // A high surrogate needs a low one after it; any other character is kept as it is.
  while (code >= 0xD800 && code <= 0xDBFF && peek() == '\\') {
    ++at_;
    if (peek() != 'u') {
      append_code_point(code);
      read_escape();
      return;
    }
    ++at_;
    const unsigned low = read_hex();
    if (low >= 0xDC00 && low <= 0xDFFF) {
      append_code_point(0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00));
      return;
    }
    append_code_point(code);
    code = low;
  }
  append_code_point(code);
}

unsigned JsonReader::read_hex() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i) {
    const int byte = take();
    const int lower = byte | 0x20;
    if (base::is_digit(byte)) {
      code = code * 16 + static_cast<unsigned>(byte - '0');
    } else if (byte != no_byte && lower >= 'a' && lower <= 'f') {
      code = code * 16 + static_cast<unsigned>(lower - 'a' + 10);
    } else {
      fail("\\u in a string needs four hexadecimal digits");
    }
  }
  return code;
}

void JsonReader::append_code_point(unsigned code) {
  if (code >= 0xD800 && code <= 0xDFFF) {
    is_broken_ = true;
    code = 0xFFFD;
  }
  const auto append = [this](unsigned byte) { append_byte(static_cast<char>(byte)); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0U | code >> 6U);
    append(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    append(0xE0U | code >> 12U);
    append(0x80U | (code >> 6U & 0x3FU));
    append(0x80U | (code & 0x3FU));
  } else {
    append(0xF0U | code >> 18U);
    append(0x80U | (code >> 12U & 0x3FU));
    append(0x80U | (code >> 6U & 0x3FU));
    append(0x80U | (code & 0x3FU));
  }
}

void JsonReader::read_number(int first) {
  text_.clear();
  is_cut_ = false;
  if (first == '-') {
    text_ += '-';
    ++at_;
    if (peek() == 'I') {
      read_word("Infinity");
      text_ = "-Infinity";
      return;
    }
  }
  const auto read_digits = [this] {
    if (!base::is_digit(peek())) {
      fail("a digit is missing");
    }
    for (; base::is_digit(peek()); ++at_) {
      if (text_.size() >= most_digits) {
        fail("a number has more than " + std::to_string(most_digits) + " digits");
      }
      text_ += buffer_[at_];
    }
  };
  read_digits();
  if (peek() == '.') {
    text_ += '.';
    ++at_;
    read_digits();
  }
  if (peek() == 'e' || peek() == 'E') {
    text_ += 'e';
    ++at_;
    if (peek() == '+' || peek() == '-') {
      text_ += buffer_[at_++];
    }
    read_digits();
  }
}

void JsonReader::read_word(std::string_view word) {
  for (const char expected : word) {
    if (peek() != static_cast<unsigned char>(expected)) {
      fail("this is no value; is '" + std::string(word) + "' meant?");
    }
    ++at_;
  }
  text_ = word;
  is_cut_ = false;
}

}  // namespace kymo::exchange
