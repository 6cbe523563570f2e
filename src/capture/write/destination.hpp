// Destinations of a capture writer's bytes: a file, or another that a caller implements.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "base/system/file.hpp"

namespace kymo::capture {

/// Bytes of a capture cannot be written at the moment. Everything written before is intact.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Takes the bytes of a capture, in order. Not thread-safe.
class BlockDestination {
 public:
  BlockDestination() = default;
  BlockDestination(const BlockDestination&) = delete;
  BlockDestination& operator=(const BlockDestination&) = delete;
  virtual ~BlockDestination() = default;

  /// Appends all bytes or, with a WriteError, none. The first call passes the preamble and the header, later ones one
  /// or more complete blocks, the last one the INDEX block and the trailer.
  virtual void append(std::span<const std::byte> bytes) = 0;
  /// Only the closing words follow: they may use the room reserved for them.
  virtual void begin_closing() {}
  /// Called after the last bytes.
  virtual void end() {}
  /// Flushes appended bytes to stable storage. Throws WriteError.
  virtual void sync() {}
  /// The name for messages: a file's path.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Bytes of a capture's file to lock: by its writer as long as it is open, by a recovery, and, shared, by processes
/// whose captures end with it. The locks are advisory and do not prevent reading.
inline constexpr std::uint64_t writer_lock_byte = 0;
inline constexpr std::uint64_t recovery_lock_byte = 1;
inline constexpr std::uint64_t follower_lock_byte = 2;

/// A new file, locked as long as this process has it open. A forked child closes it, so that it does not hold the lock
/// after this process ends. A child made without fork handlers (_Fork, clone) holds it until it ends or calls exec.
///
/// Reserves some room behind its end if the file system supports it, so that on a full disk a capture can still be
/// closed and state its losses.
class FileDestination final : public BlockDestination {
 public:
  /// Creates `path` or, if that exists, the first free one of "stem-1.ext", "stem-2.ext", ...: existing files are never
  /// touched. Throws WriteError.
  explicit FileDestination(const std::string& path);
  ~FileDestination() override;

  /// One pwrite(2) if that takes all bytes. On a full disk the file is cut back to its last complete block.
  void append(std::span<const std::byte> bytes) override;
  void begin_closing() override { is_closing_ = true; }
  void end() override;
  void sync() override;
  [[nodiscard]] const std::string& name() const override { return path_; }

 private:
  [[noreturn]] void fail(int error) const;
  [[nodiscard]] int make_room(std::uint64_t end) noexcept;
  /// The file's descriptor, reopened if the program has closed it. Throws WriteError.
  [[nodiscard]] int descriptor();
  static void close_in_child() noexcept;

  std::string path_;
  std::string absolute_path_;  // the program may change its working directory
  base::KnownFile file_;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_ = 0;  // room is guaranteed up to here
  bool can_reserve_ = true;
  bool is_closing_ = false;
};

}  // namespace kymo::capture
