#include "exchange/chrome/event_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/text/ascii.hpp"
#include "base/text/escapes.hpp"
#include "base/text/json_text.hpp"
#include "base/text/text.hpp"
#include "exchange/common/json_argument.hpp"

namespace kymo::exchange {
namespace {

constexpr std::size_t most_facts = 4096;
constexpr std::int64_t latest_ns = std::int64_t{1} << 62U;

/// A decimal number: digits * 10^exponent.
struct Decimal {
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
  bool is_negative = false;
  bool is_valid = false;
};

Decimal parse_decimal(std::string_view text) {
  Decimal decimal;
  std::size_t at = 0;
  decimal.is_negative = !text.empty() && text.front() == '-';
  at += decimal.is_negative ? 1 : 0;
  bool has_digits = false;
  bool has_point = false;
  for (; at < text.size() && (base::is_digit(text[at]) || (text[at] == '.' && !has_point)); ++at) {
    if (text[at] == '.') {
      has_point = true;
      continue;
    }
    has_digits = true;
    // 19 digits exceed every time; further digits only move the point.
    if (decimal.digits < 1'000'000'000'000'000'000U) {
      decimal.digits = decimal.digits * 10 + static_cast<unsigned>(text[at] - '0');
      decimal.exponent -= has_point ? 1 : 0;
    } else {
      decimal.exponent += has_point ? 0 : 1;
    }
  }
  if (has_digits && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && text[at] == '+') {
      ++at;
    }
    int exponent = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), exponent);
    if (error == std::errc::result_out_of_range) {
      exponent = text[at] == '-' ? -100'000 : 100'000;
    } else if (error != std::errc()) {
      return decimal;
    }
    at = static_cast<std::size_t>(end - text.data());
    decimal.exponent += std::min(std::max(exponent, -100'000), 100'000);
  }
  decimal.is_valid = has_digits && at == text.size();
  return decimal;
}

}  // namespace

ChromeTime parse_microseconds(std::string_view text) {
  Decimal decimal = parse_decimal(text);
  if (!decimal.is_valid) {
    return {ChromeTime::Kind::unreadable, 0};
  }
  decimal.exponent += 3;
  std::uint64_t ns = decimal.digits;
  if (ns != 0) {
    for (; decimal.exponent > 0; --decimal.exponent) {
      if (ns > static_cast<std::uint64_t>(latest_ns) / 10) {
        return {ChromeTime::Kind::out_of_range, 0};
      }
      ns *= 10;
    }
    unsigned last_digit = 0;
    for (; decimal.exponent < 0 && (ns != 0 || last_digit != 0); ++decimal.exponent) {
      last_digit = static_cast<unsigned>(ns % 10);
      ns /= 10;
    }
    ns += last_digit >= 5 ? 1 : 0;
  }
  if (ns > static_cast<std::uint64_t>(latest_ns)) {
    return {ChromeTime::Kind::out_of_range, 0};
  }
  const auto magnitude = static_cast<std::int64_t>(ns);
  return {ChromeTime::Kind::sound, decimal.is_negative ? -magnitude : magnitude};
}

double ParsedNumber::as_double() const {
  switch (type) {
    case ArgumentType::int64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ArgumentType::uint64:
      return static_cast<double>(bits);
    default:
      return std::bit_cast<double>(bits);
  }
}

ParsedNumber parse_json_number(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  std::int64_t integer = 0;
  if (const auto result = std::from_chars(begin, end, integer); result.ec == std::errc() && result.ptr == end) {
    return {true, ArgumentType::int64, static_cast<std::uint64_t>(integer)};
  }
  std::uint64_t natural = 0;
  if (const auto result = std::from_chars(begin, end, natural); result.ec == std::errc() && result.ptr == end) {
    return {true, ArgumentType::uint64, natural};
  }
  double value = std::numeric_limits<double>::quiet_NaN();
  const auto result = std::from_chars(begin, end, value);
  if (result.ec == std::errc::result_out_of_range && result.ptr == end) {
    // The value overflows or underflows a double; the exponent tells which.
    const bool is_small = text.find("e-") != std::string_view::npos;
    value = is_small ? 0 : std::numeric_limits<double>::infinity();
    value = text.front() == '-' ? -value : value;
  } else if (result.ec != std::errc() || result.ptr != end) {
    return {};
  }
  return {true, ArgumentType::float64, std::bit_cast<std::uint64_t>(value)};
}

void append_argument_text(std::string& out, const ChromeArgument& argument) {
  if (argument.type == ArgumentType::string) {
    out += argument.text;
  } else if (!append_json_argument(out, {{}, argument.type, false, 0, argument.bits}, {})) {
    out += "NaN";
  }
}

void ChromeArguments::clear() {
  entries_.clear();
  text_.clear();
}

ChromeArgument ChromeArguments::operator[](std::size_t index) const {
  const Entry& entry = entries_[index];
  const std::string_view text = text_;
  return {text.substr(entry.key_begin, entry.key_size), entry.type, entry.is_cut, entry.bits,
          text.substr(entry.key_begin + entry.key_size, entry.text_size)};
}

void ChromeArguments::add_number(std::string_view key, ArgumentType type, std::uint64_t bits) {
  entries_.push_back({text_.size(), key.size(), 0, type, false, bits});
  text_ += key;
}

void ChromeArguments::add_text(std::string_view key, std::string_view text, bool is_cut) {
  const std::string_view kept = base::cut_text(text, longest_text);
  entries_.push_back(
      {text_.size(), key.size(), kept.size(), ArgumentType::string, is_cut || kept.size() < text.size(), 0});
  text_.append(key).append(kept);
}

void append_rest_of_name(std::string& name, std::uint64_t rest_hash, ImportLosses& losses) {
  std::array<unsigned char, sizeof rest_hash> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(rest_hash >> (56 - 8 * i));
  }
  name.append(base::cut_mark).append("#") += base::to_hex(bytes.data(), bytes.size());
  losses.ignore("names longer than 64 KiB, whose rest is a hash");
}

void ChromeEvent::clear() {
  phase.clear();
  name.clear();
  category.clear();
  process.clear();
  thread.clear();
  id.clear();
  lane.clear();
  is_on_lane = false;
  time = {};
  duration = {};
  arguments.clear();
}

bool ChromeEvent::is_of_queue() const {
  // Older versions of torch.profiler, and exports of nsys, write capitals.
  if (category.compare(0, 4, "gpu_") == 0 || category == "Memcpy" || category == "Memset") {
    return true;
  }
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].key != "stream") {
    ++i;
  }
  return (category == "kernel" || category == "Kernel") && i < arguments.size();
}

ChromeEventReader::ChromeEventReader(JsonReader::Read read, ImportLosses& losses)
    : json_(std::move(read)), losses_(losses) {}

bool ChromeEventReader::next(ChromeEvent& event) {
  if (place_ == Place::before && !begin()) {
    return false;
  }
  while (place_ != Place::after) {
    if (place_ == Place::in_root) {
      if (!next_member()) {
        return false;
      }
      continue;
    }
    try {
      if (next_element(event)) {
        return true;
      }
    } catch (const MalformedInput& error) {
      if (!is_unclosed_array(error)) {
        throw;
      }
      place_ = Place::after;
    }
  }
  return false;
}

bool ChromeEventReader::is_unclosed_array(const MalformedInput& error) const {
  return place_ == Place::in_array && error.is_at_end() && json_.depth() == 1;
}

bool ChromeEventReader::begin() {
  switch (json_.next()) {
    case JsonToken::begin_array:
      place_ = Place::in_array;
      return true;
    case JsonToken::begin_object:
      place_ = Place::in_root;
      return true;
    default:
      throw MalformedInput("a trace is an array of events, or an object with traceEvents", json_.offset(), false);
  }
}

bool ChromeEventReader::next_member() {
  if (json_.next() == JsonToken::end_object) {
    if (!has_events_) {
      throw MalformedInput("an object without an array of traceEvents is no trace", json_.offset(), false);
    }
    json_.next();
    place_ = Place::after;
    return false;
  }
  key_ = json_.text();
  const JsonToken token = json_.next();
  if (key_ == "traceEvents" && token == JsonToken::begin_array) {
    place_ = Place::in_events;
    has_events_ = true;
  } else if (key_ == "otherData" || key_ == "metadata") {
    read_facts(token, token == JsonToken::begin_object ? std::string() : key_);
  } else if (key_ == "baseTimeNanoseconds") {
    read_base_time(token);
  } else if (key_ == "distributedInfo" || key_ == "deviceProperties" || key_ == "traceName") {
    read_facts(token, key_);
  } else {
    if (key_ != "displayTimeUnit" && key_ != "generator") {
      losses_.ignore("member \"" + key_.substr(0, 64) + "\" of the trace, beside its events");
    }
    json_.skip(token);
  }
  return true;
}

bool ChromeEventReader::next_element(ChromeEvent& event) {
  for (;;) {
    const JsonToken token = json_.next();
    switch (token) {
      case JsonToken::end_array:
        if (place_ == Place::in_array) {
          json_.next();
          place_ = Place::after;
        } else {
          place_ = Place::in_root;
        }
        return false;
      case JsonToken::begin_object:
        event.clear();
        read_event(event);
        return true;
      default:
        losses_.damage("elements among the events that are no objects");
        json_.skip(token);
    }
  }
}

void ChromeEventReader::read_event(ChromeEvent& event) {
  while (json_.next() != JsonToken::end_object) {
    key_ = json_.text();
    const JsonToken token = json_.next();
    if (key_ == "name") {
      read_text(token, event.name);
    } else if (key_ == "ph") {
      read_text(token, event.phase);
    } else if (key_ == "cat") {
      read_text(token, event.category);
    } else if (key_ == "ts") {
      read_time(token, event.time);
    } else if (key_ == "dur") {
      read_time(token, event.duration);
    } else if (key_ == "pid") {
      read_text(token, event.process);
    } else if (key_ == "tid") {
      read_text(token, event.thread);
    } else if (key_ == "id" || key_ == "id2") {
      read_id(token, event.id);
    } else if (key_ == "args" && token == JsonToken::begin_object) {
      key_.clear();
      read_argument(token, key_, event.arguments);
    } else {
      if (key_ != "s" && key_ != "bp") {
        losses_.ignore("members of events that a capture has no place for (tts, tdur, cname, sf and others)");
      }
      json_.skip(token);
    }
  }
}

void ChromeEventReader::read_text(JsonToken token, std::string& text) {
  text.clear();
  if (token == JsonToken::string || token == JsonToken::number) {
    text = json_.text();
    if (token == JsonToken::string && json_.is_cut()) {
      append_rest_of_name(text, json_.rest_hash(), losses_);
    }
  } else if (token != JsonToken::null_value) {
    losses_.damage("names, phases and numbers of processes that are neither text nor number");
    json_.skip(token);
  }
}

void ChromeEventReader::read_time(JsonToken token, ChromeTime& time) {
  if (token == JsonToken::number || token == JsonToken::string) {
    time = parse_microseconds(json_.text());
  } else {
    time = {token == JsonToken::null_value ? ChromeTime::Kind::missing : ChromeTime::Kind::unreadable, 0};
    json_.skip(token);
  }
}

void ChromeEventReader::read_id(JsonToken token, std::string& id) {
  if (token != JsonToken::begin_object) {
    read_text(token, id);
    return;
  }
  // "id2":{"local":"0x1"}
  while (json_.next() != JsonToken::end_object) {
    read_text(json_.next(), id);
  }
}

void ChromeEventReader::read_argument(JsonToken token, std::string& key, ChromeArguments& arguments) {
  if (token == JsonToken::begin_object) {
    const std::size_t size = key.size();
    while (json_.next() != JsonToken::end_object) {
      key += size == 0 ? "" : ".";
      key += json_.text();
      key.resize(base::cut_text(key, ChromeArguments::longest_key).size());
      read_argument(json_.next(), key, arguments);
      key.resize(size);
    }
    return;
  }
  if (arguments.is_full()) {
    losses_.ignore("arguments beyond 256 or 64 KiB of one event");
    json_.skip(token);
    return;
  }
  switch (token) {
    case JsonToken::number: {
      const ParsedNumber number = parse_json_number(json_.text());
      arguments.add_number(key, number.type, number.bits);
      break;
    }
    case JsonToken::true_value:
    case JsonToken::false_value:
      arguments.add_number(key, ArgumentType::boolean, token == JsonToken::true_value ? 1 : 0);
      break;
    case JsonToken::string:
      arguments.add_text(key, json_.text(), json_.is_cut());
      break;
    case JsonToken::null_value:
      losses_.ignore("arguments that are null");
      break;
    default:
      json_text_.clear();
      copy_json(token, json_text_);
      arguments.add_text(key, json_text_, false);
  }
}

void ChromeEventReader::copy_json(JsonToken token, std::string& out) {
  if (out.size() > ChromeArguments::longest_text) {
    json_.skip(token);
    return;
  }
  switch (token) {
    case JsonToken::string:
      base::append_json_string(out, json_.text());
      return;
    case JsonToken::number:
    case JsonToken::true_value:
    case JsonToken::false_value:
    case JsonToken::null_value:
      out += json_.text();
      return;
    case JsonToken::begin_array:
    case JsonToken::begin_object:
      break;
    default:
      return;
  }
  const bool is_object = token == JsonToken::begin_object;
  const JsonToken last = is_object ? JsonToken::end_object : JsonToken::end_array;
  out += is_object ? '{' : '[';
  bool is_first = true;
  for (JsonToken element = json_.next(); element != last; element = json_.next()) {
    if (!is_first && out.size() <= ChromeArguments::longest_text) {
      out += ',';
    }
    is_first = false;
    if (is_object) {
      if (out.size() <= ChromeArguments::longest_text) {
        base::append_json_string(out, json_.text());
        out += ':';
      }
      element = json_.next();
    }
    copy_json(element, out);
  }
  out += is_object ? '}' : ']';
}

void ChromeEventReader::read_base_time(JsonToken token) {
  const ParsedNumber number = token == JsonToken::number ? parse_json_number(json_.text()) : ParsedNumber();
  if (!number.is_number || number.type != ArgumentType::int64 || static_cast<std::int64_t>(number.bits) >= latest_ns) {
    losses_.damage("wall clocks (baseTimeNanoseconds) that are no time");
    json_.skip(token);
    return;
  }
  base_realtime_ns_ = std::max<std::int64_t>(0, static_cast<std::int64_t>(number.bits));
  facts_.emplace_back(key_, std::to_string(base_realtime_ns_));
}

void ChromeEventReader::read_facts(JsonToken token, const std::string& prefix) {
  fact_arguments_.clear();
  std::string key = prefix;
  read_argument(token, key, fact_arguments_);
  std::string value;
  for (std::size_t i = 0; i < fact_arguments_.size() && facts_.size() < most_facts; ++i) {
    const ChromeArgument fact = fact_arguments_[i];
    value.clear();
    append_argument_text(value, fact);
    facts_.emplace_back(fact.key, value);
  }
}

}  // namespace kymo::exchange
