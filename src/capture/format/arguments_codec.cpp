#include "capture/format/arguments_codec.hpp"

namespace kymo::capture {

void ArgumentsEncoder::clear() {
  names_.clear();
  types_.clear();
  integers_.clear();
  floats_.clear();
  text_sizes_.clear();
  text_gaps_.clear();
  text_end_ = 0;
}

void ArgumentsEncoder::add(const ArgumentValue& value) {
  names_.push_back(value.name.value());
  types_.push_back(static_cast<std::uint64_t>(value.type) | (value.is_cut ? 0x80U : 0U));
  switch (value.type) {
    case ArgumentType::int64:
      integers_.push_back(zigzag(value.bits));
      break;
    case ArgumentType::uint64:
    case ArgumentType::boolean:
      integers_.push_back(value.bits);
      break;
    case ArgumentType::float64:
      floats_.push_back(value.bits);
      break;
    case ArgumentType::string:
      text_sizes_.push_back(value.text_size);
      text_gaps_.push_back(value.bits - text_end_);
      text_end_ = value.bits + value.text_size;
      break;
  }
}

void ArgumentsEncoder::put(TableWriter& table, std::uint8_t first_column) {
  const auto id = [first_column](unsigned which) { return static_cast<std::uint8_t>(first_column + which); };
  const auto put_present = [&](unsigned which, std::vector<std::uint64_t>& values) {
    if (!values.empty()) {
      // These columns give the number of their values, so zeros are not omitted.
      table.counted_numbers(id(which), plain, values);
    }
  };
  put_present(0, names_);
  table.numbers(id(1), plain, types_);
  put_present(2, integers_);
  put_present(3, floats_);
  put_present(4, text_sizes_);
  table.numbers(id(5), plain, text_gaps_);
}

void check_text(const ArgumentValue& value, std::size_t text_size) {
  if (value.type == ArgumentType::string && (value.bits > text_size || text_size - value.bits < value.text_size)) {
    throw DecodeError("a string argument lies outside its block's text");
  }
}

}  // namespace kymo::capture
