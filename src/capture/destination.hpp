// Where a capture writer's bytes go: a file, memory, or a ring in shared memory (block_ring.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace kymo::capture {

/// Bytes of a capture cannot be written now. What was written before is whole.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Takes the bytes of a capture, in order. One thread at a time.
class BlockDestination {
 public:
  BlockDestination() = default;
  BlockDestination(const BlockDestination&) = delete;
  BlockDestination& operator=(const BlockDestination&) = delete;
  virtual ~BlockDestination() = default;

  /// Appends all of it or, with a WriteError, nothing. First comes the preamble alone, then whole blocks, one or
  /// several a call; the last call brings the INDEX block and the trailer.
  virtual void append(std::span<const std::byte> bytes) = 0;
  /// Only the closing words are still to come: they may use the room that was kept for them.
  virtual void begin_closing() {}
  /// Nothing more comes.
  virtual void end() {}
  /// Makes what was appended survive a loss of power. WriteError.
  virtual void sync() {}
  /// What it is called in messages: the path of a file.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Bytes of a capture's file that are locked: by whoever writes it as long as it is open, and by whoever recovers it.
/// The locks say that, and keep nobody from reading.
inline constexpr std::uint64_t writer_lock_byte = 0;
inline constexpr std::uint64_t recovery_lock_byte = 1;

/// A new file, locked as long as this process has it open. A forked child lets go of it, so that it does not keep the
/// lock when this process is gone; one that no handler is called in (_Fork, clone) does until it ends or executes.
///
/// It keeps a little room behind its end where the file system can, so that a capture whose disk becomes full can
/// still be closed and say what it lacks.
class FileDestination final : public BlockDestination {
 public:
  /// Creates `path`, or where it exists the first of "stem-1.ext", "stem-2.ext", ... that does not: an existing file is
  /// never touched. WriteError.
  explicit FileDestination(const std::string& path);
  ~FileDestination() override;

  /// One pwrite(2) where that takes everything. Where the disk is full the file is cut back to its last whole block.
  /// Where the program has closed the descriptor, and its number may be another file's, nothing is touched.
  void append(std::span<const std::byte> bytes) override;
  void begin_closing() override { is_closing_ = true; }
  void end() override;
  void sync() override;
  [[nodiscard]] const std::string& name() const override { return path_; }

 private:
  [[noreturn]] void fail(int error) const;
  [[nodiscard]] int make_room(std::uint64_t end) noexcept;
  static void close_in_child() noexcept;
  /// Lets go of a descriptor that is not this file's any more.
  [[nodiscard]] bool still_has_file() noexcept;

  std::string path_;
  base::FileDescriptor file_;
  base::FileId id_;
  std::uint64_t size_ = 0;
  std::uint64_t reserved_ = 0;  // up to here there is room for certain
  bool can_reserve_ = true;
  bool is_closing_ = false;
};

/// Memory that grows: for tests, and for captures that are handed on.
class MemoryDestination final : public BlockDestination {
 public:
  explicit MemoryDestination(std::shared_ptr<std::vector<std::byte>> bytes) : bytes_(std::move(bytes)) {}

  void append(std::span<const std::byte> bytes) override { bytes_->insert(bytes_->end(), bytes.begin(), bytes.end()); }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::shared_ptr<std::vector<std::byte>> bytes_;
  std::string name_ = "memory";
};

}  // namespace kymo::capture
