#include <kymo/capture.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/declaration_set.hpp"
#include "capture/format/batch_codec.hpp"
#include "capture/format/block.hpp"
#include "capture/format/codec.hpp"
#include "capture/format/crc32c.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/format/facts_codec.hpp"
#include "capture/format/frame_breaks.hpp"
#include "capture/read/block_scanner.hpp"
#include "capture/read/byte_source.hpp"

namespace kymo {

using base::DeclarationSet;
using capture::BlockHeader;
using capture::BlockScanner;
using capture::ByteSource;
using capture::DecodeError;
using capture::end_of;

namespace {

/// Memory limit for the retained parts of a capture, mainly its declarations: a constant plus a multiple of the file's
/// bytes up to there. A few bytes can encode a block full of rows; declarations of real programs take a tenth of the
/// limit.
constexpr std::uint64_t kept_memory = std::uint64_t{128} << 20U;
constexpr std::uint64_t summary_memory = std::uint64_t{16} << 20U;
constexpr std::uint64_t memory_per_byte = 64;

bool describes(const BlockInfo& info, const BlockHeader& header) {
  return info.kind == header.kind && info.level == header.level && info.number == header.number &&
         info.start_ns == header.start_ns && info.end_ns == header.end_ns && info.scope_events == header.scope_events &&
         info.stored_bytes == header.stored_size && info.raw_bytes == header.raw_size;
}

}  // namespace

class CaptureReader::Implementation {
 public:
  Implementation(std::unique_ptr<ByteSource> source, std::string path)
      : path_(std::move(path)), source_(std::move(source)), scanner_(*source_) {
    capture::require_capture(*source_, path_);
    if (!load_index()) {
      scanner_.scan(blocks_);
      closed_ = scanner_.found_trailer();
    }
    take_facts();
  }

  bool refresh() {
    if (closed_) {
      return false;
    }
    if (source_->size() < scanner_.offset()) {
      throw CaptureError(path_, scanner_.offset(), "became shorter while it was read; open it again");
    }
    const bool found = scanner_.scan(blocks_);
    closed_ = scanner_.found_trailer();
    take_facts();
    return found;
  }

  bool check() {
    EventBatch batch;
    for (const BlockInfo& block : blocks_) {
      if (block.kind == BlockKind::events) {
        static_cast<void>(read(block, batch, BatchParts::everything));
      } else {
        use_payload(block, [](std::span<const std::byte>) {});
      }
    }
    return damages().empty();
  }

  bool read(const BlockInfo& block, EventBatch& batch, BatchParts parts) {
    const bool is_sound = use_payload(block, [&](std::span<const std::byte> payload) {
      // Compressed columns without a bit per value: some values per byte are possible, but not millions.
      const std::uint64_t most_values = 16'384 + 1'024 * std::uint64_t{block.stored_bytes};
      capture::decode_batch(payload, block.start_ns, block.end_ns, parts, batch, most_values);
    });
    if (!is_sound) {
      batch = EventBatch();
      return false;
    }
    batch.follows_loss = block.kind == BlockKind::events && block.level == capture::level_after_loss;
    if (batch.follows_loss && (parts == BatchParts::everything || parts == BatchParts::others)) {
      capture::break_frames(declarations_.all(), batch);
    }
    return true;
  }

  bool read_payload(const BlockInfo& block, BlockPayload& payload) {
    const ScratchLoan scratch(*this);
    if (!load_payload(block, scratch->stored, payload)) {
      payload.clear();
      return false;
    }
    return true;
  }

  bool check_stored(const BlockInfo& block) {
    const ScratchLoan scratch(*this);
    return load_stored(block, scratch->stored).has_value();
  }

  [[nodiscard]] std::vector<Damage> damages() const {
    std::vector<Damage> all = scanner_.damages();
    if (scanner_.torn_end()) {
      all.push_back(*scanner_.torn_end());
    }
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [offset, damage] : block_damages_) {
        all.push_back(damage);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
    return all;
  }

 private:
  friend class CaptureReader;

  struct Scratch {
    std::vector<std::byte> stored;
    BlockPayload payload;
  };

  // Scratch memory for one call. The pool grows to the greatest number of concurrent calls.
  class ScratchLoan {
   public:
    explicit ScratchLoan(Implementation& owner) : owner_(owner) {
      const std::lock_guard lock(owner.mutex_);
      if (owner.scratches_.empty()) {
        scratch_ = std::make_unique<Scratch>();
      } else {
        scratch_ = std::move(owner.scratches_.back());
        owner.scratches_.pop_back();
      }
    }
    ScratchLoan(const ScratchLoan&) = delete;
    ScratchLoan& operator=(const ScratchLoan&) = delete;
    ~ScratchLoan() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.scratches_.push_back(std::move(scratch_));
    }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    Implementation& owner_;
    std::unique_ptr<Scratch> scratch_;
  };

  // Takes the list of blocks from the index; false if no index is valid from end to end.
  bool load_index() {
    const std::uint64_t size = source_->size();
    if (size < capture::preamble_size + capture::trailer_size) {
      return false;
    }
    std::array<std::byte, capture::trailer_size> trailer{};
    const std::uint64_t trailer_offset = size - capture::trailer_size;
    if (source_->read(trailer_offset, trailer) != trailer.size()) {
      return false;
    }
    const auto last_index = capture::parse_trailer(trailer);
    if (!last_index || *last_index == 0) {
      return false;
    }
    std::vector<capture::IndexPage> pages;  // last first
    BlockInfo last_block;
    std::uint64_t end = trailer_offset;
    for (std::uint64_t at = *last_index; at != 0; at = pages.back().previous_index) {
      const auto header = index_header_at(at, end);
      if (!header) {
        return false;
      }
      const BlockInfo info = capture::info_of(*header, at);
      if (pages.empty()) {
        last_block = info;
        if (end_of(info) != end) {
          return false;
        }
      }
      capture::IndexPage page;
      if (!load_index_page(info, page)) {
        return false;
      }
      end = page.blocks.front().offset + 1;
      pages.push_back(std::move(page));
    }
    for (auto page = pages.rbegin(); page != pages.rend(); ++page) {
      blocks_.insert(blocks_.end(), page->blocks.begin(), page->blocks.end());
    }
    blocks_.push_back(last_block);
    has_ended_tracks_ = pages.front().living_declarations != 0;
    all_declarations_ = has_ended_tracks_ ? pages.front().living_declarations : pages.front().all_declarations;
    scanner_.start_at(size, last_block.number + 1);
    closed_ = true;
    return true;
  }

  [[nodiscard]] std::optional<BlockHeader> index_header_at(std::uint64_t offset, std::uint64_t end) const {
    std::array<std::byte, capture::block_header_size> bytes{};
    if (offset >= end || source_->read(offset, bytes) != bytes.size()) {
      return std::nullopt;
    }
    const auto header = capture::parse_header(bytes);
    return header && header->kind == BlockKind::index ? header : std::nullopt;
  }

  // A page is valid if its blocks are contiguous from the index before it, or the preamble, up to itself.
  bool load_index_page(const BlockInfo& info, capture::IndexPage& page) {
    const bool is_sound = use_payload(info, [&page](std::span<const std::byte> payload) {
      capture::TableReader reader(payload);
      capture::TableView table;
      while (reader.next(table)) {
        capture::decode_index(table, page);
      }
    });
    if (!is_sound || page.blocks.empty()) {
      return false;
    }
    const BlockInfo& first = page.blocks.front();
    const BlockInfo& last = page.blocks.back();
    return first.offset == (page.previous_index == 0 ? capture::preamble_size : page.previous_index) &&
           end_of(last) == info.offset && last.number + 1 == info.number;
  }

  // Summaries are read repeatedly, so their positions in the file decide which of them may be read.
  void bound_summaries() {
    for (; summaries_bounded_ < blocks_.size(); ++summaries_bounded_) {
      const BlockInfo& block = blocks_[summaries_bounded_];
      if (block.kind == BlockKind::summary) {
        summary_bytes_ += block.raw_bytes;
        if (summary_bytes_ > summary_memory + memory_per_byte * end_of(block)) {
          summaries_end_ = std::min(summaries_end_, block.offset);
        }
      }
    }
  }

  void keep_memory(const BlockInfo& block, std::uint64_t bytes) const {
    if (bytes > kept_memory + memory_per_byte * end_of(block)) {
      throw DecodeError("what the capture declares takes more memory than any program's would");
    }
  }

  // Reads the facts about the capture from the blocks since the last call.
  void take_facts() {
    bound_summaries();
    if (facts_taken_ == 0 && all_declarations_ != 0 && take_facts_from(all_declarations_)) {
      facts_taken_ = blocks_.size();
    }
    for (; facts_taken_ < blocks_.size(); ++facts_taken_) {
      static_cast<void>(take_facts_of(blocks_[facts_taken_]));
    }
    if (is_ended_) {
      add_ended_totals();
    }
  }

  // The same in a closed file, which repeats all declarations in one place, those of ended tracks in another. False if
  // one of these blocks is damaged.
  bool take_facts_from(std::uint64_t offset) {
    bool sound = take_facts_of(blocks_.front());
    const auto first = std::lower_bound(blocks_.begin(), blocks_.end(), offset,
                                        [](const BlockInfo& block, std::uint64_t at) { return block.offset < at; });
    for (auto block = first; block != blocks_.end(); ++block) {
      sound = take_facts_of(*block) && sound;
    }
    for (auto block = blocks_.begin(); has_ended_tracks_ && block != first; ++block) {
      sound = (block->kind != BlockKind::ended_tracks || take_facts_of(*block)) && sound;
    }
    if (!sound) {
      ended_totals_.clear();
    }
    return sound;
  }

  // Adds the totals of tracks that ended earlier to those in the closing words.
  void add_ended_totals() {
    std::vector<TrackTotals>& tracks = end_.tracks;
    tracks.insert(tracks.end(), ended_totals_.begin(), ended_totals_.end());
    ended_totals_ = {};
    std::stable_sort(tracks.begin(), tracks.end(),
                     [](const TrackTotals& a, const TrackTotals& b) { return a.track < b.track; });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < tracks.size(); ++i) {
      if (tracks[i].track != tracks[kept].track) {
        tracks[++kept] = tracks[i];
        continue;
      }
      // The track continued after its end.
      TrackTotals& sum = tracks[kept];
      sum.recorded_scopes += tracks[i].recorded_scopes;
      sum.dropped_scopes = std::max(sum.dropped_scopes, tracks[i].dropped_scopes);
      sum.dropped_others = std::max(sum.dropped_others, tracks[i].dropped_others);
      sum.end_sequence = std::max(sum.end_sequence, tracks[i].end_sequence);
    }
    tracks.resize(std::min(tracks.size(), kept + 1));
  }

  bool take_facts_of(const BlockInfo& block) {
    const bool is_of_ended = block.kind == BlockKind::ended_tracks;
    if (block.kind != BlockKind::header && block.kind != BlockKind::declarations && block.kind != BlockKind::end &&
        !is_of_ended) {
      return true;
    }
    return use_payload(block, [&](std::span<const std::byte> payload) {
      Declarations declarations;
      CaptureHeader header = header_;
      CaptureEnd end = is_of_ended ? CaptureEnd() : end_;
      capture::TableReader reader(payload);
      capture::TableView table;
      while (reader.next(table)) {
        if (table.is(capture::TableId::track_totals)) {
          keep_memory(block, 2 * sizeof(TrackTotals) * std::min<std::uint64_t>(table.rows(), UINT32_MAX));
        }
        static_cast<void>(capture::decode_declarations(table, declarations) ||
                          capture::decode_capture_header(table, header) || capture::decode_capture_end(table, end));
      }
      const std::uint64_t more = capture::memory_of(declarations);
      keep_memory(block, kept_bytes_ + more);
      kept_bytes_ += more;
      declarations_.add(declarations);
      header_ = std::move(header);
      if (is_of_ended) {
        ended_totals_.insert(ended_totals_.end(), end.tracks.begin(), end.tracks.end());
      } else {
        end_ = std::move(end);
      }
      is_ended_ = is_ended_ || block.kind == BlockKind::end;
    });
  }

  // Reads a block as stored, and checks it. On failure notes the damage and returns nothing.
  std::optional<capture::BlockHeader> load_stored(const BlockInfo& block, std::vector<std::byte>& stored) {
    const std::size_t block_size = capture::block_header_size + block.stored_bytes;
    if (block.stored_bytes > capture::max_payload_size || block.offset > source_->size() ||
        source_->size() - block.offset < block_size) {
      note_damage(block, "the file ends within it");
      return std::nullopt;
    }
    stored.resize(std::max(stored.size(), block_size));
    const auto bytes = std::span(stored).first(block_size);
    if (source_->read(block.offset, bytes) != block_size) {
      note_damage(block, "the file ends within it");
      return std::nullopt;
    }
    const auto header = capture::parse_header(bytes);
    if (!header || !describes(block, *header)) {
      note_damage(block, "its header is not the one that is expected there");
      return std::nullopt;
    }
    if (block.kind == BlockKind::summary && block.offset >= summaries_end_) {
      note_damage(block, "the capture's summaries take more memory than any program's would");
      return std::nullopt;
    }
    if (capture::crc32c(bytes.subspan(capture::block_header_size)) != header->payload_crc) {
      note_damage(block, "its checksum is wrong");
      return std::nullopt;
    }
    return header;
  }

  // Reads, checks and decompresses a block's payload. On failure notes the damage and returns false.
  bool load_payload(const BlockInfo& block, std::vector<std::byte>& stored, BlockPayload& payload) {
    const auto header = load_stored(block, stored);
    return header && decodes(block, [&] {
             const auto stored_payload = std::span(stored).subspan(capture::block_header_size, block.stored_bytes);
             capture::decompress(header->codec, stored_payload, {payload.resize(header->raw_size), header->raw_size});
           });
  }

  // Calls use(bytes) with a block's payload. If the block is damaged, or `use` finds it so, notes that and returns
  // false.
  template <typename Use>
  bool use_payload(const BlockInfo& block, const Use& use) {
    const ScratchLoan scratch(*this);
    return load_payload(block, scratch->stored, scratch->payload) &&
           decodes(block, [&] { use(std::span(std::as_const(scratch->payload).data(), scratch->payload.size())); });
  }

  // Calls decode(). If the block turns out to be damaged, notes that and returns false.
  template <typename Decode>
  bool decodes(const BlockInfo& block, const Decode& decode) {
    try {
      decode();
      return true;
    } catch (const DecodeError& error) {
      note_damage(block, error.what());
      return false;
    }
  }

  void note_damage(const BlockInfo& block, const std::string& what) {
    const std::string_view kind = name_of(block.kind);
    std::string text = std::string(kind.empty() ? "unknown" : kind) + " block " + std::to_string(block.number) +
                       " cannot be used: " + what;
    if (block.kind == BlockKind::events) {
      text += "; what happened from " + std::to_string(block.start_ns) + " to " + std::to_string(block.end_ns) +
              " ns is missing";
    }
    const std::lock_guard lock(mutex_);
    block_damages_.emplace(block.offset,
                           Damage{block.offset, capture::block_header_size + block.stored_bytes, std::move(text)});
  }

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  BlockScanner scanner_;
  std::vector<BlockInfo> blocks_;
  std::size_t facts_taken_ = 0;  // of blocks_
  std::uint64_t all_declarations_ = 0;
  std::uint64_t kept_bytes_ = 0;              // memory of the declarations
  std::size_t summaries_bounded_ = 0;         // of blocks_
  std::uint64_t summary_bytes_ = 0;           // total size of their payloads
  std::uint64_t summaries_end_ = UINT64_MAX;  // later summaries exceed the limit
  bool closed_ = false;
  CaptureHeader header_;
  DeclarationSet declarations_;
  CaptureEnd end_;
  bool is_ended_ = false;          // the closing words were read
  bool has_ended_tracks_ = false;  // blocks of ended tracks hold declarations that are not repeated
  std::vector<TrackTotals> ended_totals_;
  mutable std::mutex mutex_;  // guards the following members
  std::map<std::uint64_t, Damage> block_damages_;
  std::vector<std::unique_ptr<Scratch>> scratches_;
};

CaptureReader::CaptureReader(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
CaptureReader::CaptureReader(const std::string& path)
    : implementation_(std::make_unique<Implementation>(std::make_unique<capture::FileSource>(path), path)) {}
CaptureReader::CaptureReader(const void* data, std::size_t size, std::string name)
    : implementation_(std::make_unique<Implementation>(
          capture::make_memory_source({static_cast<const std::byte*>(data), size}), std::move(name))) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

const std::string& CaptureReader::path() const {
  return implementation_->path_;
}
const CaptureHeader& CaptureReader::header() const {
  return implementation_->header_;
}
const Declarations& CaptureReader::declarations() const {
  return implementation_->declarations_.all();
}
const std::vector<BlockInfo>& CaptureReader::blocks() const {
  return implementation_->blocks_;
}
std::uint64_t CaptureReader::size_bytes() const {
  // An incomplete block at the end was looked at, too.
  const auto& torn_end = implementation_->scanner_.torn_end();
  return torn_end ? torn_end->offset + torn_end->size : implementation_->scanner_.offset();
}
bool CaptureReader::is_closed() const {
  return implementation_->closed_;
}
const CaptureEnd& CaptureReader::end() const {
  return implementation_->end_;
}
bool CaptureReader::read(const BlockInfo& block, EventBatch& batch, BatchParts parts) const {
  return implementation_->read(block, batch, parts);
}
bool CaptureReader::read_payload(const BlockInfo& block, BlockPayload& payload) const {
  return implementation_->read_payload(block, payload);
}
bool CaptureReader::refresh() {
  return implementation_->refresh();
}
bool CaptureReader::check_stored(const BlockInfo& block) const {
  return implementation_->check_stored(block);
}
bool CaptureReader::check() {
  return implementation_->check();
}
std::vector<Damage> CaptureReader::damages() const {
  return implementation_->damages();
}

namespace capture {

struct ReaderAccess {
  static CaptureReader open(std::unique_ptr<ByteSource> source, std::string name) {
    return CaptureReader(std::make_unique<CaptureReader::Implementation>(std::move(source), std::move(name)));
  }
};

CaptureReader open_source(std::unique_ptr<ByteSource> source, std::string name) {
  return ReaderAccess::open(std::move(source), std::move(name));
}

}  // namespace capture

}  // namespace kymo
