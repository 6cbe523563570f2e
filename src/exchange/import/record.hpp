// One event of a trace on its way into a capture. Names are ids already, so millions of records can be sorted.
//
// Packed form: the fields of Head, the fields of each argument, then the bytes of all texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::exchange {

struct ImportRecord {
  enum class Kind : std::uint8_t {
    complete,     ///< a complete span of a thread with its duration
    begin,        ///< a span of a thread begins
    end,          ///< the innermost open span of the thread ends
    async_begin,  ///< a span of an async lane begins
    async_end,
    async_step,  ///< a part of the innermost open async span ends and the next one begins; see `detail`
    frame,
    sample,
    message,
    flow,
    sync_point,
    dropped,  ///< the thread has lost `id` scopes and `duration_ns` other events so far
  };

  struct Head {
    std::int64_t time_ns = 0;
    std::int64_t duration_ns = 0;
    std::uint64_t id = 0;  ///< id of an async span or flow; number of a sync point; bits of a sample's value
    TrackId track;
    std::uint32_t what = 0;  ///< site, name, metric or frame stream
    std::uint32_t category = 0;
    std::uint16_t argument_count = 0;
    Kind kind = Kind::complete;
    /// Phase of a flow; whether a message was cut; 1 if a step names the part before it, 0 if the one after it.
    std::uint8_t detail = 0;
  };
  static_assert(sizeof(Head) == 40, "no padding: it is written as it lies in memory");

  Head head;
  std::vector<ArgumentValue> arguments;  ///< strings are in `text`
  std::string text;                      ///< also the text of a message

  void clear();
  void pack(std::string& out) const;
  /// Reads what pack() returned.
  void unpack(std::string_view packed);
};

}  // namespace kymo::exchange
