// The flame part of a .vor frame: one frame as serialized by the profiler puffin. docs/vor.md has the bytes.
//
//   "PFD4" [size u32][meta][size u32][1: lz4][raw size u32][lz4 of the threads][size u32][sites]
//
// Meta, threads and sites use bincode with integers of variable length. A thread's stream is a tree:
//
//   scope:  '(' [site u32][start ns i64][text: size u8, bytes][size of what is inside u64] scope... ')' [end ns i64]
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/ids.hpp>

#include "capture/format/bytes.hpp"

namespace kymo::exchange {

/// The facts of a flame part.
struct FlameMeta {
  std::uint64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// A place that opens scopes.
struct FlameSite {
  std::uint32_t id = 0;      ///< 0: not given
  bool is_function = false;  ///< `function` is the name, and `name` is empty
  std::string_view name{};
  std::string_view function{};
  std::string_view file{};
  std::uint32_t line = 0;
};

/// The scopes of one thread in one frame.
struct FlameThread {
  std::optional<std::int64_t> start_ns;  ///< of the thread's first scope ever: distinguishes threads of the same name
  std::string_view name{};
  std::span<const std::byte> stream{};
};

/// A scope to be written. Each follows the scope around it, by ascending start.
struct FlameScope {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  SiteId site;
  std::uint32_t depth = 0;  ///< number of listed scopes around it
  std::uint32_t text_begin = 0;
  std::uint32_t text_size = 0;
};

/// Maximum length of a scope's text, in bytes.
inline constexpr std::size_t most_flame_text = 127;

/// Writes flame parts. Reuses its scratch memory.
class FlameWriter {
 public:
  void begin();
  /// Adds a thread with at least one scope. Add threads by ascending start and name, each once. `texts` holds the bytes
  /// of the scopes' texts.
  void add_thread(std::int64_t first_ns, std::string_view name, std::span<const FlameScope> scopes,
                  std::string_view texts);
  void add_site(const FlameSite& site);
  /// The whole part, valid until begin(). start_ns and end_ns are widened to cover every scope.
  [[nodiscard]] std::string_view finish(FlameMeta meta);

 private:
  std::string out_;
  std::string threads_;
  std::string stream_;
  std::string sites_;
  std::vector<std::size_t> open_sizes_;
  std::vector<std::int64_t> open_ends_;
  std::uint64_t thread_count_ = 0;
  std::uint64_t site_count_ = 0;
  std::uint64_t stream_bytes_ = 0;
  std::uint64_t scope_count_ = 0;
  std::int64_t start_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
};

/// Reads one flame part. Texts and streams are valid until the next open(). Memory: the raw threads, at most 256 MiB.
class FlameReader {
 public:
  /// Reads only the facts. Throws DecodeError if this is not a flame part of a known version.
  [[nodiscard]] static FlameMeta read_meta(std::span<const std::byte> part);

  /// Opens a part. Throws DecodeError, also for an unknown compression.
  void open(std::span<const std::byte> part);
  [[nodiscard]] const FlameMeta& meta() const { return meta_; }
  /// The next site. Returns false at the end. Throws DecodeError.
  [[nodiscard]] bool next_site(FlameSite& site);
  /// The next thread. Returns false at the end. Throws DecodeError.
  [[nodiscard]] bool next_thread(FlameThread& thread);

 private:
  FlameMeta meta_;
  std::vector<std::byte> raw_;
  capture::ByteCursor threads_{std::span<const std::byte>()};
  capture::ByteCursor sites_{std::span<const std::byte>()};
  std::uint64_t threads_left_ = 0;
  std::uint64_t sites_left_ = 0;
};

/// Iterates over a thread's stream.
class FlameCursor {
 public:
  enum class Step { open, close, end };

  explicit FlameCursor(std::span<const std::byte> stream) : stream_(stream) {}

  /// The next open or close. Throws DecodeError if the stream is damaged; nothing after that can be read.
  [[nodiscard]] Step next();
  /// Skips the content and the close of the scope that was opened last.
  void skip();

  [[nodiscard]] std::size_t depth() const { return ends_.size(); }
  [[nodiscard]] std::uint32_t site() const { return site_; }       ///< of the last open
  [[nodiscard]] std::string_view text() const { return text_; }    ///< of the last open
  [[nodiscard]] std::int64_t time_ns() const { return time_ns_; }  ///< of the last open or close

 private:
  [[nodiscard]] std::span<const std::byte> take(std::size_t count);
  void close();

  std::span<const std::byte> stream_;
  std::size_t position_ = 0;
  std::vector<std::size_t> ends_;  ///< the end of the content of each open scope
  std::uint32_t site_ = 0;
  std::string_view text_;
  std::int64_t time_ns_ = 0;
};

}  // namespace kymo::exchange
