// The bytes of a recording that is imported: a file, or what gzip made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/file.hpp"

namespace kymo::exchange {

class GzipStream;

/// Reads a recording once from its beginning, so it may be a pipe. Unpacks it if its first bytes are those of gzip,
/// whatever its name is. Holds about 100 KB. One thread at a time.
class ImportInput {
 public:
  /// Opens the file. `name` is its name in errors; `on_progress` receives the share that is read. Throws ImportError,
  /// also if the file is compressed and this build has no zlib.
  ImportInput(const std::string& path, std::string name, std::function<void(double)> on_progress = {});
  ImportInput(const ImportInput&) = delete;
  ImportInput& operator=(const ImportInput&) = delete;
  ~ImportInput();

  /// Fills in up to that many unpacked bytes and returns the number filled in, 0 at the end. Throws ImportError if the
  /// file cannot be read.
  [[nodiscard]] std::size_t read(char* bytes, std::size_t size);
  /// The same, but fills in fewer only at the end.
  [[nodiscard]] std::size_t read_fully(char* bytes, std::size_t size);
  /// The first unpacked bytes, at most 64. Leaves them to read(). Valid until read().
  [[nodiscard]] std::string_view look_ahead();
  /// Why the compressed data could not be read to its end, with the place; empty: it could.
  [[nodiscard]] const std::string& stopped() const { return stopped_; }

 private:
  [[nodiscard]] std::size_t read_file(char* bytes, std::size_t size);
  [[nodiscard]] std::size_t unpack(char* bytes, std::size_t size);
  /// Makes sure that packed bytes are in the buffer. False at the end of the file.
  [[nodiscard]] bool refill();
  void stop(const std::string& why);

  std::string name_;
  std::function<void(double)> on_progress_;
  base::FileDescriptor file_;
  std::uint64_t file_size_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_unpacked_ = 0;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::string ahead_;
  std::size_t ahead_at_ = 0;
  std::unique_ptr<GzipStream> gzip_;
  std::string stopped_;
};

}  // namespace kymo::exchange
