#include "capture/write/capture_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/event_lists.hpp"
#include "base/order.hpp"
#include "capture/format/crc32c.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/format/frame_breaks.hpp"

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

/// Of a block of its events.
BlockHeader header_of(const EventBatch& batch) {
  BlockHeader header;
  header.start_ns = batch.start_ns;
  header.end_ns = batch.end_ns;
  for (const ScopeRun& run : batch.runs) {
    header.scope_events += static_cast<std::uint32_t>(run.events.size());
  }
  return header;
}

void require_size(std::size_t raw_size) {
  if (raw_size > max_payload_size) {
    throw std::length_error("a batch is too large for one block of a capture: hand over less at a time");
  }
}

}  // namespace

template <typename Put>
void CaptureWriter::write_blocks(const Put& put) {
  const std::uint32_t number = next_number_;
  const std::size_t listed = index_.blocks.size();
  can_take_back_ = true;
  finished_page_.reset();
  try {
    put();
    append_pending();
  } catch (...) {
    pending_.clear();
    next_number_ = number;
    if (!can_take_back_) {
      is_done_ = true;  // blocks written before are readable
      throw;
    }
    if (finished_page_) {
      index_ = *std::move(finished_page_);
    }
    index_.blocks.resize(listed);
    throw;
  }
  finished_page_.reset();  // it has four thousand entries
}

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
      write_stating_loss(batch);
    } else {
      write_encoded(batch);
    }
    unwritten_tracks_.clear();
  } catch (const WriteError&) {
    declarations_.add(batch.declarations);
    owes_declarations_ = true;
    if (ring_) {
      keep_events(batch);
    } else {
      count_unwritten(batch);
    }
    throw;
  }
  write_ended_tracks();
  sync_when_due();
}

void CaptureWriter::write_stating_loss(const EventBatch& batch) {
  // Not in a block of its own: that would state that no scope is open.
  EventBatch stating = batch;
  TrackTotals unwritten = unwritten_;
  unwritten.dropped_scopes -= reopen(unwritten_tracks_, stating);
  name_unwritten(unwritten_tracks_, stating);
  state_unwritten(unwritten, stating);
  break_frames(declarations_.all(), stating);
  encode(stating);
  write_encoded(stating);
  unwritten_ = unwritten;
  has_unstated_loss_ = false;
}

void CaptureWriter::write_encoded(const EventBatch& batch) {
  std::uint32_t number = 0;
  write_blocks([&] {
    if (owes_declarations_) {
      put_declarations(declarations_.all(), batch.start_ns);
    }
    put_declarations(batch.declarations, batch.start_ns);
    number = next_number_;
    if (events_raw_.size() > 0 && !ring_) {
      put_block(header_of(batch), events_raw_.bytes(), encoder_.cuts());
    }
  });
  owes_declarations_ = false;
  declarations_.add(batch.declarations);
  // A ring gets them only now, as after a kill the names of what it holds must be in the file.
  keep_events(batch);
  if (summaries_ && events_raw_.size() > 0) {
    write_summaries(summaries_->add(batch, number));
  }
}

void CaptureWriter::count_unwritten(const EventBatch& batch) {
  const TrackTotals lost = count_events(batch);
  unwritten_.dropped_scopes += lost.dropped_scopes;
  unwritten_.dropped_others += lost.dropped_others;
  has_unstated_loss_ = has_unstated_loss_ || lost.dropped_scopes + lost.dropped_others != 0;
  for (const ScopeRun& run : batch.runs) {
    UnwrittenTrack& unwritten =
        unwritten_tracks_.try_emplace(run.track, UnwrittenTrack{run.open_at_start.size()}).first->second;
    unwritten.end_sequence = std::max(unwritten.end_sequence, run.end_sequence);
    for (const ScopeEvent& event : run.events) {
      unwritten.kept_depth = std::min<std::size_t>(unwritten.kept_depth, event.depth);
    }
    // The track may never repeat this.
    TrackTotals& totals = totals_[run.track];
    totals.track = run.track;
    totals.dropped_scopes = std::max(totals.dropped_scopes, run.dropped_scopes);
    totals.dropped_others = std::max(totals.dropped_others, run.dropped_others);
  }
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
  std::vector<TrackId> ids = ended_tracks_.take();
  base::put_in_order(ids);
  Declarations called;
  CaptureEnd totals;
  for (const TrackId id : ids) {
    if (const TrackDeclaration* const track = declarations_.find_track(id)) {
      called.tracks.push_back(*track);
    }
    if (const auto found = totals_.find(id); found != totals_.end()) {
      totals.tracks.push_back(found->second);
      dropped_by_ended_ += found->second.dropped_scopes;
      totals_.erase(found);
    }
  }
  bool has_totals = !totals.tracks.empty();
  try {
    write_blocks([&] {
      for_each_piece(called, [&](RowRange piece) {
        TableWriter table = begin_tables();
        encode_declarations(called, table, piece);
        if (std::exchange(has_totals, false)) {
          encode_capture_end(totals, table);
        }
        put_tables(BlockKind::ended_tracks, last_time_ns_);
      });
    });
  } catch (const WriteError&) {
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

void CaptureWriter::sync_when_due() {
  if (sync_period_.count() <= 0) {
    return;
  }
  if (const auto now = std::chrono::steady_clock::now(); now - last_sync_ >= sync_period_) {
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
  if (has_unstated_loss_) {
    // The closing words state it.
    EventBatch loss;
    state_unwritten(unwritten_, loss);
    declarations_.add(loss.declarations);
    totals_[unwritten_track] = unwritten_;
    totals_[unwritten_track].track = unwritten_track;
  }
  if (summaries_) {
    write_summaries(summaries_->finish());
    summaries_.reset();
  }
  // From here on uses the room reserved for the closing words.
  destination_->begin_closing();
  try {
    write_closing_words(true);
  } catch (const WriteError&) {
    if (!can_take_back_) {
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
  write_blocks([&] {
    const std::uint64_t declared_at = with_declarations ? bytes_written() : 0;
    if (with_declarations) {
      put_declarations(declarations_.all(), last_time_ns_);
    }
    put_end();
    (has_ended_tracks_ ? index_.living_declarations : index_.all_declarations) = declared_at;
    const auto trailer = encode_trailer(bytes_written() + pending_.size());
    put_index();
    pending_.append(trailer);
  });
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
  for_each_piece(declarations_.all(), [&](RowRange piece) {
    TableWriter table = begin_tables();
    const BlockKind kind = next_number_ == 0 ? BlockKind::header : BlockKind::declarations;
    if (kind == BlockKind::header) {
      encode_capture_header(header_, table);
    }
    encode_declarations(declarations_.all(), table, piece);
    put_tables(kind, 0);
  });
}

void CaptureWriter::put_declarations(const Declarations& declarations, std::int64_t time_ns) {
  if (declarations.empty()) {
    return;
  }
  for_each_piece(declarations, [&](RowRange piece) {
    TableWriter table = begin_tables();
    encode_declarations(declarations, table, piece);
    put_tables(BlockKind::declarations, time_ns);
  });
}

void CaptureWriter::keep_events(const EventBatch& batch) {
  if (events_raw_.size() == 0) {
    return;
  }
  if (ring_) {
    BlockHeader header = header_of(batch);
    held_.clear();
    code_block(header, events_raw_.bytes(), encoder_.cuts(), held_);
    ring_->push(held_.bytes());
  }
  count_totals(batch);
  last_time_ns_ = std::max(last_time_ns_, batch.end_ns);
}

void CaptureWriter::write_held() {
  if (!ring_ || is_done_) {
    return;
  }
  bool follows_loss = ring_->has_lost_blocks();
  ring_->take_all([&](std::span<const std::byte> block) {
    std::optional<BlockHeader> header = parse_header(block);
    if (!header) {
      return;
    }
    header->level = follows_loss ? level_after_loss : std::uint16_t{0};
    write_full_index();
    write_blocks([&] {
      if (owes_declarations_) {
        put_declarations(declarations_.all(), header->start_ns);
      }
      // Numbers count the blocks of the file, which this one joins only here.
      header->number = next_number_++;
      const std::size_t at = pending_.size();
      pending_.append(block);
      encode_header(*header, std::span<std::byte, block_header_size>(pending_.data() + at, block_header_size));
      list_block(*header, bytes_written() + at);
    });
    owes_declarations_ = false;
    follows_loss = false;
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
  try {
    write_blocks([&] {
      for (const FinishedSummary& summary : summaries) {
        BlockHeader header;
        header.kind = BlockKind::summary;
        header.level = summary.level;
        header.start_ns = summary.start_ns;
        header.end_ns = summary.end_ns;
        header.scope_events = static_cast<std::uint32_t>(std::min<std::uint64_t>(summary.scope_events, UINT32_MAX));
        put_block(header, summary.payload);
      }
    });
  } catch (const WriteError&) {
    return;
  }
}

void CaptureWriter::put_end() {
  CaptureEnd end;
  end.facts = closing_facts_;
  std::vector<TrackId> ids;
  for (const auto& [track, totals] : totals_) {
    ids.push_back(track);
  }
  base::put_in_order(ids);
  for (const TrackId id : ids) {
    end.tracks.push_back(totals_.at(id));
  }
  TableWriter table = begin_tables();
  encode_capture_end(end, table);
  put_tables(BlockKind::end, last_time_ns_);
}

void CaptureWriter::put_index() {
  finished_page_ = std::exchange(index_, IndexPage());
  TableWriter table = begin_tables();
  encode_index(*finished_page_, table);
  // The next index begins with this block.
  index_.previous_index = bytes_written() + pending_.size();
  put_tables(BlockKind::index, 0);
}

/// Writes an index page in advance if the next write might fill it, so that that write can be rolled back.
void CaptureWriter::write_full_index() {
  if (index_.blocks.size() + most_blocks_a_write >= max_index_blocks) {
    write_blocks([this] { put_index(); });
  }
}

TableWriter CaptureWriter::begin_tables() {
  raw_.clear();
  return {raw_, codec_->packing()};
}

void CaptureWriter::put_tables(BlockKind kind, std::int64_t time_ns) {
  BlockHeader header;
  header.kind = kind;
  header.start_ns = time_ns;
  header.end_ns = time_ns;
  put_block(header, raw_.bytes());
}

void CaptureWriter::put_block(BlockHeader header, std::span<const std::byte> raw, std::span<const std::size_t> cuts) {
  const std::uint64_t offset = bytes_written() + pending_.size();
  code_block(header, raw, cuts, pending_);
  ++next_number_;
  list_block(header, offset);
}

void CaptureWriter::code_block(BlockHeader& header, std::span<const std::byte> raw, std::span<const std::size_t> cuts,
                               ByteBuffer& out) {
  require_size(raw.size());
  const std::size_t header_at = out.size();
  static_cast<void>(out.reserve(block_header_size + raw.size()));
  out.commit(block_header_size);
  std::size_t stored_size = raw.size() < least_to_compress ? 0 : codec_->compress(raw, cuts, out);
  header.codec = codec_->id();
  if (stored_size == 0) {
    header.codec = CodecId::none;
    stored_size = raw.size();
    out.append(raw);
  }
  header.stored_size = static_cast<std::uint32_t>(stored_size);
  header.raw_size = static_cast<std::uint32_t>(raw.size());
  header.payload_crc = crc32c(out.bytes().subspan(header_at + block_header_size));
  header.number = next_number_;
  encode_header(header, std::span<std::byte, block_header_size>(out.data() + header_at, block_header_size));
}

void CaptureWriter::list_block(const BlockHeader& header, std::uint64_t offset) {
  index_.blocks.push_back(info_of(header, offset));
  if (index_.blocks.size() == max_index_blocks) {
    // Many declarations at once.
    can_take_back_ = false;
    put_index();
  }
}

void CaptureWriter::append_pending() {
  if (pending_.size() > 0) {
    destination_->append(pending_.bytes());
    bytes_written_.fetch_add(pending_.size(), std::memory_order_relaxed);
    pending_.clear();
  }
}

void CaptureWriter::keep_drops(const std::vector<TrackTotals>& stated) {
  for (const TrackTotals& totals : stated) {
    if (totals.dropped_scopes + totals.dropped_others != 0) {
      TrackTotals& own = totals_[totals.track];
      own.track = totals.track;
      own.dropped_scopes = std::max(own.dropped_scopes, totals.dropped_scopes);
      own.dropped_others = std::max(own.dropped_others, totals.dropped_others);
    }
  }
}

void CaptureWriter::count_totals(const EventBatch& batch) {
  for (std::size_t i = 0; i < batch.runs.size(); ++i) {
    const ScopeRun& run = batch.runs[i];
    if (ring_ && run.dropped_scopes == 0 && run.dropped_others == 0) {
      continue;
    }
    TrackTotals& totals = totals_[run.track];
    totals.track = run.track;
    // What a ring still holds of them at the end, readers count.
    totals.recorded_scopes += ring_ ? 0 : encoder_.opens()[i];
    totals.dropped_scopes = std::max(totals.dropped_scopes, run.dropped_scopes);
    totals.dropped_others = std::max(totals.dropped_others, run.dropped_others);
    totals.end_sequence = std::max(totals.end_sequence, run.end_sequence);
  }
}

}  // namespace kymo::capture
