#include "capture/capture_writer.hpp"

#include <algorithm>
#include <optional>

#include "capture/crc32c.hpp"
#include "capture/declarations_codec.hpp"
#include "capture/order.hpp"

namespace kymo::capture {
namespace {

// Smaller payloads are stored as they are: compression gains a few bytes and costs the reader a call.
constexpr std::size_t least_to_compress = 64;

bool has_events(const EventBatch& batch) {
  return !(batch.runs.empty() && batch.spans.empty() && batch.async_begins.empty() && batch.frame_marks.empty() &&
           batch.samples.empty() && batch.messages.empty() && batch.flows.empty() && batch.sync_points.empty() &&
           batch.track_ends.empty() && batch.clock_anchors.empty() && batch.clock_uncertainties.empty());
}

void require_size(std::size_t raw_size) {
  if (raw_size > max_payload_size) {
    throw std::length_error("a batch is too large for one block of a capture: hand over less at a time");
  }
}

}  // namespace

CaptureWriter::CaptureWriter(std::unique_ptr<BlockDestination> destination, CaptureWriterOptions options)
    : destination_(std::move(destination)),
      codec_(options.codec ? std::move(options.codec) : make_lz4_codec()),
      header_(std::move(options.header)),
      encoder_(codec_->packing()),
      ring_(std::move(options.ring)),
      sync_period_(options.sync_period),
      last_sync_(std::chrono::steady_clock::now()) {
  if (options.with_summaries && !ring_) {
    summaries_.emplace(options.summary_intervals);
  }
  declarations_.add(options.declarations);
  const auto preamble = encode_preamble();
  destination_->append(preamble);
  bytes_written_.store(preamble.size(), std::memory_order_relaxed);
  put_header();
  append_pending();
}

CaptureWriter::CaptureWriter(const std::string& path, CaptureWriterOptions options)
    : CaptureWriter(std::make_unique<FileDestination>(path), std::move(options)) {}

CaptureWriter::~CaptureWriter() = default;

void CaptureWriter::write(const EventBatch& batch) {
  if (is_done_) {
    return;
  }
  // First what can fail without a trace: a batch that is too large leaves the writer as it was.
  events_raw_.clear();
  if (has_events(batch)) {
    encoder_.encode(batch, events_raw_);
    require_size(events_raw_.size());
  }
  try {
    put_declarations(batch.declarations, batch.start_ns);
    declarations_.add(batch.declarations);
    if (events_raw_.size() > 0) {
      const std::uint32_t number = next_number_;
      put_events(batch);
      if (!ring_) {
        count_totals(batch);
      }
      last_time_ns_ = std::max(last_time_ns_, batch.end_ns);
      if (summaries_) {
        put_summaries(summaries_->add(batch, number));
      }
    }
    append_pending();
    sync_when_due();
  } catch (...) {
    is_done_ = true;
    throw;
  }
}

void CaptureWriter::sync_when_due() {
  if (sync_period_.count() == 0) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sync_ >= sync_period_) {
    destination_->sync();
    last_sync_ = now;
  }
}

void CaptureWriter::finish() {
  if (is_done_) {
    return;
  }
  write_held();
  ring_.reset();
  is_done_ = true;
  if (summaries_) {
    put_summaries(summaries_->finish());
  }
  const std::uint64_t all_declarations = bytes_written() + pending_.size();
  put_declarations(declarations_.all(), last_time_ns_);
  put_end();
  append_pending();
  put_index(all_declarations);
  const auto trailer = encode_trailer(bytes_written());
  pending_.append(trailer);
  append_pending();
  if (sync_period_.count() > 0) {
    destination_->sync();
  }
}

void CaptureWriter::set_closing_fact(std::string_view key, std::uint64_t value) {
  for (auto& [known_key, known_value] : closing_facts_) {
    if (known_key == key) {
      known_value = value;
      return;
    }
  }
  closing_facts_.emplace_back(key, value);
}

void CaptureWriter::put_header() {
  for_each_piece(declarations_.all(), [&](const Declarations& piece) {
    raw_.clear();
    TableWriter table(raw_, codec_->packing());
    BlockFacts facts;
    facts.kind = next_number_ == 0 ? BlockKind::header : BlockKind::declarations;
    if (facts.kind == BlockKind::header) {
      encode_capture_header(header_, table);
    }
    encode_declarations(piece, table);
    put_block(facts, raw_.bytes());
  });
}

void CaptureWriter::put_declarations(const Declarations& declarations, std::int64_t time_ns) {
  if (declarations.empty()) {
    return;
  }
  for_each_piece(declarations, [&](const Declarations& piece) {
    raw_.clear();
    TableWriter table(raw_, codec_->packing());
    encode_declarations(piece, table);
    BlockFacts facts;
    facts.kind = BlockKind::declarations;
    facts.start_ns = time_ns;
    facts.end_ns = time_ns;
    put_block(facts, raw_.bytes());
  });
}

void CaptureWriter::put_events(const EventBatch& batch) {
  BlockFacts facts;
  facts.start_ns = batch.start_ns;
  facts.end_ns = batch.end_ns;
  for (const ScopeRun& run : batch.runs) {
    facts.scope_events += static_cast<std::uint32_t>(run.events.size());
  }
  if (!ring_) {
    put_block(facts, events_raw_.bytes(), encoder_.cuts());
    return;
  }
  held_.clear();
  code_block(facts, events_raw_.bytes(), encoder_.cuts(), held_);
  ring_->push(held_.bytes());
}

void CaptureWriter::write_held() {
  if (!ring_ || is_done_) {
    return;
  }
  try {
    ring_->take_all([this](std::span<const std::byte> block) {
      std::optional<BlockHeader> header = parse_header(block);
      if (!header) {
        return;
      }
      // Numbers count the blocks of the file, in which this one stands only now.
      header->number = next_number_++;
      const std::uint64_t offset = bytes_written() + pending_.size();
      const std::size_t at = pending_.size();
      pending_.append(block);
      encode_header(*header, std::span<std::byte, block_header_size>(pending_.data() + at, block_header_size));
      list_block(*header, offset);
      append_pending();
    });
  } catch (...) {
    is_done_ = true;
    throw;
  }
}

void CaptureWriter::put_summaries(const std::vector<FinishedSummary>& summaries) {
  for (const FinishedSummary& summary : summaries) {
    BlockFacts facts;
    facts.kind = BlockKind::summary;
    facts.level = summary.level;
    facts.start_ns = summary.start_ns;
    facts.end_ns = summary.end_ns;
    facts.scope_events = static_cast<std::uint32_t>(std::min<std::uint64_t>(summary.scope_events, UINT32_MAX));
    put_block(facts, summary.payload);
  }
}

void CaptureWriter::put_end() {
  CaptureEnd end;
  end.facts = closing_facts_;
  std::vector<Ordered> order;
  for (const auto& [track, totals] : totals_) {
    order.push_back({track, 0});
  }
  put_in_order(order);
  for (const Ordered& next : order) {
    end.tracks.push_back(totals_.at(static_cast<TrackId>(next.key)));
  }
  raw_.clear();
  TableWriter table(raw_, codec_->packing());
  encode_capture_end(end, table);
  BlockFacts facts;
  facts.kind = BlockKind::end;
  facts.start_ns = last_time_ns_;
  facts.end_ns = last_time_ns_;
  put_block(facts, raw_.bytes());
}

void CaptureWriter::put_index(std::uint64_t all_declarations) {
  index_.all_declarations = all_declarations;
  raw_.clear();
  TableWriter table(raw_, codec_->packing());
  encode_index(index_, table);
  // This block is the first that the next index lists.
  index_.previous_index = bytes_written() + pending_.size();
  index_.blocks.clear();
  BlockFacts facts;
  facts.kind = BlockKind::index;
  put_block(facts, raw_.bytes());
}

void CaptureWriter::put_block(const BlockFacts& facts, std::span<const std::byte> raw,
                              std::span<const std::size_t> cuts) {
  const std::uint64_t offset = bytes_written() + pending_.size();
  const BlockHeader header = code_block(facts, raw, cuts, pending_);
  ++next_number_;
  list_block(header, offset);
}

BlockHeader CaptureWriter::code_block(const BlockFacts& facts, std::span<const std::byte> raw,
                                      std::span<const std::size_t> cuts, ByteBuffer& out) {
  require_size(raw.size());
  const std::size_t header_at = out.size();
  static_cast<void>(out.reserve(block_header_size + raw.size()));
  out.commit(block_header_size);
  std::size_t stored_size = raw.size() < least_to_compress ? 0 : codec_->compress(raw, cuts, out);
  BlockHeader header;
  header.codec = codec_->id();
  if (stored_size == 0) {
    header.codec = CodecId::none;
    stored_size = raw.size();
    out.append(raw);
  }
  header.kind = facts.kind;
  header.level = facts.level;
  header.stored_size = static_cast<std::uint32_t>(stored_size);
  header.raw_size = static_cast<std::uint32_t>(raw.size());
  header.payload_crc = crc32c(out.bytes().subspan(header_at + block_header_size));
  header.number = next_number_;
  header.start_ns = facts.start_ns;
  header.end_ns = facts.end_ns;
  header.scope_events = facts.scope_events;
  encode_header(header, std::span<std::byte, block_header_size>(out.data() + header_at, block_header_size));
  return header;
}

void CaptureWriter::list_block(const BlockHeader& header, std::uint64_t offset) {
  index_.blocks.push_back({offset, header.kind, header.level, header.number, header.start_ns, header.end_ns,
                           header.scope_events, header.stored_size, header.raw_size});
  if (index_.blocks.size() == max_index_blocks) {
    // A full page goes out at once, so that the writer's memory does not grow with the file.
    put_index(0);
  }
}

void CaptureWriter::append_pending() {
  if (pending_.size() > 0) {
    destination_->append(pending_.bytes());
    bytes_written_.fetch_add(pending_.size(), std::memory_order_relaxed);
    pending_.clear();
  }
}

void CaptureWriter::count_totals(const EventBatch& batch) {
  for (std::size_t i = 0; i < batch.runs.size(); ++i) {
    const ScopeRun& run = batch.runs[i];
    TrackTotals& totals = totals_[run.track];
    totals.track = run.track;
    totals.recorded_scopes += encoder_.opens()[i];
    totals.dropped_scopes = run.dropped_scopes;
    totals.dropped_others = run.dropped_others;
    totals.end_sequence = std::max(totals.end_sequence, run.end_sequence);
  }
}

}  // namespace kymo::capture
