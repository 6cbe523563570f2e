// Finds the next or previous scope of a site.
#include <algorithm>
#include <utility>

#include "panel/data/panel_data.hpp"

namespace kymo::panel {

namespace {

/// A block of some capture with its begin and end.
struct Candidate {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t capture = 0;
  std::size_t number = 0;
};

/// Finds the site's scope in a detail whose begin is closest after (or before) a time.
void find_in(const Detail& detail, SiteId site, std::int64_t from_ns, bool forward, FoundSpan& best) {
  for (const timeline::DetailLane& lane : detail.lanes) {
    if (lane.named) {
      continue;
    }
    for (const timeline::DetailSpan& span : lane.spans) {
      if (SiteId{span.name} != site || (forward ? span.start_ns <= from_ns : span.start_ns >= from_ns)) {
        continue;
      }
      const bool is_closer =
          !best.is_found || (forward ? span.start_ns < best.key.start_ns : span.start_ns > best.key.start_ns);
      if (is_closer) {
        best = {true, {lane.track, site, lane.depth, span.start_ns, span.end_ns}};
      }
    }
  }
}

}  // namespace

struct PanelData::SiteQuestion {
  SiteId site;
  std::int64_t from_ns = 0;
  bool forward = true;
  std::uint64_t number = 0;
  std::vector<Candidate> candidates;  // in the order of the search
  std::size_t next = 0;
  FoundSpan best;

  /// Whether no remaining block can hold a closer one.
  [[nodiscard]] bool is_answered() const {
    if (next >= candidates.size()) {
      return true;
    }
    const Candidate& left = candidates[next];
    return best.is_found && (forward ? left.start_ns > best.key.start_ns : left.end_ns < best.key.start_ns);
  }
};

void PanelData::ask_for_site(SiteId site, std::int64_t from_ns, bool forward) {
  auto question = std::make_shared<SiteQuestion>();
  question->site = site;
  question->from_ns = from_ns;
  question->forward = forward;
  question->number = ++question_;
  const std::vector<CaptureBlocks>& lists = provider_->blocks();
  for (std::size_t capture = 0; capture < lists.size(); ++capture) {
    for (std::size_t i = 0; i < lists[capture].blocks.size(); ++i) {
      const timeline::BlockPlace& block = lists[capture].blocks[i];
      if (forward ? block.end_ns > from_ns : block.start_ns < from_ns) {
        question->candidates.push_back({block.start_ns, block.end_ns, capture, provider_->first_block() + i});
      }
    }
  }
  std::sort(question->candidates.begin(), question->candidates.end(),
            [forward](const Candidate& a, const Candidate& b) {
              return forward ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
            });
  look_for_site(std::move(question));
}

void PanelData::look_for_site(std::shared_ptr<SiteQuestion> question) {
  worker_.ask([this, question = std::move(question)]() -> Worker::Delivery {
    // A few blocks at a time, so that the view's data is loaded in between.
    constexpr unsigned most_at_once = 32;
    for (unsigned i = 0; i < most_at_once && !question->is_answered(); ++i) {
      const Candidate& candidate = question->candidates[question->next++];
      try {
        if (const auto batch = provider_->read(candidate.capture, candidate.number, BatchParts::everything);
            batch != nullptr) {
          find_in(timeline::make_detail(*batch, true), question->site, question->from_ns, question->forward,
                  question->best);
        }
      } catch (const std::exception&) {
        // Nothing is found in unreadable blocks.
      }
    }
    return [this, question] {
      if (question->number != question_) {
        return;
      }
      if (question->is_answered()) {
        found_ = question->best;
      } else {
        look_for_site(question);
      }
    };
  });
}

}  // namespace kymo::panel
