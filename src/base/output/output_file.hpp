// A buffered file that is written sequentially and reports errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <kymo/exchange.hpp>

#include "base/system/file.hpp"

namespace kymo::base {

/// A file could not be created or written; what() names the file and the reason.
class OutputError : public ExchangeError {
 public:
  using ExchangeError::ExchangeError;
};

/// Collects text in a buffer and writes it out in large pieces. One thread at a time.
///
/// After a failed write, this and every later write throws OutputError. A regular file then ends after the last piece
/// that was written completely. A closed pipe is a normal error, never a SIGPIPE. The destructor writes nothing.
class OutputFile {
 public:
  /// Takes ownership of an open file. The name is for messages.
  OutputFile(FileDescriptor file, std::string name);

  /// Creates a new file for a recorded program. Adds a suffix if the name is taken (create_new_file). A path that
  /// names an open descriptor (/dev/stdout, /dev/fd/3) is written from its current position. A pipe or device is
  /// written directly and must have a reader; if the reader takes nothing for two seconds the write fails, so the
  /// program never waits longer. Throws OutputError.
  [[nodiscard]] static OutputFile create(const std::string& path);
  /// Opens an existing pipe or device for a command, which waits for the reader. Throws OutputError.
  [[nodiscard]] static OutputFile open_stream(const std::string& path);
  /// The file for a path that names an open descriptor of this process; none for other paths. Throws OutputError.
  [[nodiscard]] static std::optional<OutputFile> open_descriptor(const std::string& path);

  /// The text that waits to be written. Append to it.
  [[nodiscard]] std::string& buffer() { return buffer_; }

  /// Writes the buffer if it is large. The buffer must end at a point where a reader may stop.
  void spill() {
    if (buffer_.size() >= spill_size) {
      flush();
    }
  }
  /// Writes everything to the kernel.
  void flush();
  /// Flushes and closes the file. Does nothing if it is closed.
  void close();

  /// Removes the last bytes written, so that later output replaces them. Only for regular files with an empty buffer.
  void take_back(std::size_t count);
  /// Whether it is a regular file, not a pipe or device.
  [[nodiscard]] bool is_regular() const { return is_regular_; }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t spill_size = std::size_t{1} << 17U;

  [[noreturn]] void fail(int error);
  [[nodiscard]] bool write_stream(int file);

  /// -1 if it was closed.
  [[nodiscard]] int descriptor();

  KnownFile file_;
  std::string name_;
  std::string absolute_path_;  ///< of a file of a recorded program, which may close its descriptors
  std::string buffer_;
  std::uint64_t written_ = 0;
  bool is_open_ = true;
  bool is_regular_ = false;
  bool is_patient_ = true;  ///< waits for a pipe's reader
};

}  // namespace kymo::base
