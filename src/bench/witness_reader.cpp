// Checks and compares witness bundles.
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <kymo/witness.hpp>

#include "base/system/file.hpp"
#include "bench/witness_line.hpp"

namespace kymo {
namespace {

/// Reads a file line by line.
class LineReader {
 public:
  static constexpr std::size_t greatest_line = std::size_t{64} << 20U;

  explicit LineReader(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
    if (!file_) {
      throw std::runtime_error(base::describe_errno("cannot read", path, errno));
    }
  }

  enum class Result { line, cut_off, too_long, end };
  /// The next line without its line break; `cut_off` if the file ends first. Valid until the next call.
  Result next(std::string_view& line) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    std::size_t searched = 0;
    for (;;) {
      if (const std::size_t end = buffer_.find('\n', searched); end != std::string::npos) {
        line = std::string_view(buffer_).substr(0, end);
        taken_ = end + 1;
        return Result::line;
      }
      searched = buffer_.size();
      if (searched > greatest_line) {
        return Result::too_long;
      }
      if (!read_more()) {
        line = buffer_;
        return buffer_.empty() ? Result::end : Result::cut_off;
      }
    }
  }

 private:
  bool read_more() {
    constexpr std::size_t piece = std::size_t{1} << 16U;
    const std::size_t size = buffer_.size();
    buffer_.resize(size + piece);
    ssize_t count = -1;
    while ((count = ::read(file_.get(), buffer_.data() + size, piece)) < 0 && errno == EINTR) {
    }
    if (count < 0) {
      throw std::runtime_error(base::describe_errno("cannot read", path_, errno));
    }
    buffer_.resize(size + static_cast<std::size_t>(count));
    return count > 0;
  }

  std::string path_;
  base::FileDescriptor file_;
  std::string buffer_;
  std::size_t taken_ = 0;
};

/// Reads a bundle entry by entry.
class ChainReader {
 public:
  explicit ChainReader(const std::string& path) : lines_(path) {
    std::string_view line;
    if (take(line)) {
      std::string hash = bench::open_line(line);
      if (hash.empty()) {
        fail("the line does not have the hash that it states: it was changed");
      } else if (!bench::parse_header(line, report_.header)) {
        fail("this is not the header of a witness bundle");
      }
      previous_ = std::move(hash);
    }
  }

  /// The next intact entry. Returns false at the end or at a broken link.
  bool next(WitnessEntry& entry) {
    std::string_view line;
    if (!report_.problem.empty() || report_.is_whole || !take(line)) {
      return false;
    }
    const std::string hash = bench::open_line(line);
    std::string previous;
    if (hash.empty()) {
      return fail("the line does not have the hash that it states: it was changed");
    }
    if (bench::is_footer(line)) {
      return finish(line);
    }
    if (!bench::parse_entry(line, entry, previous)) {
      return fail("this is not an entry of a witness bundle");
    }
    if (previous != previous_) {
      return fail("it does not follow on the line before: lines were taken out, put in or moved");
    }
    previous_ = hash;
    bench::count(entry, cut_cost_sum_, report_.totals);
    return true;
  }

  [[nodiscard]] const WitnessReport& report() const { return report_; }

 private:
  bool fail(const std::string& problem) {
    report_.line = line_number_;
    report_.problem = problem;
    return false;
  }

  bool take(std::string_view& line) {
    ++line_number_;
    switch (lines_.next(line)) {
      case LineReader::Result::line:
        return true;
      case LineReader::Result::cut_off:
        return fail("the file ends in the middle of the line");
      case LineReader::Result::too_long:
        return fail("the line has over 64 MiB");
      case LineReader::Result::end:
        return fail(line_number_ == 1 ? "the file is empty" : "the file ends without a footer: lines were cut off");
    }
    return false;
  }

  bool finish(std::string_view line) {
    // The format of a footer is unique, so it can be regenerated and compared. If costs add up beyond a double, there
    // is none.
    if (!std::isfinite(report_.totals.mean_cut_cost) || line != bench::footer_line(report_.totals, previous_)) {
      return fail("the footer does not match the entries before it");
    }
    std::string_view more;
    ++line_number_;
    if (lines_.next(more) != LineReader::Result::end) {
      return fail("there is something behind the footer");
    }
    report_.head = previous_;
    report_.is_whole = true;
    return false;
  }

  LineReader lines_;
  std::uint64_t line_number_ = 0;
  std::string previous_;
  double cut_cost_sum_ = 0;
  WitnessReport report_;
};

void expect_whole(const std::string& path, const WitnessReport& report) {
  if (!report.is_whole) {
    throw BenchFileError(path + ":" + std::to_string(report.line) + ": " + report.problem);
  }
}

}  // namespace

WitnessReport verify_witness(const std::string& path, const std::function<void(const WitnessEntry&)>& on_entry) {
  ChainReader reader(path);
  WitnessEntry entry;
  while (reader.next(entry)) {
    if (on_entry) {
      on_entry(entry);
    }
  }
  return reader.report();
}

bool is_same_decision(const WitnessEntry& left, const WitnessEntry& right) {
  return left.q_hash == right.q_hash && left.k_hash == right.k_hash && left.keep_mask == right.keep_mask &&
         left.mask_hash == right.mask_hash && left.cut_cost == right.cut_cost && left.lambda == right.lambda &&
         left.tau == right.tau && left.eps == right.eps;
}

WitnessDifference compare_witnesses(const std::string& left, const std::string& right) {
  ChainReader left_reader(left);
  ChainReader right_reader(right);
  const WitnessHeader& header = left_reader.report().header;
  const WitnessHeader& other = right_reader.report().header;
  WitnessDifference difference;
  difference.is_same_header = header.config_hash == other.config_hash && header.model_commit == other.model_commit &&
                              header.weights_hash == other.weights_hash;
  WitnessEntry entry;
  WitnessEntry other_entry;
  for (std::uint64_t number = 1;; ++number) {
    const bool has_entry = left_reader.next(entry);
    const bool has_other = right_reader.next(other_entry);
    if (!has_entry && !has_other) {
      break;
    }
    if (difference.entry == 0 && (has_entry != has_other || !is_same_decision(entry, other_entry))) {
      difference.entry = number;
    }
  }
  expect_whole(left, left_reader.report());
  expect_whole(right, right_reader.report());
  return difference;
}

}  // namespace kymo
