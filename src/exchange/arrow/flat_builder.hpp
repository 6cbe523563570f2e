// FlatBuffers, the encoding of Arrow's metadata, as far as Arrow needs it: https://flatbuffers.dev/internals
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::exchange {

/// Builds a buffer from its end to its start, since references lead forwards: what is referred to is built first.
class FlatBuilder {
 public:
  /// The place of something that was built.
  struct Reference {
    std::size_t from_end = 0;
  };

  /// A member of a table.
  struct Field {
    unsigned slot;
    std::size_t width;    ///< bytes of a number; 0: a reference
    std::uint64_t value;  ///< or the reference

    static Field number(unsigned slot, std::size_t width, std::int64_t value) {
      return {slot, width, static_cast<std::uint64_t>(value)};
    }
    static Field reference(unsigned slot, Reference to) { return {slot, 0, to.from_end}; }
  };

  [[nodiscard]] Reference text(std::string_view characters) {
    align(4, characters.size() + 1);
    reversed_.push_back('\0');
    reversed_.append(characters.rbegin(), characters.rend());
    return length(characters.size());
  }

  [[nodiscard]] Reference references(const std::vector<Reference>& to) {
    align(4, 4 * to.size());
    for (auto each = to.rbegin(); each != to.rend(); ++each) {
      put_reference(each->from_end);
    }
    return length(to.size());
  }

  /// A vector of structs of so many 64-bit numbers each, which stand in one list.
  [[nodiscard]] Reference structs(const std::vector<std::int64_t>& numbers, std::size_t numbers_each) {
    align(8, 8 * numbers.size());
    for (auto each = numbers.rbegin(); each != numbers.rend(); ++each) {
      put(static_cast<std::uint64_t>(*each), 8);
    }
    return length(numbers.size() / numbers_each);
  }

  [[nodiscard]] Reference table(std::vector<Field> fields) {
    // Wide members first, so that little is lost to alignment.
    std::stable_sort(fields.begin(), fields.end(),
                     [](const Field& left, const Field& right) { return left.width > right.width; });
    const std::size_t start = reversed_.size();
    std::vector<std::size_t> places;
    for (const Field& field : fields) {
      const std::size_t width = field.width == 0 ? 4 : field.width;
      align(width, 0);
      field.width == 0 ? put_reference(field.value) : put(field.value, width);
      places.resize(std::max<std::size_t>(places.size(), field.slot + 1));
      places[field.slot] = reversed_.size();
    }
    align(4, 0);
    put(0, 4);  // the distance to the list of members, below
    const std::size_t object = reversed_.size();
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      put(*place == 0 ? 0 : object - *place, 2);
    }
    put(object - start, 2);
    put(4 + 2 * places.size(), 2);
    std::size_t distance = reversed_.size() - object;
    for (std::size_t i = 1; i <= 4; ++i, distance >>= 8U) {
      reversed_[object - i] = static_cast<char>(distance & 0xFFU);
    }
    return {object};
  }

  /// The buffer, a multiple of 8 bytes. Nothing may be built afterwards.
  [[nodiscard]] std::string finish(Reference root) {
    align(8, 4);
    put_reference(root.from_end);
    return {reversed_.rbegin(), reversed_.rend()};
  }

 private:
  /// Pads so that the size will be a multiple of `unit` after so many more bytes.
  void align(std::size_t unit, std::size_t more) {
    while ((reversed_.size() + more) % unit != 0) {
      reversed_.push_back('\0');
    }
  }
  void put(std::uint64_t value, std::size_t width) {
    for (std::size_t i = width; i-- > 0;) {
      reversed_.push_back(static_cast<char>(value >> 8 * i & 0xFFU));
    }
  }
  void put_reference(std::size_t from_end) { put(reversed_.size() + 4 - from_end, 4); }
  Reference length(std::size_t count) {
    put(count, 4);
    return {reversed_.size()};
  }

  std::string reversed_;
};

}  // namespace kymo::exchange
