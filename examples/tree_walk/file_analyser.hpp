// Analyses a file: finds and counts its tokens and compresses it with lz4.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tree_walk {

/// How often each token occurs.
using TokenCounts = std::unordered_map<std::string, std::uint64_t>;

/// The results for one or several files.
struct FileFacts {
  std::uint64_t files = 0;
  std::uint64_t unread_files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t tokens = 0;

  FileFacts& operator+=(const FileFacts& other);
};

/// Bytes of the files divided by bytes of their compressed forms; 0 without files.
double compression_ratio(const FileFacts& facts);

/// Adds all counts of one table to another.
void add_counts(TokenCounts& sum, const TokenCounts& counts);

/// Analyses files one after another; accumulates counts and reuses its memory. One thread at a time.
class FileAnalyser {
 public:
  /// At most LZ4_MAX_INPUT_SIZE bytes.
  FileFacts analyse(std::string_view content);

  /// The tokens of all files so far.
  const TokenCounts& counts() const { return counts_; }

 private:
  void tokenise(std::string_view content);
  void count();
  std::uint64_t compress(std::string_view content);

  std::vector<std::string_view> tokens_;
  std::unordered_map<std::string_view, std::uint64_t> file_counts_;
  TokenCounts counts_;
  std::vector<char> compressed_;
};

}  // namespace tree_walk
