// Finds the frames of a range: the marks in it, the last one before it and the first one after it.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

/// Blocks that may be read beyond a range for the mark next to it; summaries skip stretches without marks.
constexpr std::size_t most_searched = 1024;
/// Blocks requested at once while searching.
constexpr std::size_t most_ahead = 16;

}  // namespace

struct PanelData::FrameSearch {
  PanelData& data;
  const CaptureBlocks& list;
  FrameStreamId stream;
  Cover wanted;
  std::size_t first = 0;  // the blocks that overlap the range are among [first, end)
  std::size_t end = 0;
  FrameCover cover{stream};
  bool has_damage = false;  // a block in the range cannot be read

  [[nodiscard]] bool is_in_range(std::size_t block) const {
    return overlaps(list.blocks[block].start_ns, list.blocks[block].end_ns, wanted.range);
  }
  [[nodiscard]] bool is_within(const SummaryPlace& summary, std::size_t from, std::size_t to) const {
    return summary.first_block >= from && summary.end_block <= to && summary.start_ns >= wanted.range.start_ns &&
           summary.end_ns <= wanted.range.end_ns;
  }

  Piece load(const SummaryPlace& summary) { return data.look_up_summary(wanted, summary); }

  void take_block(const Piece& piece) {
    if (piece != nullptr) {
      cover.add(piece);
      has_damage = has_damage || piece->bytes == 0;
    } else {
      cover.break_off();
    }
  }

  void take_blocks(std::size_t from, std::size_t to) {
    for (std::size_t block = from; block < to; ++block) {
      if (is_in_range(block)) {
        take_block(data.look_up_block(wanted, block));
      }
    }
  }

  /// Takes the blocks' marks, or the summary while they are not loaded.
  void take_marks(std::size_t from, std::size_t to, const SummaryPlace& summary) {
    bool is_loaded = true;
    std::vector<Piece> blocks;
    for (std::size_t block = from; block < to; ++block) {
      if (is_in_range(block)) {
        blocks.push_back(data.look_up_block(wanted, block));
        is_loaded = is_loaded && blocks.back() != nullptr;
      }
    }
    const Piece stand_in = !is_loaded && is_within(summary, from, to) ? load(summary) : nullptr;
    if (stand_in != nullptr && stand_in->bytes != 0) {
      cover.add(stand_in);
      cover.set_incomplete();
    } else {
      std::for_each(blocks.begin(), blocks.end(), [this](const Piece& piece) { take_block(piece); });
    }
  }

  /// Takes the summaries of a level that are within the range, finer ones and blocks elsewhere.
  void take(std::size_t from, std::size_t to, int level, bool wants_marks) {
    for (const SummaryPlace& summary : list.summaries) {
      if (int{summary.level} != level || summary.end_block <= from || summary.first_block >= to) {
        continue;
      }
      if (summary.first_block > from) {
        take(from, summary.first_block, level - 1, wants_marks);
      }
      const std::size_t begin = std::max(from, summary.first_block);
      const std::size_t stop = std::min(to, summary.end_block);
      if (wants_marks) {
        take_marks(begin, stop, summary);
      } else if (const Piece piece = is_within(summary, from, to) ? load(summary) : nullptr; piece == nullptr) {
        is_within(summary, from, to) ? cover.break_off() : take(begin, stop, level - 1, false);
      } else if (piece->bytes != 0) {
        cover.add(piece);
      } else {
        take(begin, stop, level - 1, false);  // damaged
      }
      from = stop;
    }
    if (from < to) {
      level < 0 ? take_blocks(from, to) : take(from, to, level - 1, wants_marks);
    }
  }

  /// A search beyond the range for the mark next to it.
  struct Walk {
    std::optional<std::int64_t> best;
    bool is_break = false;  // the best is no mark
    std::size_t read = 0;
    std::size_t lacking = 0;  // blocks and summaries that are not loaded

    [[nodiscard]] bool may_go_on() const { return read < most_searched && lacking < most_ahead; }
    /// Near marks are found in blocks; summaries skip long ways.
    [[nodiscard]] bool is_long() const { return read >= most_ahead; }
  };

  /// Calls visit(marks, is_break) for the stream's marks in a block, and its breaks.
  template <typename Visit>
  void look_into(std::size_t block, Walk& walk, Visit&& visit) {
    ++walk.read;
    const Piece piece = data.look_up_block(wanted, block);
    if (piece == nullptr) {
      ++walk.lacking;
      return;
    }
    for (const timeline::DetailFrames& frames : piece->frames) {
      if (frames.stream == stream) {
        visit(frames.marks_ns, frames.is_break);
      }
    }
  }

  /// The widest loaded summary that begins with a block, or ends before one, and passes a test.
  template <typename Test>
  const SummaryPlace* find_summary(std::size_t block, bool that_ends, Walk& walk, Test&& test) {
    const SummaryPlace* found = nullptr;
    for (const SummaryPlace& summary : list.summaries) {
      if ((that_ends ? summary.end_block : summary.first_block) != block ||
          (found != nullptr && found->level > summary.level)) {
        continue;
      }
      const Piece piece = load(summary);
      walk.lacking += piece == nullptr ? most_ahead : 0;
      if (piece != nullptr && piece->bytes != 0 && test(*piece)) {
        found = &summary;
      }
    }
    return found;
  }

  void find_mark_before() {
    const std::int64_t edge_ns = wanted.range.start_ns;
    const std::optional<std::int64_t> known = cover.last_mark_to(edge_ns);
    Walk walk{known};
    const auto offer = [&](std::int64_t mark_ns, bool is_break) {
      if (!walk.best || mark_ns > *walk.best) {
        walk.best = mark_ns;
        walk.is_break = is_break;
      }
    };
    for (std::size_t block = end; block-- > 0 && walk.may_go_on();) {
      const timeline::BlockPlace& place = list.blocks[block];
      const bool is_closer = !walk.best || place.end_ns > *walk.best;
      if (block >= first && (place.start_ns > edge_ns || is_in_range(block) || !is_closer)) {
        continue;  // holds no mark before the range, or is in the cover
      }
      if (!is_closer) {
        break;
      }
      if (walk.is_long()) {
        // A summary knows its last mark.
        const auto ends_before = [&](const Detail& piece) {
          for (const timeline::DetailFrames& frames : piece.frames) {
            if (frames.stream == stream && frames.last_mark_ns <= edge_ns) {
              offer(frames.last_mark_ns, false);
            }
          }
          return true;
        };
        if (const SummaryPlace* const summary = find_summary(block + 1, true, walk, ends_before); summary != nullptr) {
          block = summary->first_block;
          continue;
        }
      }
      look_into(block, walk, [&](const std::vector<std::int64_t>& marks, bool is_break) {
        if (const auto behind = std::upper_bound(marks.begin(), marks.end(), edge_ns); behind != marks.begin()) {
          offer(*(behind - 1), is_break);
        }
      });
    }
    if (walk.lacking != 0) {
      cover.set_incomplete();
    } else if (walk.best && walk.best != known && !walk.is_break) {
      cover.add_mark_before(*walk.best);
    }
  }

  void find_mark_after() {
    const std::int64_t edge_ns = wanted.range.end_ns;
    const std::optional<std::int64_t> known = cover.first_mark_from(edge_ns);
    Walk walk{known};
    for (std::size_t block = first; block < list.blocks.size() && walk.may_go_on(); ++block) {
      const timeline::BlockPlace& place = list.blocks[block];
      const bool is_closer = !walk.best || place.start_ns < *walk.best;
      if (block < end && (place.end_ns < edge_ns || is_in_range(block) || !is_closer)) {
        continue;
      }
      if (!is_closer) {
        break;
      }
      if (walk.is_long()) {
        const auto is_unmarked = [&](const Detail& piece) {
          return std::none_of(piece.frames.begin(), piece.frames.end(),
                              [&](const timeline::DetailFrames& frames) { return frames.stream == stream; });
        };
        if (const SummaryPlace* const summary = find_summary(block, false, walk, is_unmarked); summary != nullptr) {
          block = summary->end_block - 1;
          continue;
        }
      }
      look_into(block, walk, [&](const std::vector<std::int64_t>& marks, bool is_break) {
        const auto at = std::lower_bound(marks.begin(), marks.end(), edge_ns);
        if (at != marks.end() && (!walk.best || *at < *walk.best)) {
          walk.best = *at;
          walk.is_break = is_break;
        }
      });
    }
    if (walk.lacking != 0) {
      cover.set_incomplete();
    } else if (walk.best && walk.best != known && !walk.is_break) {
      cover.add_mark(*walk.best);
    }
  }
};

FrameCover PanelData::frames(FrameStreamId stream, TimeRange range, Asker asker) {
  Missing& missing = begin_asking(asker);
  const std::size_t capture = provider_->capture_of(stream);
  if (capture < provider_->blocks().size()) {
    const CaptureBlocks& list = provider_->blocks()[capture];
    const Overlap overlap = blocks_in(list, range);
    const bool reads_blocks = overlap.count <= options_.most_blocks;
    FrameSearch search{*this,         list,
                       stream,        {capture, range, {asker, false}, false, true, nullptr, &missing},
                       overlap.first, overlap.end};
    search.take(overlap.first, overlap.end, reads_blocks ? 0 : level_for(list, overlap.first, overlap.end),
                reads_blocks);
    search.find_mark_after();
    search.find_mark_before();
    search.cover.finish();
    has_new_wishes_ = has_new_wishes_ || !missing.blocks.empty() || !missing.summaries.empty();
    return std::move(search.cover);
  }
  return FrameCover(stream);
}

std::optional<FrameNumber> PanelData::frame_number(FrameStreamId stream, std::int64_t start_ns, Asker asker) {
  Missing& missing = begin_asking(asker);
  const std::size_t capture = provider_->capture_of(stream);
  if (capture >= provider_->blocks().size() || provider_->first_block() != 0) {
    return std::nullopt;
  }
  const CaptureBlocks& list = provider_->blocks()[capture];
  const TimeRange range{std::numeric_limits<std::int64_t>::min(), start_ns};
  const Overlap overlap = blocks_in(list, range);
  int coarsest = 0;
  for (const SummaryPlace& summary : list.summaries) {
    coarsest = std::max(coarsest, int{summary.level});
  }
  FrameSearch search{*this,         list,
                     stream,        {capture, range, {asker, false}, false, true, nullptr, &missing},
                     overlap.first, overlap.end};
  search.take(overlap.first, overlap.end, coarsest, false);
  if (missing.blocks.size() > options_.most_blocks) {
    missing.blocks.clear();  // without summaries it would take all of a long capture
    return std::nullopt;
  }
  has_new_wishes_ = has_new_wishes_ || !missing.blocks.empty() || !missing.summaries.empty();
  if (!search.cover.is_complete() || search.has_damage) {
    return std::nullopt;
  }
  search.cover.finish();
  FrameNumber marks = 0;
  for (const FrameCover::Part& part : search.cover.parts()) {
    if (part.is_exact()) {
      const auto& known = part.frames->marks_ns;
      // No frame begins with the last mark before a break.
      marks -= !part.follows && marks != 0 && known.front() <= start_ns ? 1U : 0U;
      marks += static_cast<FrameNumber>(std::upper_bound(known.begin(), known.end(), start_ns) - known.begin());
      continue;
    }
    // A summary counts the frames that end in it; the first mark of a stream ends none.
    marks += marks == 0 ? 1 : 0;
    for (const timeline::FrameGroup& group : part.frames->groups) {
      marks += group.count;
    }
  }
  return marks != 0 ? std::optional(marks) : std::nullopt;
}

}  // namespace kymo::panel
