#include "bench/csv.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include <kymo/bench.hpp>

#include "base/system/file.hpp"
#include "base/text/json_text.hpp"
#include "base/text/text.hpp"

namespace kymo::bench {

void append_field(std::string& out, double value) {
  if (std::isnan(value)) {
    return;
  }
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), written.ptr);
}

void CsvScanner::fail(const std::string& problem) const {
  throw BenchFileError(name_ + ":" + std::to_string(line_) + ": " + problem);
}

void CsvScanner::take_quoted(std::string& field) {
  for (++at_;; ++at_) {
    if (at_ >= text_.size()) {
      fail("a quote that opens a field is never closed");
    }
    if (text_[at_] == '"') {
      ++at_;
      if (at_ >= text_.size() || text_[at_] != '"') {
        return;
      }
    } else if (text_[at_] == '\n') {
      ++next_line_;
    }
    field += text_[at_];
  }
}

bool CsvScanner::next(std::vector<std::string>& fields) {
  fields.clear();
  if (at_ >= text_.size()) {
    return false;
  }
  line_ = next_line_;
  for (;;) {
    std::string& field = fields.emplace_back();
    if (at_ < text_.size() && text_[at_] == '"') {
      take_quoted(field);
      if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_.substr(at_, 2) != "\r\n") {
        fail("there is text behind a closing quote");
      }
    } else {
      std::size_t end = text_.find_first_of(",\n", at_);
      end = end == std::string_view::npos ? text_.size() : end;
      field = text_.substr(at_, end - at_);
      at_ = end;
      if (!field.empty() && field.back() == '\r' && (at_ >= text_.size() || text_[at_] == '\n')) {
        field.pop_back();
      }
      if (field.find('"') != std::string::npos) {
        fail("a quote stands inside a field that does not begin with one");
      }
    }
    if (text_.substr(at_, 2) == "\r\n") {
      ++at_;
    }
    if (at_ >= text_.size()) {
      return true;
    }
    if (text_[at_++] == '\n') {
      ++next_line_;
      return true;
    }
  }
}

std::string quote_for_message(std::string_view text) {
  constexpr std::size_t limit = 60;
  std::string quoted = "\"";
  base::append_json_text(quoted, base::cut_text(text, limit));
  if (text.size() > limit) {
    quoted += base::cut_mark;
  }
  return quoted + "\"";
}

std::string read_file(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) {
    throw std::runtime_error(base::describe_errno("cannot read", path, errno));
  }
  std::string text;
  std::array<char, 1U << 16U> piece{};
  for (;;) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size < 0) {
      throw std::runtime_error(base::describe_errno("cannot read", path, errno));
    }
    if (size == 0) {
      return text;
    }
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace kymo::bench
