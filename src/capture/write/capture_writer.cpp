#include "capture/write/capture_writer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/event_lists.hpp"
#include "capture/format/crc32c.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/summary/order.hpp"

namespace kymo::capture {
namespace {

// Smaller payloads are stored uncompressed: compression would save a few bytes and cost the reader a call.
constexpr std::size_t least_to_compress = 64;
// Usually three: declarations, events, a summary.
constexpr std::size_t most_blocks_a_write = 64;

bool has_events(const EventBatch& batch) {
  bool is_any = false;
  base::for_each_list([&is_any](const auto& list) { is_any = is_any || !list.empty(); }, batch);
  return is_any;
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
  // Written with the header: a kill leaves a capture with both, or an empty file.
  pending_.append(encode_preamble());
  put_header();
  append_pending();
}

CaptureWriter::CaptureWriter(const std::string& path, CaptureWriterOptions options)
    : CaptureWriter(std::make_unique<FileDestination>(path), std::move(options)) {}

CaptureWriter::~CaptureWriter() = default;

void CaptureWriter::encode(const EventBatch& batch) {
  events_raw_.clear();
  if (has_events(batch)) {
    encoder_.encode(batch, events_raw_);
    require_size(events_raw_.size());
  }
}

void CaptureWriter::write(const EventBatch& batch) {
  if (is_done_) {
    return;
  }
  // Steps that may fail without side effects come first: a too large batch leaves the writer unchanged.
  encode(batch);
  for (const TrackEnd& end : batch.track_ends) {
    ended_tracks_.add(end.track);
  }
  try {
    write_full_index();
    if (has_unstated_loss_) {
      write_loss(batch.start_ns);
      encode(batch);
    }
    write_encoded(batch);
  } catch (const WriteError&) {
    declarations_.add(batch.declarations);
    owes_declarations_ = true;
    count_unwritten(batch);
    throw;
  }
  write_ended_tracks();
  sync_when_due();
}

void CaptureWriter::write_encoded(const EventBatch& batch) {
  const Mark before = mark();
  std::uint32_t number = 0;
  try {
    if (owes_declarations_) {
      put_declarations(declarations_.all(), batch.start_ns);
    }
    put_declarations(batch.declarations, batch.start_ns);
    number = next_number_;
    if (events_raw_.size() > 0) {
      put_events(batch);
    }
    append_pending();
  } catch (...) {
    roll_back(before);
    throw;
  }
  owes_declarations_ = false;
  declarations_.add(batch.declarations);
  if (events_raw_.size() == 0) {
    return;
  }
  if (!ring_) {
    count_totals(batch);
  }
  last_time_ns_ = std::max(last_time_ns_, batch.end_ns);
  if (summaries_) {
    write_summaries(summaries_->add(batch, number));
  }
}

void CaptureWriter::count_unwritten(const EventBatch& batch) {
  if (ring_) {
    return;  // the ring has it
  }
  const TrackTotals before = unwritten_;
  for (const ScopeRun& run : batch.runs) {
    for (const ScopeEvent& event : run.events) {
      unwritten_.dropped_scopes += event.is_open() ? 1U : 0U;
    }
    unwritten_.dropped_others += run.arguments.size();
    // The track may never repeat this.
    TrackTotals& totals = totals_[run.track];
    totals.track = run.track;
    totals.dropped_scopes = run.dropped_scopes;
    totals.dropped_others = run.dropped_others;
  }
  for (const SampleRun& run : batch.samples) {
    unwritten_.dropped_others += run.values.size();
  }
  unwritten_.dropped_others += batch.spans.size() + batch.async_begins.size() + batch.frame_marks.size() +
                               batch.messages.size() + batch.flows.size() + batch.sync_points.size();
  has_unstated_loss_ = has_unstated_loss_ || unwritten_.dropped_scopes != before.dropped_scopes ||
                       unwritten_.dropped_others != before.dropped_others;
}

void CaptureWriter::write_loss(std::int64_t time_ns) {
  EventBatch loss;
  loss.start_ns = time_ns;
  loss.end_ns = time_ns;
  TrackDeclaration& track = loss.declarations.tracks.emplace_back();
  track.id = unwritten_track;
  track.kind = TrackKind::queue;
  track.name = "(not written: no room in the file)";
  ScopeRun& run = loss.runs.emplace_back();
  run.track = unwritten_track;
  run.dropped_scopes = unwritten_.dropped_scopes;
  run.dropped_others = unwritten_.dropped_others;
  encode(loss);
  write_encoded(loss);
  has_unstated_loss_ = false;
}

std::uint64_t CaptureWriter::dropped_scopes() const {
  std::uint64_t dropped = dropped_by_ended_;
  for (const auto& [id, totals] : totals_) {
    dropped += id == unwritten_track ? 0 : totals.dropped_scopes;
  }
  return dropped;
}

void CaptureWriter::write_ended_tracks() {
  if (!ended_tracks_.are_due(declarations_.all().tracks.size())) {
    return;
  }
  const std::vector<TrackId> ids = ended_tracks_.take();
  Declarations called;
  CaptureEnd totals;
  std::vector<Ordered> order;
  order.reserve(ids.size());
  for (const TrackId id : ids) {
    order.push_back({id.value(), 0});
  }
  put_in_order(order);
  for (const Ordered& next : order) {
    const TrackId id(static_cast<std::uint32_t>(next.key));
    if (const TrackDeclaration* const track = declarations_.find_track(id)) {
      called.tracks.push_back(*track);
    }
    if (const auto found = totals_.find(id); found != totals_.end()) {
      totals.tracks.push_back(found->second);
      dropped_by_ended_ += found->second.dropped_scopes;
      totals_.erase(found);
    }
  }
  const Mark before = mark();
  bool has_totals = !totals.tracks.empty();
  try {
    for_each_piece(called, [&](const Declarations& piece) {
      raw_.clear();
      TableWriter table(raw_, codec_->packing());
      encode_declarations(piece, table);
      if (std::exchange(has_totals, false)) {
        encode_capture_end(totals, table);
      }
      put_block({BlockKind::ended_tracks, 0, last_time_ns_, last_time_ns_, 0}, raw_.bytes());
    });
    append_pending();
  } catch (const WriteError&) {
    roll_back(before);
    for (const TrackId id : ids) {
      ended_tracks_.add(id);
    }
    for (const TrackTotals& track : totals.tracks) {
      totals_[track.track] = track;
    }
    return;
  }
  has_ended_tracks_ = true;
  declarations_.forget_tracks(ids);
}

CaptureWriter::Mark CaptureWriter::mark() {
  can_roll_back_ = true;
  return {next_number_, index_.blocks.size()};
}

void CaptureWriter::roll_back(const Mark& mark) {
  pending_.clear();
  next_number_ = mark.next_number;
  if (can_roll_back_) {
    index_.blocks.resize(mark.listed);
  } else {
    is_done_ = true;  // blocks written before are readable
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
  try {
    write_held();
  } catch (const WriteError&) {
    count_held();
  }
  ring_.reset();
  is_done_ = true;
  const auto state_loss = [this] {
    try {
      if (has_unstated_loss_) {
        write_loss(last_time_ns_);
      }
    } catch (const WriteError&) {
      owes_declarations_ = true;
    }
  };
  state_loss();
  if (summaries_) {
    write_summaries(summaries_->finish());
    summaries_.reset();
  }
  // From here on uses the room reserved for the closing words.
  destination_->begin_closing();
  state_loss();
  try {
    write_closing_words(true);
  } catch (const WriteError&) {
    if (!can_roll_back_) {
      throw;
    }
    write_closing_words(false);
  }
  destination_->end();
  if (sync_period_.count() > 0) {
    destination_->sync();
  }
}

void CaptureWriter::write_closing_words(bool with_declarations) {
  write_full_index();
  const Mark before = mark();
  const std::uint64_t declared_at = with_declarations ? bytes_written() : 0;
  if (with_declarations) {
    put_declarations(declarations_.all(), last_time_ns_);
  }
  put_end();
  IndexPage page = std::exchange(index_, IndexPage());
  (has_ended_tracks_ ? page.living_declarations : page.all_declarations) = declared_at;
  const auto trailer = encode_trailer(bytes_written() + pending_.size());
  put_index(page);
  pending_.append(trailer);
  try {
    append_pending();
  } catch (const WriteError&) {
    index_ = std::move(page);
    roll_back(before);
    throw;
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
  ring_->take_all([this](std::span<const std::byte> block) {
    std::optional<BlockHeader> header = parse_header(block);
    if (!header) {
      return;
    }
    write_full_index();
    const Mark before = mark();
    if (owes_declarations_) {
      put_declarations(declarations_.all(), header->start_ns);
    }
    // Numbers count the blocks of the file, which this one joins only here.
    header->number = next_number_++;
    const std::size_t at = pending_.size();
    pending_.append(block);
    encode_header(*header, std::span<std::byte, block_header_size>(pending_.data() + at, block_header_size));
    list_block(*header, bytes_written() + at);
    try {
      append_pending();
    } catch (...) {
      roll_back(before);
      throw;
    }
    owes_declarations_ = false;
  });
}

/// Counts the ring's blocks for which the file has no room.
void CaptureWriter::count_held() {
  ring_->take_all([this](std::span<const std::byte> block) {
    if (const std::optional<BlockHeader> header = parse_header(block)) {
      unwritten_.dropped_scopes += (header->scope_events + 1) / 2;
      has_unstated_loss_ = true;
    }
  });
}

/// A summary without room is left out: overviews of its blocks then have to read them.
void CaptureWriter::write_summaries(const std::vector<FinishedSummary>& summaries) {
  const Mark before = mark();
  for (const FinishedSummary& summary : summaries) {
    BlockFacts facts;
    facts.kind = BlockKind::summary;
    facts.level = summary.level;
    facts.start_ns = summary.start_ns;
    facts.end_ns = summary.end_ns;
    facts.scope_events = static_cast<std::uint32_t>(std::min<std::uint64_t>(summary.scope_events, UINT32_MAX));
    put_block(facts, summary.payload);
  }
  try {
    append_pending();
  } catch (const WriteError&) {
    roll_back(before);
  }
}

void CaptureWriter::put_end() {
  CaptureEnd end;
  end.facts = closing_facts_;
  std::vector<Ordered> order;
  for (const auto& [track, totals] : totals_) {
    order.push_back({track.value(), 0});
  }
  put_in_order(order);
  for (const Ordered& next : order) {
    end.tracks.push_back(totals_.at(TrackId(static_cast<std::uint32_t>(next.key))));
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

void CaptureWriter::put_index(const IndexPage& page) {
  raw_.clear();
  TableWriter table(raw_, codec_->packing());
  encode_index(page, table);
  // The next index begins with this block.
  index_.previous_index = bytes_written() + pending_.size();
  BlockFacts facts;
  facts.kind = BlockKind::index;
  put_block(facts, raw_.bytes());
}

/// Writes an index page in advance if the next write might fill it, so that that write can be rolled back.
void CaptureWriter::write_full_index() {
  if (index_.blocks.size() + most_blocks_a_write < max_index_blocks) {
    return;
  }
  const std::uint32_t number = next_number_;
  IndexPage page = std::exchange(index_, IndexPage());
  put_index(page);
  try {
    append_pending();
  } catch (const WriteError&) {
    index_ = std::move(page);
    next_number_ = number;
    pending_.clear();
    throw;
  }
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
    // Many declarations at once.
    can_roll_back_ = false;
    put_index(std::exchange(index_, IndexPage()));
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
