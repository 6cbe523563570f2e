// Events of several words: the words after one of WordKind::event.
//
// The first of them holds the EventKind in its low 8 bits and 56 bits of the event's own; the list below gives the
// rest.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/detail/thread_state.hpp>

namespace kymo::record {

enum class EventKind : std::uint8_t {
  frame_mark = 1,   ///< own bits: stream
  sample = 2,       ///< own bits: metric; then the value's bits
  message = 3,      ///< own bits: bytes of text << 1 | is cut; then the text
  async_begin = 4,  ///< own bits: track; then name, async id
  async_end = 5,    ///< then the async id
  async_argument =
      6,     ///< own bits: ArgumentType | is cut << 4 | bytes of text << 8; then async id, name, value or text
  span = 7,  ///< own bits: track; then name | category << 32, start, duration; arguments follow as words of their own
  flow = 8,  ///< own bits: FlowPhase; then the flow id
  sync_point = 9,  ///< then its number
  samples = 10,    ///< own bits: how many; then for each: metric | flags << 32, the value's bits
  flow_at = 11,    ///< own bits: track | FlowPhase << 32; then the flow id, the time in ns
  hold = 12,       ///< own bits: track of the lock; then name | holder << 32, the counter when it was taken
};

/// Times and durations that programs state are nearer to zero than this: sums of them have room. About 73 years.
inline constexpr std::int64_t farthest_ns = std::int64_t{1} << 61U;

constexpr bool is_near_time(std::int64_t time_ns) {
  return time_ns > -farthest_ns && time_ns < farthest_ns;
}

inline constexpr std::size_t longest_argument_text = 256;
inline constexpr std::size_t longest_message = 4096;
inline constexpr std::size_t most_span_arguments = 16;
inline constexpr std::size_t most_samples = 128;

/// Operand of WordKind::argument: ArgumentType in 3 bits, is cut in one, bytes of text in ten.
constexpr std::uint64_t argument_operand(std::uint64_t type, bool is_cut, std::size_t text_size) {
  return type | (is_cut ? 8U : 0U) | (std::uint64_t{text_size} << 4U);
}

/// Whole words needed for so many bytes.
constexpr std::size_t words_for(std::size_t bytes) {
  return (bytes + 7) / 8;
}

/// Kind of a word by its tag; none for one that opens a scope.
constexpr detail::WordKind kind_of(std::uint64_t tag) {
  using detail::WordKind;
  if ((tag & 3U) != 0) {
    return (tag & 1U) != 0 ? WordKind::none : WordKind::close;
  }
  const auto kind = static_cast<WordKind>((tag >> 2U) & 0xFU);
  return kind != WordKind::close ? kind : WordKind::none;
}

constexpr std::uint64_t operand_of(std::uint64_t tag) {
  return tag >> 6U;
}

}  // namespace kymo::record
