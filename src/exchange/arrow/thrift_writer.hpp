// Thrift's compact protocol, the encoding of Parquet's metadata, as far as Parquet needs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::exchange {

/// Appends seven bits a byte, the lowest first.
inline void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) {
    out.push_back(static_cast<char>(value | 0x80U));
  }
  out.push_back(static_cast<char>(value));
}

/// Appends structs member by member, with ascending numbers. The top one is open from the start and ends with end().
class ThriftWriter {
 public:
  void integer(unsigned member, std::int32_t value) {
    head(member, 5);
    signed_number(value);
  }
  void long_integer(unsigned member, std::int64_t value) {
    head(member, 6);
    signed_number(value);
  }
  void text(unsigned member, std::string_view value) {
    head(member, 8);
    bytes(value);
  }
  void begin(unsigned member) {
    head(member, struct_type);
    open();
  }
  void end() {
    bytes_.push_back('\0');
    last_.pop_back();
  }

  void integers(unsigned member, const std::vector<std::int32_t>& values) {
    list(member, 5, values.size());
    for (const std::int32_t value : values) {
      signed_number(value);
    }
  }
  void texts(unsigned member, const std::vector<std::string_view>& values) {
    list(member, 8, values.size());
    for (const std::string_view value : values) {
      bytes(value);
    }
  }
  /// So many structs follow, each between open() and end().
  void structs(unsigned member, std::size_t count) { list(member, struct_type, count); }
  void open() { last_.push_back(0); }

  [[nodiscard]] const std::string& data() const { return bytes_; }

 private:
  static constexpr unsigned struct_type = 12;

  void head(unsigned member, unsigned type) {
    const unsigned step = member - last_.back();
    bytes_.push_back(static_cast<char>(step << 4U | type));  // Parquet's members are less than 16 apart
    last_.back() = member;
  }
  void list(unsigned member, unsigned type, std::size_t count) {
    constexpr std::size_t most_short = 14;
    head(member, 9);
    if (count <= most_short) {
      bytes_.push_back(static_cast<char>(count << 4U | type));
    } else {
      bytes_.push_back(static_cast<char>(0xF0U | type));
      number(count);
    }
  }
  void number(std::uint64_t value) { append_varint(bytes_, value); }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63));
  }
  void bytes(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }

  std::string bytes_;
  std::vector<unsigned> last_{0};  // the number of the last member of each open struct
};

}  // namespace kymo::exchange
