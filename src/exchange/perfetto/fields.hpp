// The fields of a protobuf message, whatever their types: a field of an unexpected type reads as 0 or as no bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include <protozero/pbf_reader.hpp>

namespace kymo::exchange::perfetto {

/// Goes through a message, which may be hostile. Throws protozero::exception where it is no protobuf.
class Fields {
 public:
  explicit Fields(std::string_view message) : reader_(message.data(), message.size()) {}

  bool next() {
    if (!reader_.next()) {
      return false;
    }
    tag_ = reader_.tag();
    number_ = 0;
    bytes_ = {};
    is_bytes_ = false;
    switch (reader_.wire_type()) {
      case protozero::pbf_wire_type::varint:
        number_ = reader_.get_uint64();
        break;
      case protozero::pbf_wire_type::fixed64:
        number_ = reader_.get_fixed64();
        break;
      case protozero::pbf_wire_type::fixed32:
        number_ = reader_.get_fixed32();
        break;
      case protozero::pbf_wire_type::length_delimited: {
        const protozero::data_view view = reader_.get_view();
        bytes_ = {view.data(), view.size()};
        is_bytes_ = true;
        break;
      }
      default:
        reader_.skip();
    }
    return true;
  }
  [[nodiscard]] std::uint32_t tag() const { return tag_; }
  [[nodiscard]] bool is_bytes() const { return is_bytes_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] double real() const {
    double value = 0;
    static_assert(sizeof value == sizeof number_);
    std::memcpy(&value, &number_, sizeof value);
    return value;
  }

 private:
  protozero::pbf_reader reader_;
  std::uint32_t tag_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  bool is_bytes_ = false;
};

}  // namespace kymo::exchange::perfetto
