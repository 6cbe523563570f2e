#include "record/collector/track_decoder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <kymo/detail/thread_state.hpp>

#include "record/pool/event_words.hpp"

namespace kymo::record {

namespace {

using detail::WordKind;

/// Words searched in a row for opens and closes: few if other words stand between them.
constexpr std::size_t least_stretch = 8;
constexpr std::size_t most_stretch = 512;
/// Words decoded one by one before pairs are tried again: twice as many after each try that found few, since the end of
/// a try is a mispredicted branch. Odd, or every try would begin at a close.
constexpr std::ptrdiff_t most_at_once = 255;
/// Words in pairs that are worth a try.
constexpr std::ptrdiff_t enough_in_pairs = 16;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(ScopeEvent) == 16 &&
              offsetof(ScopeEvent, site) == 8 && offsetof(ScopeEvent, depth) == 12);

/// Writes a ScopeEvent by three stores. Depths beyond any real program are truncated to their low bits.
void put(std::byte* to, std::int64_t time_ns, std::uint64_t site, std::uint64_t depth) {
  const auto id = SiteId{static_cast<std::uint32_t>(site)};
  const std::uint32_t depth_and_flags = static_cast<std::uint16_t>(depth);
  std::memcpy(to, &time_ns, sizeof time_ns);
  std::memcpy(to + offsetof(ScopeEvent, site), &id, sizeof id);
  std::memcpy(to + offsetof(ScopeEvent, depth), &depth_and_flags, sizeof depth_and_flags);
}

/// Appends `size` bytes of text from whole words to the batch; returns their offset there.
std::uint64_t append_text(std::string& text, const std::uint64_t* from, std::size_t size) {
  const std::uint64_t offset = text.size();
  text.append(reinterpret_cast<const char*>(from), size);
  return offset;
}

/// How far a word's count is from another, if that is less than half of what a word can express.
std::int64_t distance_between(std::uint64_t word, std::uint64_t count) {
  return static_cast<std::int64_t>(detail::shifted_count_of(word) - (count << detail::tag_bits)) >> detail::tag_bits;
}

std::uint64_t magnitude(std::int64_t number) {
  return number < 0 ? -static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
}

/// A quarter of what a word can express: words between two counts so close have certain counts, seen from either.
constexpr std::uint64_t nearest_counts = std::uint64_t{1} << (detail::count_bits - 2);

bool are_near(std::uint64_t count, std::uint64_t other) {
  return magnitude(static_cast<std::int64_t>(count - other)) < nearest_counts;
}

constexpr std::uint64_t tag_mask = ((std::uint64_t{1} << detail::tag_bits) - 1) << detail::tag_shift;
constexpr std::uint64_t half_word = std::uint64_t{1} << detail::tag_shift;

}  // namespace

/// Counts on a line of the clock's map that have the same upper half. A word's offset on the line is then a difference:
/// the word minus `start` and its tag, if that is less than `end`.
struct TrackDecoder::Window {
  ClockMap::Line line;
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  Window() = default;
  /// The window around a count. Empty if that is not on the line, or too far from its start.
  Window(const ClockMap::Line& on_line, std::uint64_t count) : line(on_line) {
    const std::uint64_t offset = count - line.counter;
    if (offset < line.size && offset < half_word) {
      const std::uint64_t before = std::min(offset, count % half_word);
      start = detail::word_of(0, count - before) - (offset - before);
      end = std::min({line.size, offset + half_word - count % half_word, half_word});
    }
  }
};

std::uint64_t TrackDecoder::count_of(std::uint64_t word) const {
  return reference_ + static_cast<std::uint64_t>(distance_between(word, reference_));
}

void TrackDecoder::begin_chunk(std::uint64_t begun_at, std::uint64_t first_sequence) {
  reference_ = begun_at;
  is_far_ = now_ != 0 && !are_near(now_, reference_);
  sequence_ = first_sequence;
}

void TrackDecoder::looked(std::uint64_t before, std::uint64_t now) {
  if (static_cast<std::int64_t>(before - reference_) > 0) {
    reference_ = before;
  }
  now_ = now;
  is_far_ = now_ != 0 && !are_near(now_, reference_);
}

/// The process was stopped for long, or its counter restarted. The words of before were published soon after the look
/// before, those of after shortly before this one: a word is taken to be near to what it is nearer to.
void TrackDecoder::come_near(std::uint64_t word) {
  const detail::WordKind kind = kind_of(detail::tag_of(word));
  if (kind == WordKind::argument) {
    return;
  }
  const std::int64_t from_reference = distance_between(word, reference_);
  if (magnitude(distance_between(word, now_)) < magnitude(from_reference)) {
    reference_ = now_;
    is_far_ = false;
  } else {
    reference_ += static_cast<std::uint64_t>(from_reference);
  }
}

void TrackDecoder::close(std::uint32_t depth, std::int64_t time_ns, std::uint16_t flags, ScopeRun& run) {
  // A close without its open (opened before recording began, or damaged) closes nothing.
  if (depth < depth_) {
    depth_ = depth;
    run.events.push_back({time_ns, {}, static_cast<std::uint16_t>(depth), flags});
  }
}

/// Decodes opens, and closes of the innermost scope, up to the first other word. Most recorded words go through here.
/// At most most_stretch words.
///
/// Calls without scopes in them are decoded two words at a time. Otherwise no branch depends on whether a word opens or
/// closes: in a random sequence, every third such branch would be mispredicted.
std::size_t TrackDecoder::decode_scopes(std::span<const std::uint64_t> words, ClockMap::Converter& convert,
                                        Window& window, ScopeRun& run) {
  if (open_.size() < depth_ + words.size() + 1) {
    open_.resize(depth_ + words.size() + 1);
  }
  const std::size_t before = run.events.size();
  run.events.resize(before + words.size());
  auto* to = reinterpret_cast<std::byte*>(run.events.data() + before);
  const std::uint64_t* next = words.data();
  const std::uint64_t* const end = next + words.size();
  const std::uint64_t* stop = next;
  while (next == stop && next != end) {
    const std::uint64_t* const leaves_end = decode_leaves({next, end}, window, to);
    at_once_ = leaves_end - next >= std::min(at_once_, enough_in_pairs) ? 1 : std::min(2 * at_once_ + 1, most_at_once);
    stop = leaves_end + std::min(end - leaves_end, at_once_);
    next = decode_each({leaves_end, stop}, convert, window, to);
  }
  const auto taken = static_cast<std::size_t>(next - words.data());
  run.events.resize(before + taken);
  return taken;
}

/// Decodes pairs of an open and its close, up to the first two words that are no pair or are outside the window.
const std::uint64_t* TrackDecoder::decode_leaves(std::span<const std::uint64_t> words, const Window& in_window,
                                                 std::byte*& to) {
  const Window window = in_window;
  const std::size_t depth = depth_;
  const std::uint64_t close = detail::kind_tag(WordKind::close, depth) << detail::tag_shift;
  constexpr std::uint64_t open_bit = std::uint64_t{1} << detail::tag_shift;
  std::int64_t last_ns = last_ns_;
  const std::uint64_t* next = words.data();
  std::byte* at = to;
  for (const std::uint64_t* const end = next + (words.size() & ~std::size_t{1}); next != end; next += 2) {
    const std::uint64_t tag = next[0] & tag_mask;
    const std::uint64_t opened = next[0] - window.start - tag;
    const std::uint64_t closed = next[1] - window.start - close;
    const bool is_open = (tag & open_bit) != 0 && tag != open_bit;
    if (!is_open || (next[1] & tag_mask) != close || opened >= window.end || closed >= window.end) {
      break;
    }
    const std::int64_t open_ns = std::max(window.line.at(opened), last_ns);
    last_ns = std::max(window.line.at(closed), open_ns);
    put(at, open_ns, tag >> (detail::tag_shift + 1), depth);
    put(at + sizeof(ScopeEvent), last_ns, 0, depth);
    at += 2 * sizeof(ScopeEvent);
  }
  last_ns_ = last_ns;
  to = at;
  return next;
}

/// Decodes words one by one, up to the first that neither opens a scope nor closes the innermost one.
const std::uint64_t* TrackDecoder::decode_each(std::span<const std::uint64_t> words, ClockMap::Converter& convert,
                                               Window& in_window, std::byte*& to) {
  OpenScope* const open = open_.data();
  Window window = in_window;
  std::uint64_t depth = depth_;
  std::int64_t last_ns = last_ns_;
  const std::uint64_t* next = words.data();
  std::byte* at = to;
  for (const std::uint64_t* const end = next + words.size(); next != end; ++next) {
    const std::uint64_t word = *next;
    const std::uint64_t tag = detail::tag_of(word);
    const std::uint64_t is_open = tag & 1U;
    const std::uint64_t own_depth = depth - 1 + is_open;
    // For a close of the innermost scope the site becomes 0; for an open it is the site, which is never 0.
    const std::uint64_t site = (tag ^ (detail::kind_tag(WordKind::close, own_depth) & (is_open - 1))) >> 1U;
    if ((site == 0) == (is_open != 0)) {
      break;
    }
    const std::uint64_t offset = word - window.start - (tag << detail::tag_shift);
    std::int64_t time_ns = 0;
    if (offset < window.end) [[likely]] {
      time_ns = window.line.at(offset);
    } else {
      const std::uint64_t count = count_of(word);
      time_ns = convert(count);
      window = Window(convert.line(), count);
    }
    last_ns = std::max(time_ns, last_ns);
    put(at, last_ns, site, own_depth);
    at += sizeof(ScopeEvent);
    open[own_depth] = {last_ns, SiteId{static_cast<std::uint32_t>(site)}};  // for a close: the entry is unused
    depth = own_depth + is_open;
  }
  in_window = window;
  last_ns_ = last_ns;
  depth_ = static_cast<std::size_t>(depth);
  to = at;
  return next;
}

std::size_t TrackDecoder::decode(std::span<const std::uint64_t> words, EventBatch& batch, DecodeContext& context) {
  ClockMap::Converter convert = context.clock.converter();
  ScopeRun& run = run_in(batch);
  if (const std::size_t most = run.events.size() + words.size(); run.events.capacity() < most) {
    run.events.reserve(std::max(most, 2 * run.events.capacity()));
  }
  std::size_t taken = 0;
  bool is_covered = false;
  const auto cover_first = [&](std::int64_t time_ns) {
    if (!is_covered) {
      cover(batch, time_ns);
      is_covered = true;
    }
    return time_ns;
  };
  std::size_t stretch = least_stretch;
  Window window;
  if (!words.empty()) {
    const std::uint64_t count = count_of(words[0]);
    static_cast<void>(convert(count));
    window = Window(convert.line(), count);
  }
  while (taken < words.size()) {
    if (is_far_) [[unlikely]] {
      come_near(words[taken]);
      window = {};
    }
    const auto next = words.subspan(taken, is_far_ ? 1 : std::min(stretch, words.size() - taken));
    const std::size_t scopes = decode_scopes(next, convert, window, run);
    taken += scopes;
    if (scopes != 0) {
      cover_first(run.events[run.events.size() - scopes].time_ns);
    }
    stretch = scopes == next.size() ? std::min(2 * stretch, most_stretch) : least_stretch;
    if (scopes == next.size()) {
      continue;
    }
    const std::uint64_t tag = detail::tag_of(words[taken]);
    const std::uint64_t counter = count_of(words[taken]);
    if ((tag & 1U) != 0) {
      break;
    }
    if (kind_of(tag) == WordKind::close) {
      close(static_cast<std::uint32_t>(tag >> 2U), cover_first(monotone(convert(counter))), 0, run);
      ++taken;
      continue;
    }
    std::size_t size = 0;
    const auto rest = words.subspan(taken);
    if (kind_of(tag) == WordKind::argument) {
      size = decode_argument(rest, batch, run);
    } else if (kind_of(tag) == WordKind::event) {
      size = decode_event(rest, cover_first(monotone(convert(counter))), batch, context);
    }
    if (size == 0) {
      break;
    }
    taken += size;
  }
  sequence_ += taken;
  run.end_sequence = sequence_;
  if (taken > 0) {
    cover(batch, last_ns_);
  }
  return taken;
}

std::size_t TrackDecoder::read_argument(std::span<const std::uint64_t> words, ArgumentValue& argument,
                                        std::string& text) {
  const std::uint64_t operand = operand_of(detail::tag_of(words[0]));
  const std::uint64_t type = operand & 7U;
  if (type > static_cast<std::uint64_t>(ArgumentType::string)) {
    return 0;
  }
  argument.name = NameId{static_cast<std::uint32_t>(words[0])};
  argument.type = static_cast<ArgumentType>(type);
  if (argument.type != ArgumentType::string) {
    if (words.size() < 2) {
      return 0;
    }
    argument.bits = words[1];
    return 2;
  }
  const auto size = static_cast<std::size_t>(operand >> 4U);
  if (words.size() < 1 + words_for(size)) {
    return 0;
  }
  argument.is_cut = (operand & 8U) != 0;
  argument.text_size = static_cast<std::uint32_t>(size);
  argument.bits = append_text(text, words.data() + 1, size);
  return 1 + words_for(size);
}

std::size_t TrackDecoder::decode_argument(std::span<const std::uint64_t> words, EventBatch& batch, ScopeRun& run) {
  ArgumentValue value;
  const std::size_t size = read_argument(words, value, batch.text);
  if (size != 0 && depth_ != 0) {
    run.arguments.push_back({static_cast<std::uint32_t>(run.events.size()), value});
  }
  return size;
}

}  // namespace kymo::record
