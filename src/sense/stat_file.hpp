// /proc/stat, read once for all sensors that take something from it at about the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "sense/source_file.hpp"

namespace kymo::sense {

/// The kernel makes the whole file at each read, counters of all interrupts included, whatever part of it is wanted: on
/// a large machine it is the dearest of all that is sampled. Thread safe; nobody waits.
class StatFile {
 public:
  explicit StatFile(std::string path) : file_(std::move(path), capacity_) {}

  /// Hands `use(text, time_ns)` the file as it was at most `most_age_ns` before now, and when that was: reads it where
  /// what is known is older. The text is valid during the call, and empty where the file could not be read. False, and
  /// nothing is called, where another thread is at it.
  template <typename Use>
  bool read(std::int64_t now_ns, std::int64_t most_age_ns, const Use& use) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
      return false;
    }
    if (time_ns_ == 0 || now_ns < time_ns_ || now_ns - time_ns_ > most_age_ns) {
      read_anew(now_ns);
    }
    use(text_, time_ns_);
    return true;
  }

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  /// Within `use`, what is wrong with the file; no error where it is there.
  [[nodiscard]] const SourceFile& file() const { return file_; }

 private:
  void read_anew(std::int64_t now_ns);

  std::mutex mutex_;
  std::size_t capacity_ = 16 * 1024;
  SourceFile file_;
  std::string_view text_;  // in the file's buffer
  std::int64_t time_ns_ = 0;
};

}  // namespace kymo::sense
