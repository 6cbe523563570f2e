// The bytes of a summary's payload (docs/format.md, "Summaries"): sections, each u8 id, varint length, bytes.
#include <algorithm>
#include <utility>

#include "base/order.hpp"
#include "capture/format/bytes.hpp"
#include "capture/summary/summary.hpp"

namespace kymo::capture {

namespace {

enum class Section : std::uint8_t {
  range = 1,
  sites = 2,
  span_names = 3,
  frame_streams = 4,
  metrics = 5,
  tracks = 6,
  coverage = 7,
  states = 8,
};

// Limit for the heap memory of a summary's histograms: 800,000 touched pages. A program with ten thousand busy sites
// takes far less, and a forged payload cannot exhaust a machine.
constexpr std::size_t histogram_heap_limit = std::size_t{256} << 20U;

void append_signed(ByteBuffer& out, std::int64_t value) {
  out.append_varint(zigzag(static_cast<std::uint64_t>(value)));
}

std::int64_t read_signed(ByteCursor& in) {
  return static_cast<std::int64_t>(unzigzag(in.varint()));
}

void append_float(ByteBuffer& out, double value) {
  store(out.reserve(sizeof value), value);
  out.commit(sizeof value);
}

double read_float(ByteCursor& in) {
  return load<double>(in.take(sizeof(double)).data());
}

void append_section(ByteBuffer& out, Section section, const ByteBuffer& bytes) {
  out.append_u8(static_cast<std::uint8_t>(section));
  out.append_varint(bytes.size());
  out.append(bytes.bytes());
}

/// Appends a section with the non-empty entries of a table, by ascending id; nothing if all are empty. Its content:
/// varint number of entries, then per entry varint id minus the one before, and the bytes from append_entry(bytes,
/// entry).
template <typename Entry, typename AppendEntry>
void append_table(ByteBuffer& out, Section section, const KeyedTable<Entry>& table, AppendEntry&& append_entry) {
  std::vector<base::Ordered> order;
  std::size_t place = 0;
  for (const Entry& entry : table) {
    if (!entry.empty()) {
      order.push_back({entry.id.value(), place});
    }
    ++place;
  }
  if (order.empty()) {
    return;
  }
  base::put_in_order(order);
  ByteBuffer bytes;
  bytes.append_varint(order.size());
  std::uint64_t before = 0;
  for (const base::Ordered& next : order) {
    bytes.append_varint(next.key - std::exchange(before, next.key));
    append_entry(bytes, table.begin()[static_cast<std::ptrdiff_t>(next.place)]);
  }
  append_section(out, section, bytes);
}

template <typename Entry, typename ReadEntry>
void read_table(ByteCursor in, KeyedTable<Entry>& table, ReadEntry&& read_entry) {
  const std::uint64_t count = in.varint();
  if (count > most_summary_entries) {
    throw DecodeError("a table of a summary is too long");
  }
  std::uint64_t id = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t step = in.varint();
    if (i > 0 && step == 0) {
      throw DecodeError("a summary names an id twice");
    }
    id += narrow<std::uint32_t>(step);
    read_entry(in, table[narrow<typename KeyedTable<Entry>::Key>(id)]);
  }
}

/// Nothing if it is empty.
void append_coverage(ByteBuffer& out, Section section, const Coverage& coverage) {
  if (!coverage.empty()) {
    ByteBuffer bytes;
    coverage.append_to(bytes);
    append_section(out, section, bytes);
  }
}

void append_range(ByteBuffer& out, const Summary& summary) {
  ByteBuffer bytes;
  bytes.append_u8(summary.level);
  append_signed(bytes, summary.start_ns);
  bytes.append_varint(static_cast<std::uint64_t>(summary.end_ns) - static_cast<std::uint64_t>(summary.start_ns));
  bytes.append_varint(summary.first_block);
  bytes.append_varint(summary.last_block - summary.first_block);
  bytes.append_varint(summary.blocks);
  bytes.append_varint(summary.scope_events);
  append_section(out, Section::range, bytes);
}

void read_range(ByteCursor in, Summary& summary) {
  summary.level = in.u8();
  summary.start_ns = read_signed(in);
  summary.end_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(summary.start_ns) + in.varint());
  summary.first_block = narrow<std::uint32_t>(in.varint());
  summary.last_block = narrow<std::uint32_t>(summary.first_block + std::uint64_t{narrow<std::uint32_t>(in.varint())});
  summary.blocks = in.varint();
  summary.scope_events = in.varint();
  if (summary.end_ns < summary.start_ns || summary.blocks == 0) {
    throw DecodeError("a summary covers nothing");
  }
}

void append_site(ByteBuffer& out, const SiteSummary& site) {
  out.append_varint(site.self_ns);
  out.append_varint(site.unbalanced);
  out.append_varint(site.self_is_bound);
  site.durations.append_to(out);
}

void append_span_name(ByteBuffer& out, const SpanNameSummary& name) {
  name.durations.append_to(out);
}

void append_frame_stream(ByteBuffer& out, const FrameStreamSummary& stream) {
  out.append_varint(stream.marks);
  append_signed(out, stream.last_mark_ns);
  stream.frame_times.append_to(out);
}

void append_metric(ByteBuffer& out, const MetricSummary& metric) {
  out.append_varint(metric.count);
  append_signed(out, metric.first_ns);
  append_signed(out, metric.last_ns);
  for (const double value : {metric.min, metric.max, metric.sum, metric.first, metric.last}) {
    append_float(out, value);
  }
}

void read_metric(ByteCursor& in, MetricSummary& metric) {
  metric.count = in.varint();
  metric.first_ns = read_signed(in);
  metric.last_ns = read_signed(in);
  for (double* const value : {&metric.min, &metric.max, &metric.sum, &metric.first, &metric.last}) {
    *value = read_float(in);
  }
}

void append_track(ByteBuffer& out, const TrackSummary& track) {
  out.append_varint(track.dropped_scopes);
  out.append_varint(track.dropped_others);
  out.append_varint(track.next_sequence);
  out.append_varint(track.open.size());
  for (const ScopeStack::Level& open : track.open) {
    out.append_varint(open.site.value());
    append_signed(out, open.start_ns);
    out.append_varint(open.inner_ns);
    out.append_u8((open.flags & ScopeSpan::self_is_bound) != 0 ? 1 : 0);
  }
}

void read_track(ByteCursor& in, TrackSummary& track) {
  track.dropped_scopes = in.varint();
  track.dropped_others = in.varint();
  track.next_sequence = in.varint();
  const std::uint64_t open = in.varint();
  for (std::uint64_t i = 0; i < open; ++i) {
    ScopeStack::Level level;
    level.site = narrow<SiteId>(in.varint());
    level.start_ns = read_signed(in);
    level.inner_ns = in.varint();
    level.flags = in.u8() != 0 ? ScopeSpan::self_is_bound : std::uint16_t{0};
    track.open.push_back(level);
  }
}

}  // namespace

bool fits_in_a_block(const Summary& summary) {
  std::size_t heap_bytes = 0;
  for (const SiteSummary& site : summary.sites) {
    heap_bytes += site.durations.heap_bytes();
  }
  for (const SpanNameSummary& name : summary.span_names) {
    heap_bytes += name.durations.heap_bytes();
  }
  const std::size_t longest = std::max({summary.sites.size(), summary.span_names.size(), summary.frame_streams.size(),
                                        summary.metrics.size(), summary.tracks.size()});
  return longest <= most_summary_entries && heap_bytes <= histogram_heap_limit / 4;
}

void encode_summary(const Summary& summary, ByteBuffer& out) {
  append_range(out, summary);
  append_table(out, Section::sites, summary.sites, append_site);
  append_table(out, Section::span_names, summary.span_names, append_span_name);
  append_table(out, Section::frame_streams, summary.frame_streams, append_frame_stream);
  append_table(out, Section::metrics, summary.metrics, append_metric);
  append_table(out, Section::tracks, summary.tracks, append_track);
  append_coverage(out, Section::coverage, summary.coverage);
  append_coverage(out, Section::states, summary.states);
}

Summary decode_summary(std::span<const std::byte> payload, SummaryParts parts) {
  Summary summary;
  // Histograms have a memory limit that also depends on the payload's size: one of two durations takes six bytes of
  // payload and 2 KB of memory.
  const std::size_t limit = std::min(histogram_heap_limit, (std::size_t{8} << 20U) + 512 * payload.size());
  std::size_t heap_bytes = 0;
  const auto read_histogram = [&](ByteCursor& entry, Histogram& histogram) {
    histogram = Histogram::read_from(entry);
    heap_bytes += histogram.heap_bytes();
    if (heap_bytes > limit) {
      throw DecodeError("the histograms of a summary need too much memory");
    }
  };
  ByteCursor in(payload);
  while (!in.at_end()) {
    const auto section = static_cast<Section>(in.u8());
    ByteCursor bytes(in.take(in.varint()));
    if (section == Section::range) {
      read_range(bytes, summary);
    } else if (section == Section::coverage && parts.coverage) {
      summary.coverage = Coverage::read_from(bytes);
    } else if (section == Section::states && parts.coverage) {
      summary.states = Coverage::read_from(bytes);
    } else if (section == Section::sites && parts.durations) {
      read_table(bytes, summary.sites, [&](ByteCursor& entry, SiteSummary& site) {
        site.self_ns = entry.varint();
        site.unbalanced = entry.varint();
        site.self_is_bound = entry.varint();
        read_histogram(entry, site.durations);
      });
    } else if (section == Section::span_names && parts.durations) {
      read_table(bytes, summary.span_names,
                 [&](ByteCursor& entry, SpanNameSummary& name) { read_histogram(entry, name.durations); });
    } else if (section == Section::frame_streams && parts.tables) {
      read_table(bytes, summary.frame_streams, [&](ByteCursor& entry, FrameStreamSummary& stream) {
        stream.marks = entry.varint();
        stream.last_mark_ns = read_signed(entry);
        read_histogram(entry, stream.frame_times);
      });
    } else if (section == Section::metrics && parts.tables) {
      read_table(bytes, summary.metrics, read_metric);
    } else if (section == Section::tracks && parts.tables) {
      read_table(bytes, summary.tracks, read_track);
    }
  }
  if (summary.blocks == 0) {
    throw DecodeError("a summary does not say what it covers");
  }
  return summary;
}

}  // namespace kymo::capture
