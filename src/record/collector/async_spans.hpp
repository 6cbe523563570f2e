// Async spans between begin and end. Both may come from different threads, so in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::record {

/// The open async spans of a process. Not thread-safe.
///
/// Tracks are drained one after the other, so a thread's end or argument may arrive before another thread's begin.
///
/// Memory: at most 65,536 spans with 16 arguments each. What comes beyond that is lost, and counted.
class AsyncSpans {
 public:
  /// Adds the begin to the batch.
  void begin(const AsyncBegin& begin, EventBatch& batch);
  /// For a string, `text` holds the bytes.
  void add_argument(std::uint64_t id, std::int64_t time_ns, ArgumentValue value, std::string_view text);
  void end(std::uint64_t id, std::int64_t time_ns);

  /// Adds the spans with both begin and end to the batch. Called as late as the batch allows, as other tracks may still
  /// supply arguments.
  void put_ended(EventBatch& batch);
  /// Whether an end or an argument still lacks its begin.
  [[nodiscard]] bool has_end_without_begin();
  /// All events of every track up to this time have been read: ends and arguments up to it that still lack a begin are
  /// dropped.
  void forget_without_begin(std::int64_t until_ns);

  /// Takes over a begin, or the end of one, that another reader found.
  void restore(const AsyncBegin& begin);
  void forget(std::uint64_t id) { spans_.erase(id); }

  /// Events lost since the last call.
  [[nodiscard]] std::uint64_t take_lost() { return std::exchange(lost_, 0); }

  /// Whether no span is open.
  [[nodiscard]] bool is_empty() const { return spans_.empty(); }
  /// Adds the begin of each open span to the batch.
  void put_begins(EventBatch& batch) const;

 private:
  struct Span {
    TrackId track;
    NameId name;
    std::int64_t start_ns = 0;  ///< before the begin is known: the time of the first event
    std::optional<std::int64_t> end_ns;
    std::vector<ArgumentValue> arguments;
    std::string text;  ///< of string arguments
    bool has_begun = false;
    bool is_listed = false;  ///< in without_begin_
  };

  /// Null if there are too many already.
  Span* find_or_add(std::uint64_t id, std::int64_t time_ns);
  void list_without_begin(std::uint64_t id, Span& span);
  static void put(std::uint64_t id, const Span& span, EventBatch& batch);

  std::unordered_map<std::uint64_t, Span> spans_;
  std::vector<std::uint64_t> ended_;
  std::vector<std::uint64_t> without_begin_;
  std::uint64_t lost_ = 0;
};

}  // namespace kymo::record
