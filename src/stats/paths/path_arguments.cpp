#include "stats/paths/path_arguments.hpp"

#include <cstring>

#include "timeline/span_builder.hpp"

namespace kymo::stats {

namespace {

double number_in(const ArgumentValue& value) {
  if (value.type == ArgumentType::int64) {
    std::int64_t integer = 0;
    std::memcpy(&integer, &value.bits, sizeof integer);
    return static_cast<double>(integer);
  }
  if (value.type == ArgumentType::float64) {
    double number = 0;
    std::memcpy(&number, &value.bits, sizeof number);
    return number;
  }
  return static_cast<double>(value.bits);
}

}  // namespace

void PathArguments::take(std::uint32_t instance, SubjectId subject, const ArgumentValue& value) {
  const Argument argument{subject, value.name};
  ArgumentValues& values = found_.paths[instance].arguments[argument];
  if (value.type == ArgumentType::string || value.type == ArgumentType::boolean) {
    const std::string_view text = value.type == ArgumentType::string ? timeline::text_of(value, text_)
                                  : value.bits != 0                  ? "true"
                                                                     : "false";
    ++values.texts[number_of(argument, text)];
    ++values.text_count;
    return;
  }
  values.sum += number_in(value);
  ++values.count;
}

std::uint32_t PathArguments::number_of(const Argument& argument, std::string_view text) {
  auto& numbers = numbers_[argument];
  const auto known = numbers.find(text);
  if (known != numbers.end()) {
    return known->second;
  }
  if (numbers.size() == most_texts) {
    return other_text;
  }
  const auto number = static_cast<std::uint32_t>(found_.texts.size());
  numbers.emplace(text, number);
  found_.texts.emplace_back(text);
  return number;
}

}  // namespace kymo::stats
