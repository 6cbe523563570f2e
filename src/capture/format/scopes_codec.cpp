#include "capture/format/scopes_codec.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "capture/format/row_columns.hpp"

namespace kymo::capture {
namespace {

namespace columns {
constexpr std::uint8_t facts = 1;
constexpr std::uint8_t open_sites = 2;
constexpr std::uint8_t open_starts = 3;
constexpr std::uint8_t opens = 4;
constexpr std::uint8_t open_deltas = 5;
constexpr std::uint8_t close_deltas = 6;
constexpr std::uint8_t sites = 7;
constexpr std::uint8_t odd_events = 8;
constexpr std::uint8_t odd_depths = 9;
constexpr std::uint8_t odd_flags = 10;
constexpr std::uint8_t positions = 11;
constexpr std::uint8_t arguments = 12;
}  // namespace columns

// Supplies a column's values to the events, 64 ahead.
class Supply {
 public:
  explicit Supply(NumberCursor cursor) : cursor_(cursor) {}

  // Ensures 64 values from at() on, or all that are left.
  void refill() {
    if (end_ - begin_ < group_size && cursor_.remaining() > 0) {
      std::copy(values_.begin() + static_cast<std::ptrdiff_t>(begin_),
                values_.begin() + static_cast<std::ptrdiff_t>(end_), values_.begin());
      end_ -= begin_;
      begin_ = 0;
      end_ += cursor_.next(values_.data() + end_);
    }
  }
  [[nodiscard]] const std::uint64_t* at() const { return values_.data() + begin_; }
  void advance(std::size_t count) { begin_ += count; }

 private:
  NumberCursor cursor_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<std::uint64_t, (2 * group_size) + 1> values_{};
};

// Layout of the second half of an event's 16 bytes.
static_assert(sizeof(ScopeEvent) == 16 && offsetof(ScopeEvent, time_ns) == 0 && offsetof(ScopeEvent, site) == 8 &&
              offsetof(ScopeEvent, depth) == 12 && offsetof(ScopeEvent, flags) == 14);

std::uint64_t reverse_bits(std::uint64_t bits) {
  bits = ((bits >> 1U) & 0x5555555555555555U) | ((bits & 0x5555555555555555U) << 1U);
  bits = ((bits >> 2U) & 0x3333333333333333U) | ((bits & 0x3333333333333333U) << 2U);
  bits = ((bits >> 4U) & 0x0F0F0F0F0F0F0F0FU) | ((bits & 0x0F0F0F0F0F0F0F0FU) << 4U);
  return __builtin_bswap64(bits);
}

// Destinations of a group of events: each lane has room for all of them and one more.
struct Lanes {
  std::uint64_t* open_deltas;
  std::uint64_t* close_deltas;
  std::uint64_t* sites;
};

struct Split {
  std::size_t opens = 0;
  std::uint64_t bits = 0;
  bool has_odd = false;
};

// Splits the leading scopes without inner scopes of a group of up to 64 events; returns their number.
[[gnu::noinline]] std::size_t split_leaves(std::span<const ScopeEvent> events, std::uint64_t& previous_ns,
                                           std::uint32_t depth, const Lanes& to) {
  const Lanes lanes = to;
  std::uint64_t previous = previous_ns;
  const std::uint64_t place = std::uint64_t{depth} << 32U;
  const std::size_t pairs = events.size() / 2;
  std::size_t taken = 0;
  for (; taken < pairs; ++taken) {
    std::uint64_t words[4];
    std::memcpy(words, &events[2 * taken], sizeof words);
    const std::uint64_t site = words[1] ^ place;
    if (site - 1 >= std::numeric_limits<std::uint32_t>::max() || words[3] != place) {
      break;
    }
    lanes.open_deltas[taken] = words[0] - previous;
    lanes.close_deltas[taken] = words[2] - words[0];
    lanes.sites[taken] = site;
    previous = words[2];
  }
  previous_ns = previous;
  return taken;
}

// Splits 1 to 64 events into lanes. Branch-free in the kind of event: every lane is written, one advances. Not inlined:
// inside its caller the loop runs out of registers.
[[gnu::noinline]] Split split_events(std::span<const ScopeEvent> events, std::uint64_t& previous_ns,
                                     std::uint32_t& depth, const Lanes& to) {
  // If a run begins with a close, its pairs begin behind it.
  const std::size_t closes = events[0].is_open() ? 0 : 1;
  std::uint64_t previous = previous_ns;
  std::uint64_t depth_before = depth;
  std::uint64_t odd = 0;
  if (closes != 0) {
    const auto time_ns = static_cast<std::uint64_t>(events[0].time_ns);
    to.close_deltas[0] = time_ns - previous;
    previous = time_ns;
    odd = (depth_before - 1) ^ (std::uint64_t{events[0].depth} | std::uint64_t{events[0].flags} << 16U);
    depth_before = events[0].depth;
  }
  const Lanes lanes = {to.open_deltas, to.close_deltas + closes, to.sites};
  const auto behind = events.subspan(closes);
  const std::size_t leaves = split_leaves(behind, previous, static_cast<std::uint32_t>(depth_before), lanes);
  // The first event is in the highest bit.
  std::uint64_t bits = leaves == 0 ? 0 : 0xAAAAAAAAAAAAAAAAU >> (group_size - 2 * leaves);
  std::size_t opens = leaves;
  for (std::size_t i = 2 * leaves; i < behind.size(); ++i) {
    std::uint64_t words[2];
    std::memcpy(words, &behind[i], sizeof words);
    const std::uint64_t delta = words[0] - previous;
    previous = words[0];
    const auto site = static_cast<std::uint32_t>(words[1]);
    const std::size_t is_open = site != 0 ? 1 : 0;
    lanes.open_deltas[opens] = delta;
    lanes.close_deltas[i - opens] = delta;
    lanes.sites[opens] = site;
    opens += is_open;
    bits = 2 * bits + is_open;
    const std::uint64_t depth_and_flags = words[1] >> 32U;
    odd |= (depth_before + is_open - 1) ^ depth_and_flags;
    depth_before = depth_and_flags + is_open;
  }
  previous_ns = previous;
  depth = events.back().depth + static_cast<std::uint32_t>(events.back().is_open());
  return {opens, reverse_bits(bits) >> (group_size - events.size()), odd != 0};
}

}  // namespace

void ScopesEncoder::note_odd_events(const ScopeRun& run, std::size_t begin, std::size_t end, std::uint32_t depth) {
  for (std::size_t i = begin; i < end; ++i) {
    const ScopeEvent& event = run.events[i];
    const std::uint32_t implied = depth - (event.is_open() ? 0U : 1U);
    if (implied != event.depth || event.flags != 0) {
      odd_events_.push_back(i);
      odd_depths_.push_back(event.depth);
      odd_flags_.push_back(event.flags);
    }
    depth = std::uint32_t{event.depth} + (event.is_open() ? 1U : 0U);
  }
}

void ScopesEncoder::encode_events(const ScopeRun& run, std::int64_t block_start_ns) {
  std::uint64_t previous = static_cast<std::uint64_t>(block_start_ns);
  auto depth = static_cast<std::uint32_t>(run.open_at_start.size());
  const std::size_t count = run.events.size();
  for (std::size_t begin = 0; begin < count; begin += group_size) {
    const std::size_t end = std::min(begin + group_size, count);
    const std::uint32_t depth_before = depth;
    const Split split = split_events(std::span(run.events).subspan(begin, end - begin), previous, depth,
                                     {open_deltas_.tail(), close_deltas_.tail(), sites_.tail()});
    if (split.has_odd) {
      note_odd_events(run, begin, end, depth_before);
    }
    open_deltas_.advance(split.opens);
    sites_.advance(split.opens);
    close_deltas_.advance(end - begin - split.opens);
    store(bits_.reserve(8), split.bits);
    bits_.commit((end - begin + 7) / 8);
  }
}

void ScopesEncoder::encode(const ScopeRun& run, std::int64_t block_start_ns, TableWriter& table) {
  open_deltas_.clear();
  close_deltas_.clear();
  sites_.clear();
  bits_.clear();
  odd_events_.clear();
  odd_depths_.clear();
  odd_flags_.clear();
  encode_events(run, block_start_ns);
  open_deltas_.finish();
  close_deltas_.finish();
  sites_.finish();

  table.begin(TableId::scopes, run.track.value());
  auto& values = table.values();
  values.assign({run.events.size(), run.first_sequence, run.end_sequence - run.first_sequence, run.dropped_scopes,
                 run.dropped_others});
  table.numbers(columns::facts, plain, values);
  values.clear();
  for (const OpenScope& scope : run.open_at_start) {
    values.push_back(scope.site.value());
  }
  if (!values.empty()) {
    table.counted_numbers(columns::open_sites, plain, values);
  }
  table.field(columns::open_starts, wandering, run.open_at_start,
              [&](const OpenScope& scope) { return Origin(block_start_ns).relative(scope.start_ns); });
  if (!run.events.empty()) {
    table.column(columns::opens, {Storage::bits}, run.events.size(), bits_.bytes());
  }
  table.lane(columns::open_deltas, open_deltas_);
  table.lane(columns::close_deltas, close_deltas_);
  table.lane(columns::sites, sites_);
  if (!odd_events_.empty()) {
    table.counted_numbers(columns::odd_events, ascending, odd_events_);
    table.numbers(columns::odd_depths, plain, odd_depths_);
    table.numbers(columns::odd_flags, plain, odd_flags_);
  }
  if (!run.arguments.empty()) {
    table.field(columns::positions, ascending, run.arguments,
                [](const ScopeArgument& argument) { return argument.position; });
    arguments_.clear();
    for (const ScopeArgument& argument : run.arguments) {
      arguments_.add(argument.value);
    }
    arguments_.put(table, columns::arguments);
  }
  table.end();
}

namespace {

// Depths and flags that differ from the implied ones, filled in after the others.
class OddEvents {
 public:
  explicit OddEvents(const TableView& table)
      : count_(table.count(columns::odd_events)),
        events_(table.numbers(columns::odd_events, count_)),
        depths_(table.numbers(columns::odd_depths, count_)),
        flags_(table.numbers(columns::odd_flags, count_)) {
    step();
  }
  // The index of the next one; beyond all events if there is none.
  [[nodiscard]] std::uint64_t next() const { return next_; }

  void apply(ScopeEvent& event) {
    event.depth = narrow<std::uint16_t>(depths_.next());
    event.flags = narrow<std::uint16_t>(flags_.next());
    const std::uint64_t before = next_;
    step();
    if (next_ <= before) {
      throw DecodeError("the odd events of a run are out of order");
    }
  }

 private:
  void step() { next_ = events_.at_end() ? std::uint64_t{0} - 1 : events_.next(); }

  std::uint64_t count_;
  NumberStream events_;
  NumberStream depths_;
  NumberStream flags_;
  std::uint64_t next_ = 0;
};

std::size_t count_ones(std::span<const std::byte> bits, std::uint64_t count) {
  std::size_t ones = 0;
  for (const std::byte byte : bits) {
    ones += static_cast<std::size_t>(__builtin_popcount(std::to_integer<unsigned>(byte)));
  }
  if (count % 8 != 0) {
    ones -= static_cast<std::size_t>(__builtin_popcount(std::to_integer<unsigned>(bits.back()) >> (count % 8)));
  }
  return ones;
}

void decode_events(const TableView& table, std::uint64_t count, std::int64_t block_start_ns, ScopeRun& run) {
  const ColumnView* const bits = table.find(columns::opens);
  const auto require = [](bool holds) {
    if (!holds) {
      throw DecodeError("the events of a run do not fit the number of its opens and closes");
    }
  };
  require(bits != nullptr ? bits->count == count && Encoding::of(bits->encoding).storage == Storage::bits : count == 0);
  if (count == 0) {
    run.events.clear();
    return;
  }
  const std::size_t open_count = count_ones(bits->bytes, count);
  Supply open_deltas(table.numbers(columns::open_deltas, open_count));
  Supply close_deltas(table.numbers(columns::close_deltas, count - open_count));
  Supply sites(table.numbers(columns::sites, open_count));
  OddEvents odd(table);

  run.events.resize(static_cast<std::size_t>(count));
  auto time = static_cast<std::uint64_t>(block_start_ns);
  auto depth = static_cast<std::uint32_t>(run.open_at_start.size());
  std::uint64_t site_bits = 0;
  bool every_open_has_a_site = true;
  for (std::size_t begin = 0; begin < count; begin += group_size) {
    const std::size_t end = static_cast<std::size_t>(std::min<std::uint64_t>(begin + group_size, count));
    open_deltas.refill();
    close_deltas.refill();
    sites.refill();
    const std::uint64_t* const open_delta = open_deltas.at();
    const std::uint64_t* const close_delta = close_deltas.at();
    const std::uint64_t* const site = sites.at();
    const std::uint64_t word = load<std::uint64_t>(bits->bytes.data() + begin / 8);
    std::size_t opens = 0;
    // Runs between odd events, mostly all 64 at once.
    for (std::size_t i = begin; i < end;) {
      const std::size_t stop = static_cast<std::size_t>(std::min<std::uint64_t>(end, odd.next()));
      for (; i < stop; ++i) {
        ScopeEvent& event = run.events[i];
        const std::uint64_t is_open = (word >> (i - begin)) & 1U;
        const std::uint64_t mask = std::uint64_t{0} - is_open;
        const std::uint64_t on_close = close_delta[i - begin - opens];
        time += on_close ^ ((on_close ^ open_delta[opens]) & mask);
        const std::uint64_t id = site[opens] & mask;
        site_bits |= id;
        every_open_has_a_site &= (id != 0) == (is_open != 0);
        opens += is_open;
        depth += static_cast<std::uint32_t>(is_open) - 1U;
        event.time_ns = static_cast<std::int64_t>(time);
        event.site = SiteId{static_cast<std::uint32_t>(id)};
        event.depth = static_cast<std::uint16_t>(depth);
        event.flags = 0;
        depth += static_cast<std::uint32_t>(is_open);
      }
      if (i < end) {
        ScopeEvent& event = run.events[i];
        const std::uint64_t is_open = (word >> (i - begin)) & 1U;
        time += is_open != 0 ? open_delta[opens] : close_delta[i - begin - opens];
        event.time_ns = static_cast<std::int64_t>(time);
        event.site = is_open != 0 ? narrow<SiteId>(site[opens]) : SiteId{};
        every_open_has_a_site &= (event.site != SiteId{}) == (is_open != 0);
        opens += is_open;
        odd.apply(event);
        depth = event.depth + static_cast<std::uint32_t>(is_open);
        ++i;
      }
    }
    open_deltas.advance(opens);
    sites.advance(opens);
    close_deltas.advance(end - begin - opens);
  }
  require(every_open_has_a_site);
  static_cast<void>(narrow<SiteId>(site_bits));
}

}  // namespace

void decode_scopes(const TableView& table, std::int64_t block_start_ns, bool with_events, ScopeRun& run) {
  const auto facts = table.first_values<5>(columns::facts);
  run.track = narrow<TrackId>(table.key());
  run.first_sequence = facts[1];
  run.end_sequence = facts[1] + facts[2];
  run.dropped_scopes = facts[3];
  run.dropped_others = facts[4];

  const std::uint64_t open_count = table.count(columns::open_sites);
  run.open_at_start.resize(static_cast<std::size_t>(open_count));
  table.field(columns::open_sites, open_count,
              [&](std::size_t i, std::uint64_t value) { run.open_at_start[i].site = narrow<SiteId>(value); });
  table.field(columns::open_starts, open_count, [&](std::size_t i, std::uint64_t value) {
    run.open_at_start[i].start_ns = Origin(block_start_ns).absolute(value);
  });
  if (!with_events) {
    run.events.clear();
    run.arguments.clear();
    return;
  }
  decode_events(table, facts[0], block_start_ns, run);
  const std::uint64_t argument_count = table.count(columns::arguments);
  run.arguments.resize(static_cast<std::size_t>(argument_count));
  decode_arguments(table, columns::arguments,
                   [&](std::size_t i, const ArgumentValue& value) { run.arguments[i].value = value; });
  table.field(columns::positions, argument_count, [&](std::size_t i, std::uint64_t value) {
    if (value > facts[0]) {
      throw DecodeError("an argument stands behind the last event of its run");
    }
    run.arguments[i].position = static_cast<std::uint32_t>(value);
  });
}

}  // namespace kymo::capture
