// Writes witness bundles.
#include <cerrno>
#include <cstdio>
#include <optional>

#include <unistd.h>

#include <kymo/witness.hpp>

#include "base/output/output_file.hpp"
#include "base/system/file.hpp"
#include "bench/sha256.hpp"
#include "bench/witness_line.hpp"

namespace kymo {

std::string mask_hash(const std::uint8_t* gates, std::size_t count) {
  return bench::sha256_hex(gates, count);
}

std::string tensor_hash(const float* values, std::size_t count) {
  static_assert(sizeof(float) == 4 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  return bench::sha256_hex(values, count * sizeof(float));
}

class WitnessWriter::Implementation {
 public:
  Implementation(const std::string& path, const WitnessHeader& header)
      : path_(path), new_path_(path + ".new-" + std::to_string(::getpid())) {
    std::string line = bench::header_line(header);
    file_.emplace(base::OutputFile::create(new_path_));
    new_path_ = file_->name();  // differs if the name was taken
    previous_ = bench::close_line(line);
    append(line);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    if (file_) {
      ::unlink(new_path_.c_str());
    }
  }

  void add(const WitnessEntry& entry) {
    if (!file_) {
      throw std::logic_error("an entry was added to a witness bundle that is finished: " + path_);
    }
    std::string line = bench::entry_line(entry, previous_);
    previous_ = bench::close_line(line);
    append(line);
    bench::count(entry, cut_cost_sum_, totals_);
  }

  std::string finish() {
    if (!file_) {
      return previous_;
    }
    std::string line = bench::footer_line(totals_, previous_);
    bench::close_line(line);
    append(line);
    file_->close();
    if (std::rename(new_path_.c_str(), path_.c_str()) != 0) {
      throw base::OutputError(base::describe_errno("cannot replace", path_, errno));
    }
    file_.reset();
    return previous_;
  }

  [[nodiscard]] const WitnessTotals& totals() const { return totals_; }

 private:
  void append(const std::string& line) {
    file_->buffer() += line;
    file_->buffer() += '\n';
    file_->spill();
  }

  std::string path_;
  std::string new_path_;
  std::optional<base::OutputFile> file_;  ///< set until the bundle is finished
  std::string previous_;
  WitnessTotals totals_;
  double cut_cost_sum_ = 0;
};

WitnessWriter::WitnessWriter(const std::string& path, const WitnessHeader& header)
    : implementation_(std::make_unique<Implementation>(path, header)) {}

WitnessWriter::~WitnessWriter() = default;

void WitnessWriter::add(const WitnessEntry& entry) {
  implementation_->add(entry);
}

std::string WitnessWriter::finish() {
  return implementation_->finish();
}

const WitnessTotals& WitnessWriter::totals() const {
  return implementation_->totals();
}

}  // namespace kymo
