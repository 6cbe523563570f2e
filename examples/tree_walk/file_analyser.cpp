#include "file_analyser.hpp"

#include <lz4.h>

#include <kymo/kymo.hpp>

namespace tree_walk {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

FileFacts& FileFacts::operator+=(const FileFacts& other) {
  files += other.files;
  unread_files += other.unread_files;
  bytes += other.bytes;
  compressed_bytes += other.compressed_bytes;
  tokens += other.tokens;
  return *this;
}

double compression_ratio(const FileFacts& facts) {
  return facts.compressed_bytes == 0 ? 0.0
                                     : static_cast<double>(facts.bytes) / static_cast<double>(facts.compressed_bytes);
}

void add_counts(TokenCounts& sum, const TokenCounts& counts) {
  KYMO_FUNCTION();
  KYMO_ARG("distinct", counts.size());
  for (const auto& [token, count] : counts) {
    sum[token] += count;
  }
}

FileFacts FileAnalyser::analyse(std::string_view content) {
  KYMO_FUNCTION();
  tokenise(content);
  count();
  FileFacts facts;
  facts.files = 1;
  facts.bytes = content.size();
  facts.compressed_bytes = compress(content);
  facts.tokens = tokens_.size();
  return facts;
}

/// A token is a word of letters, digits and underscores that does not begin with a digit.
void FileAnalyser::tokenise(std::string_view content) {
  KYMO_SCOPE("tokenise", {"bytes", content.size()});
  tokens_.clear();
  std::size_t at = 0;
  while (at < content.size()) {
    const std::size_t start = at;
    while (at < content.size() && (is_letter(content[at]) || is_digit(content[at]))) {
      ++at;
    }
    if (at == start) {
      ++at;
    } else if (is_letter(content[start])) {
      tokens_.push_back(content.substr(start, at - start));
    }
  }
  // The number is known only at this point, so it is added to the open scope.
  KYMO_ARG("tokens", tokens_.size());
}

void FileAnalyser::count() {
  KYMO_SCOPE("count", {"tokens", tokens_.size()});
  // Most tokens of a file repeat, so they are counted as views before any is copied.
  file_counts_.clear();
  for (const std::string_view token : tokens_) {
    ++file_counts_[token];
  }
  for (const auto& [token, count] : file_counts_) {
    counts_[std::string(token)] += count;
  }
  KYMO_ARG("distinct", file_counts_.size());
}

std::uint64_t FileAnalyser::compress(std::string_view content) {
  KYMO_SCOPE("compress", {"bytes", content.size()});
  if (content.empty()) {
    return 0;
  }
  const auto size = static_cast<int>(content.size());
  const int bound = LZ4_compressBound(size);
  if (compressed_.size() < static_cast<std::size_t>(bound)) {
    compressed_.resize(static_cast<std::size_t>(bound));
  }
  const int compressed_size = LZ4_compress_default(content.data(), compressed_.data(), size, bound);
  KYMO_ARG("compressed_bytes", compressed_size);
  return static_cast<std::uint64_t>(compressed_size);
}

}  // namespace tree_walk
