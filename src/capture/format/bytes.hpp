// Byte-level tools of captures: little-endian loads and stores, a growing buffer, a checking cursor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "kymo's captures are little-endian, and so must the machine be"
#endif

namespace kymo::capture {

/// Invalid bytes: damage or another version. The message says what is wrong; the caller knows where.
class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename Integer>
[[nodiscard]] inline Integer load(const std::byte* from) {
  Integer value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename Integer>
inline void store(std::byte* to, Integer value) {
  std::memcpy(to, &value, sizeof value);
}

/// Converts to another integer type or to an id; throws DecodeError if the value does not fit.
template <typename To>
[[nodiscard]] inline To narrow(std::uint64_t value) {
  if constexpr (std::is_class_v<To>) {
    return To{narrow<std::uint32_t>(value)};
  } else {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<To>::max())) {
      throw DecodeError("a number is too large for its field");
    }
    return static_cast<To>(value);
  }
}

/// Maps small signed numbers to small unsigned ones: 0, -1, 1, -2 become 0, 1, 2, 3.
[[nodiscard]] inline std::uint64_t zigzag(std::uint64_t value) {
  return (value << 1U) ^ (std::uint64_t{0} - (value >> 63U));
}
[[nodiscard]] inline std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1U) ^ (std::uint64_t{0} - (value & 1U));
}

// Emscripten's library lacks std::bit_cast.
[[nodiscard]] inline std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
[[nodiscard]] inline double double_of(std::uint64_t bits) {
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A byte buffer for appending. Keeps its memory when cleared; does not initialize bytes that are about to be written.
class ByteBuffer {
 public:
  /// Room for `count` more bytes, which become part of the content by commit().
  [[nodiscard]] std::byte* reserve(std::size_t count) {
    if (storage_.size() - size_ < count) {
      grow(count);
    }
    return storage_.data() + size_;
  }
  void commit(std::size_t count) { size_ += count; }

  void append(std::span<const std::byte> bytes) {
    if (!bytes.empty()) {
      std::memcpy(reserve(bytes.size()), bytes.data(), bytes.size());
      commit(bytes.size());
    }
  }
  void append(std::string_view text) { append(std::as_bytes(std::span(text.data(), text.size()))); }
  void append_u8(std::uint8_t value) {
    *reserve(1) = std::byte{value};
    commit(1);
  }
  void append_varint(std::uint64_t value) {
    std::byte* const begin = reserve(10);
    std::byte* to = begin;
    while (value >= 0x80U) {
      *to++ = static_cast<std::byte>(value | 0x80U);
      value >>= 7U;
    }
    *to++ = static_cast<std::byte>(value);
    commit(static_cast<std::size_t>(to - begin));
  }

  void clear() { size_ = 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::byte* data() { return storage_.data(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {storage_.data(), size_}; }

 private:
  void grow(std::size_t count) { storage_.resize(size_ + count + storage_.size()); }

  std::vector<std::byte> storage_;
  std::size_t size_ = 0;
};

/// Reads bytes from the front; throws DecodeError at the end.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size(); }

  [[nodiscard]] std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size()) {
      throw DecodeError("a length points beyond the end of its block");
    }
    const auto taken = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  [[nodiscard]] std::uint8_t u8() { return std::to_integer<std::uint8_t>(take(1)[0]); }
  [[nodiscard]] std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = u8();
      if (shift == 63 && byte > 1) {
        break;
      }
      value |= (byte & 0x7FU) << shift;
      if (byte < 0x80U) {
        return value;
      }
    }
    throw DecodeError("a variable-length number is longer than 64 bits");
  }
  [[nodiscard]] std::string_view text(std::uint64_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace kymo::capture
