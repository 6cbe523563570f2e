// Selects and fetches the pieces that show a stretch of time.
#include "panel/data/panel_data.hpp"

#include <algorithm>
#include <utility>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

using Key = Worker::Key;

// The bits of a key, from the top: 15 for the capture, 2 for this part, 47 for the number.
enum class Part : std::uint8_t { summary = 0, marks = 1, bins = 2, exact = 3 };
constexpr unsigned part_shift = 47;
constexpr unsigned capture_shift = 49;

Key make_key(std::size_t capture, Part part, std::size_t number) {
  return (static_cast<Key>(capture) << capture_shift) | (static_cast<Key>(part) << part_shift) |
         static_cast<Key>(number);
}
Part part_of(Key key) {
  return static_cast<Part>((key >> part_shift) & 3U);
}
std::size_t capture_of(Key key) {
  return static_cast<std::size_t>(key >> capture_shift);
}
std::size_t number_of(Key key) {
  return static_cast<std::size_t>(key & ((Key{1} << part_shift) - 1));
}

}  // namespace

PanelData::PanelData(std::shared_ptr<BlockProvider> provider, DataOptions options)
    : provider_(std::move(provider)),
      options_(options),
      range_(provider_->range()),
      worker_(options.has_thread, [this](Key key) { return load(key); }) {}

Worker::Delivery PanelData::load(Key key) {
  const std::size_t capture = capture_of(key);
  const Part part = part_of(key);
  auto detail = std::make_shared<Detail>();
  bool is_read = false;
  try {
    if (part == Part::summary) {
      is_read = provider_->read_summary(capture, number_of(key), *detail);
    } else if (const auto batch = provider_->read(capture, number_of(key),
                                                  part == Part::marks ? BatchParts::others : BatchParts::everything);
               batch != nullptr) {
      *detail = timeline::make_detail(*batch, part == Part::exact);
      is_read = true;
    }
  } catch (const std::exception&) {
    // The file or its server is away. What is not known stays missing; it is not empty.
    return [this] { retry_at_ = std::chrono::steady_clock::now() + options_.retry_after; };
  }
  if (!is_read) {
    *detail = {};
  }
  return [this, key, piece = Piece(std::move(detail))] { keep(key, piece); };
}

void PanelData::keep(Key key, Piece piece) {
  Entry& entry = cache_[key];
  if (entry.piece != nullptr) {
    cached_bytes_ -= entry.piece->bytes;
  }
  cached_bytes_ += piece->bytes;
  entry.piece = std::move(piece);
  entry.last_used = frame_;
}

void PanelData::evict() {
  if (cached_bytes_ <= options_.cache_bytes) {
    return;
  }
  std::vector<std::pair<std::uint64_t, Key>> oldest;
  for (const auto& [key, entry] : cache_) {
    // Everything on the screen is used again when the view changes, if not earlier.
    if (entry.last_used < frame_) {
      oldest.emplace_back(entry.last_used, key);
    }
  }
  std::sort(oldest.begin(), oldest.end());
  for (const auto& [used, key] : oldest) {
    if (cached_bytes_ <= options_.cache_bytes / 4 * 3) {
      return;
    }
    const auto found = cache_.find(key);
    cached_bytes_ -= found->second.piece->bytes;
    cache_.erase(found);
  }
}

bool PanelData::poll() {
  bool changed = worker_.deliver(options_.budget);
  if (explainer_ != nullptr) {
    static_cast<void>(explainer_->deliver(options_.budget));  // changes nothing of what is drawn from pieces
  }
  if (!is_frozen_ && provider_->refresh()) {
    range_ = provider_->range();
    ++data_version_;
    changed = true;
  }
  count_drops();
  revision_ += changed ? 1 : 0;
  return changed;
}

void PanelData::request_missing() {
  if (retry_at_ && std::chrono::steady_clock::now() >= *retry_at_) {
    retry_at_.reset();
    has_new_wishes_ = true;
  }
  if (has_new_wishes_) {
    std::vector<Key> wanted;
    for (const Missing& missing : missing_) {
      wanted.insert(wanted.end(), missing.summaries.begin(), missing.summaries.end());
    }
    for (const Missing& missing : missing_) {
      wanted.insert(wanted.end(), missing.blocks.begin(), missing.blocks.end());
    }
    worker_.want(std::move(wanted));
    has_new_wishes_ = false;
  }
  evict();
  ++frame_;
}

Piece PanelData::look_up(Key key) {
  const auto found = cache_.find(key);
  if (found == cache_.end()) {
    return nullptr;
  }
  found->second.last_used = frame_;
  return found->second.piece;
}

Piece PanelData::look_up_block(const Cover& wanted, std::size_t block) {
  const std::size_t number = provider_->first_block() + block;
  const Part least = !wanted.wish.spans ? Part::marks : wanted.is_exact ? Part::exact : Part::bins;
  for (const Part part : {Part::exact, Part::bins, Part::marks}) {
    // A more detailed part also contains the requested one.
    if (part >= least) {
      if (Piece piece = look_up(make_key(wanted.capture, part, number)); piece != nullptr) {
        return piece;
      }
    }
  }
  wanted.missing->blocks.push_back(make_key(wanted.capture, least, number));
  return least == Part::exact ? look_up(make_key(wanted.capture, Part::bins, number)) : nullptr;
}

Piece PanelData::look_up_summary(const Cover& wanted, const SummaryPlace& summary) {
  const CaptureBlocks& list = provider_->blocks()[wanted.capture];
  const Key key = make_key(wanted.capture, Part::summary, static_cast<std::size_t>(&summary - list.summaries.data()));
  Piece piece = look_up(key);
  if (piece == nullptr) {
    wanted.missing->summaries.push_back(key);
  }
  return piece;
}

int PanelData::level_for(const CaptureBlocks& list, std::size_t first, std::size_t end) const {
  std::size_t counts[256] = {};
  int coarsest = -1;
  for (const SummaryPlace& summary : list.summaries) {
    if (summary.first_block < end && summary.end_block > first) {
      ++counts[summary.level];
      coarsest = std::max(coarsest, int{summary.level});
    }
  }
  for (int level = 0; level < coarsest; ++level) {
    if (counts[level] != 0 && counts[level] <= most_summaries) {
      return level;
    }
  }
  return coarsest;
}

void PanelData::cover_blocks(const Cover& wanted, std::size_t first, std::size_t end, const SummaryPlace* summary) {
  const CaptureBlocks& list = provider_->blocks()[wanted.capture];
  Piece coarse;
  if (summary != nullptr) {
    coarse = look_up_summary(wanted, *summary);
    if (coarse != nullptr && coarse->bytes == 0) {
      coarse = nullptr;  // damaged
    } else if (coarse != nullptr && wanted.wish.spans && !wanted.is_exact &&
               std::max(coarse->bins[0].scopes_bin_ns, coarse->state_bins[0].scopes_bin_ns) <= wanted.wish.bin_ns) {
      wanted.out->push_back(std::move(coarse));
      return;
    }
  }
  std::vector<Piece> found;
  bool is_complete = wanted.reads_blocks;
  for (std::size_t block = first; block < end && wanted.reads_blocks; ++block) {
    if (!overlaps(list.blocks[block].start_ns, list.blocks[block].end_ns, wanted.range)) {
      continue;
    }
    if (Piece piece = look_up_block(wanted, block); piece != nullptr) {
      found.push_back(std::move(piece));
    } else {
      is_complete = false;
    }
  }
  if (!is_complete && coarse != nullptr) {
    wanted.out->push_back(std::move(coarse));
    return;
  }
  wanted.out->insert(wanted.out->end(), found.begin(), found.end());
}

void PanelData::cover(const Cover& wanted, std::size_t first, std::size_t end, int level) {
  if (level < 0) {
    Cover blocks = wanted;
    blocks.reads_blocks = true;
    cover_blocks(blocks, first, std::min(end, first + options_.most_blocks), nullptr);
    return;
  }
  const CaptureBlocks& list = provider_->blocks()[wanted.capture];
  for (const SummaryPlace& summary : list.summaries) {
    if (int{summary.level} != level || summary.end_block <= first || summary.first_block >= end) {
      continue;
    }
    if (summary.first_block > first) {
      cover(wanted, first, summary.first_block, level - 1);
    }
    cover_blocks(wanted, std::max(first, summary.first_block), std::min(end, summary.end_block), &summary);
    first = std::min(end, summary.end_block);
  }
  if (first < end) {
    cover(wanted, first, end, level - 1);
  }
}

PanelData::Missing& PanelData::begin_asking(Asker asker) {
  Missing& missing = missing_[static_cast<std::size_t>(asker)];
  has_new_wishes_ = has_new_wishes_ || !missing.blocks.empty() || !missing.summaries.empty();
  missing = {};
  return missing;
}

PanelData::Overlap PanelData::blocks_in(const CaptureBlocks& list, TimeRange range) {
  Overlap found;
  std::size_t before = 0;
  for (std::size_t block = 0; block < list.blocks.size(); ++block) {
    before += list.blocks[block].end_ns < range.start_ns ? 1U : 0U;
    if (overlaps(list.blocks[block].start_ns, list.blocks[block].end_ns, range)) {
      found.first = found.count == 0 ? block : found.first;
      found.end = block + 1;
      ++found.count;
    }
  }
  if (found.count == 0) {
    found.first = before;
    found.end = before;
  }
  return found;
}

std::vector<Piece> PanelData::pieces(TimeRange range, const Wish& wish) {
  std::vector<Piece> out;
  Missing& missing = begin_asking(wish.asker);
  const std::vector<CaptureBlocks>& lists = provider_->blocks();
  for (std::size_t capture = 0; capture < lists.size(); ++capture) {
    const CaptureBlocks& list = lists[capture];
    const auto [first, end, count] = blocks_in(list, range);
    if (count == 0) {
      continue;
    }
    const bool reads_blocks = count <= options_.most_blocks;
    const Cover wanted{capture, range, wish, count <= most_exact_blocks, reads_blocks, &out, &missing};
    cover(wanted, first, end, reads_blocks ? std::min(level_for(list, first, end), 0) : level_for(list, first, end));
  }
  if (const Piece records = wish.spans ? nullptr : provider_->records(); records != nullptr) {
    out.push_back(records);
  }
  has_new_wishes_ = has_new_wishes_ || !missing.blocks.empty() || !missing.summaries.empty();
  return out;
}

std::vector<Piece> PanelData::past(std::int64_t time_ns, Asker asker) {
  constexpr std::size_t most_past_blocks = 64;
  constexpr std::size_t most_past_summaries = 16;
  std::vector<Piece> out;
  Missing& missing = begin_asking(asker);
  for (std::size_t capture = 0; capture < provider_->blocks().size(); ++capture) {
    const CaptureBlocks& list = provider_->blocks()[capture];
    const Cover wanted{capture, {}, {asker, false}, false, true, nullptr, &missing};
    std::size_t block = blocks_in(list, {time_ns, time_ns}).first;
    std::size_t summaries = 0;
    for (std::size_t blocks = 0; block > 0 && blocks < most_past_blocks && summaries < most_past_summaries;) {
      // A summary knows the last value of each metric. In a file, wider ones follow narrower ones that end alike.
      const auto behind =
          std::upper_bound(list.summaries.begin(), list.summaries.end(), block,
                           [](std::size_t end, const SummaryPlace& summary) { return end < summary.end_block; });
      const bool ends_here = behind != list.summaries.begin() && (behind - 1)->end_block == block;
      const SummaryPlace* const widest = ends_here ? &*(behind - 1) : nullptr;
      Piece piece = widest != nullptr ? look_up_summary(wanted, *widest) : look_up_block(wanted, block - 1);
      blocks += widest == nullptr ? 1U : 0U;
      summaries += widest != nullptr ? 1U : 0U;
      block = widest != nullptr ? widest->first_block : block - 1;
      if (piece != nullptr) {
        out.push_back(std::move(piece));
      }
    }
  }
  has_new_wishes_ = has_new_wishes_ || !missing.blocks.empty() || !missing.summaries.empty();
  return out;
}

void PanelData::keep_figures_fresh() {
  const auto now = std::chrono::steady_clock::now();
  if (adds_up_ ||
      (figures_version_ != 0 && (figures_of_data_ == data_version_ || now - last_figures_ < std::chrono::seconds(1)))) {
    return;
  }
  adds_up_ = true;
  figures_of_data_ = data_version_;
  last_figures_ = now;
  worker_.ask([this] {
    std::vector<stats::SiteFigures> figures;
    try {
      figures = provider_->figures();
    } catch (const std::exception&) {
      figures.clear();  // the file is unreadable
    }
    return [this, figures = std::move(figures)] {
      figures_ = figures;
      ++figures_version_;
      adds_up_ = false;
    };
  });
}

std::optional<FoundSpan> PanelData::take_found() {
  return std::exchange(found_, std::nullopt);
}

}  // namespace kymo::panel
