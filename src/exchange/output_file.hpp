// A file that is written from front to back through a buffer, with errors told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <kymo/exchange.hpp>

#include "base/file.hpp"

namespace kymo::exchange {

/// A file could not be created or written; what() names the file and the reason.
class OutputError : public ExchangeError {
 public:
  using ExchangeError::ExchangeError;
};

/// Collects text in a buffer and writes it out in large pieces. One thread at a time.
///
/// A write that fails throws OutputError, and so does every later one; a regular file then ends where the last piece
/// that was written whole ended. A closed pipe is an error like any other, never a SIGPIPE. The destructor writes
/// nothing.
class OutputFile {
 public:
  /// Takes over an open file. The name is for messages.
  OutputFile(base::FileDescriptor file, std::string name);

  /// A new file for a program that is recorded: under a suffix where something has the name (base::create_new_file).
  /// What names an open descriptor (/dev/stdout, /dev/fd/3) is written on from where it stands. A pipe or a device is
  /// written directly; it must have a reader already, and one that takes nothing for two seconds is an error, so that
  /// the program never waits for it. OutputError.
  [[nodiscard]] static OutputFile create(const std::string& path);
  /// A pipe or a device that is there, for a command, which waits for its reader. OutputError.
  [[nodiscard]] static OutputFile open_stream(const std::string& path);
  /// What a path means that names an open descriptor of this process; none where it does not. OutputError.
  [[nodiscard]] static std::optional<OutputFile> open_descriptor(const std::string& path);

  /// Text that waits to be written: append to it.
  [[nodiscard]] std::string& buffer() { return buffer_; }

  /// Writes the buffer out if there is much in it. The buffer must end where a reader may stop.
  void spill() {
    if (buffer_.size() >= spill_size) {
      flush();
    }
  }
  /// Hands everything to the kernel.
  void flush();
  /// flush(), then closes the file. Does nothing when it is closed.
  void close();

  /// Takes the last bytes that were written back, so that what follows takes their place. Only of a regular file, with
  /// an empty buffer.
  void take_back(std::size_t count);
  /// Whether it is a file, and no pipe or device.
  [[nodiscard]] bool is_regular() const { return is_regular_; }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t spill_size = std::size_t{1} << 17U;

  [[noreturn]] void fail(int error);
  [[nodiscard]] bool write_stream();

  base::FileDescriptor file_;
  std::string name_;
  std::string buffer_;
  std::uint64_t written_ = 0;
  bool is_regular_ = false;
  bool is_patient_ = true;  ///< waits for a pipe's reader
};

}  // namespace kymo::exchange
