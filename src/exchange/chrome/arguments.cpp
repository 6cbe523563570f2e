#include "exchange/chrome/arguments.hpp"

#include <cstddef>

#include "base/text/json_text.hpp"
#include "exchange/common/json_argument.hpp"

namespace kymo::exchange {
namespace {

constexpr std::size_t text_limit = std::size_t{64} << 10U;
// Up to here every key is compared with every other. Beyond, each key gets a number unconditionally.
constexpr std::size_t compared_keys = 64;

}  // namespace

void OpenArguments::add(std::size_t depth, std::string_view key, const ArgumentValue& value, std::string_view text) {
  if (is_full(depth)) {
    left_out_ = left_out_depth_ == depth ? left_out_ + 1 : 1;
    left_out_depth_ = depth;
    return;
  }
  Entry entry{depth, scope_begin(depth), text_.size(), 0};
  text_ += key;
  entry.value_begin = text_.size();
  if (append_json_argument(text_, value, text)) {
    entries_.push_back(entry);
  } else {
    text_.resize(entry.key_begin);
  }
}

void OpenArguments::add_mark(std::size_t depth, std::string_view key) {
  Entry entry{depth, scope_begin(depth), text_.size(), 0};
  text_ += key;
  entry.value_begin = text_.size();
  entries_.push_back(entry);
  text_ += "true";
}

void OpenArguments::take(std::size_t depth, std::string& out) {
  std::size_t first = entries_.size();
  while (first > 0 && entries_[first - 1].depth >= depth) {
    --first;
  }
  if (first == entries_.size()) {
    return;
  }
  append_members(first, depth, out);
  text_.resize(entries_[first].key_begin);
  entries_.resize(first);
  if (left_out_depth_ >= depth) {
    left_out_ = 0;
  }
}

bool OpenArguments::is_full(std::size_t depth) const {
  return !entries_.empty() && entries_.back().depth == depth && text_.size() - entries_.back().scope_begin > text_limit;
}

std::size_t OpenArguments::scope_begin(std::size_t depth) const {
  return !entries_.empty() && entries_.back().depth == depth ? entries_.back().scope_begin : text_.size();
}

void OpenArguments::append_members(std::size_t first, std::size_t depth, std::string& out) const {
  std::string_view separator = ",\"args\":{";
  std::size_t last = entries_.size();
  for (std::size_t entry = first; entry < last; ++entry) {
    // Deeper ones are left over from damaged input.
    if (entries_[entry].depth != depth) {
      continue;
    }
    out += separator;
    out += '"';
    out += key(entry);
    std::uint64_t repeats = entry - first >= compared_keys ? entry - first : 0U;
    for (std::size_t other = first; other < entry && entry - first < compared_keys; ++other) {
      repeats += entries_[other].depth == depth && key(other) == key(entry) ? 1U : 0U;
    }
    if (repeats > 0) {
      out += '#';
      base::append_json_integer(out, repeats + 1);
    }
    out += "\":";
    const std::size_t end = entry + 1 < entries_.size() ? entries_[entry + 1].key_begin : text_.size();
    out.append(text_, entries_[entry].value_begin, end - entries_[entry].value_begin);
    separator = ",";
  }
  if (left_out_ > 0 && left_out_depth_ == depth) {
    out += separator;
    out += "\"arguments_left_out\":";
    base::append_json_integer(out, left_out_);
    separator = ",";
  }
  if (separator.size() == 1) {
    out += '}';
  }
}

std::string_view OpenArguments::key(std::size_t entry) const {
  return std::string_view(text_).substr(entries_[entry].key_begin,
                                        entries_[entry].value_begin - entries_[entry].key_begin);
}

}  // namespace kymo::exchange
