// Gathers the tabs' lists.
#include "panel/lists/lists.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "panel/data/time_math.hpp"
#include "panel/lists/found_gatherer.hpp"
#include "panel/lists/keep_first.hpp"
#include "panel/lists/runs_until.hpp"
#include "panel/lists/site_gatherer.hpp"
#include "panel/lists/site_times.hpp"
#include "panel/lists/stack_gatherer.hpp"
#include "panel/lists/tree_gatherer.hpp"

namespace kymo::panel {

/// Gathers frames. Numbers them from the capture's first mark on.
class FrameList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& provider)
      : key_(key), knows_numbers_(provider.first_block() == 0), capture_(provider.capture_of(FrameStreamId{key.id})) {}

  [[nodiscard]] BlockScan scan() const {
    // All marks before the range count for the numbers.
    return {{std::numeric_limits<std::int64_t>::min(), key_.range.end_ns}, BatchParts::others, capture_, {}, {}};
  }

  /// A block cannot be read.
  void miss() {
    walk_.break_off();  // the next mark may belong to a later frame
    knows_numbers_ = false;
  }

  void take(const EventBatch& batch) {
    for (const FrameMark& mark : batch.frame_marks) {
      if (mark.stream != FrameStreamId{key_.id}) {
        continue;
      }
      const bool ends_frame = walk_.take(mark);
      if (ends_frame && walk_.start_ns() >= key_.range.start_ns && walk_.mark_ns() <= key_.range.end_ns &&
          (key_.times == nullptr || key_.times->overlap({walk_.start_ns(), walk_.mark_ns()}))) {
        durations_.add(walk_.duration_ns());
        if (key_.lengths.holds(walk_.duration_ns())) {
          list_.slowest.push_back({{walk_.start_ns(), walk_.duration_ns()}, knows_numbers_ ? walk_.number() : 0});
        }
      }
    }
    if (list_.slowest.size() > 4 * most_rows) {
      sort();
    }
  }

  [[nodiscard]] const FrameList& result() {
    sort();
    list_.durations = durations_.figures();
    return list_;
  }

 private:
  void sort() {
    keep_first(list_.slowest, most_rows, [](const Row& a, const Row& b) {
      return a.frame.duration_ns != b.frame.duration_ns ? a.frame.duration_ns > b.frame.duration_ns
                                                        : a.frame.start_ns < b.frame.start_ns;
    });
  }

  ListKey key_;
  bool knows_numbers_;
  std::size_t capture_;
  FrameList list_;
  stats::DurationCounter durations_;
  capture::FrameWalk walk_;
};

/// Gathers the scopes of a site.
class InstanceList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& provider)
      : key_(key), last_ns_(least_end_ns(key.range, provider)) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }

  void take(const EventBatch& batch, const ScannedBlock& block) {
    // What was skipped may have ended what is still open.
    has_skipped_later_ = has_skipped_later_ || block.skipped == timeline::SkippedBlocks::after;
    last_ns_ = std::max(last_ns_, has_skipped_later_ ? std::min(batch.end_ns, key_.range.end_ns) : batch.end_ns);
    runs_.take(batch, block, [this](const ScopeRun& run) {
      capture::match(run, stacks_[run.track], [&](const capture::ScopeSpan& span) {
        if (span.site == SiteId{key_.id}) {
          add(list_, run.track, span.depth, {span.start_ns, add_length(span.start_ns, span.duration_ns)}, span.self_ns,
              false, (span.flags & capture::ScopeSpan::self_is_bound) != 0);
        }
      });
    });
    if (list_.longest.size() > 4 * most_rows) {
      sort(list_);
    }
  }

  [[nodiscard]] const InstanceList& result() {
    result_ = list_;
    for (const auto& [track, stack] : stacks_) {
      for (std::size_t depth = 0; depth < stack.depth(); ++depth) {
        if (const capture::ScopeStack::Level open = stack[depth]; open.site == SiteId{key_.id}) {
          const std::int64_t length_ns = length_between(open.start_ns, last_ns_);
          add(result_, track, static_cast<std::uint16_t>(depth), {open.start_ns, add_length(open.start_ns, length_ns)},
              length_ns - std::min(length_ns, static_cast<std::int64_t>(open.inner_ns)), true, true);
        }
      }
    }
    sort(result_);
    return result_;
  }

 private:
  void add(InstanceList& list, TrackId track, std::uint16_t depth, TimeRange span, std::int64_t self_ns, bool is_open,
           bool is_bound) const {
    if (is_frame_of(span.start_ns, span.end_ns, key_.range) &&
        key_.lengths.holds(length_between(span.start_ns, span.end_ns))) {
      ++list.count;
      list.longest.push_back({{track, SiteId{key_.id}, depth, span.start_ns, span.end_ns}, self_ns, is_open, is_bound});
    }
  }

  static void sort(InstanceList& list) {
    keep_first(list.longest, most_rows, [](const Row& a, const Row& b) {
      const std::int64_t length_a = length_between(a.key.start_ns, a.key.end_ns);
      const std::int64_t length_b = length_between(b.key.start_ns, b.key.end_ns);
      return length_a != length_b ? length_a > length_b : a.key.start_ns < b.key.start_ns;
    });
  }

  ListKey key_;
  InstanceList list_;
  InstanceList result_;
  std::int64_t last_ns_;
  std::unordered_map<TrackId, capture::ScopeStack> stacks_;
  RunsUntil runs_;
  bool has_skipped_later_ = false;
};

/// Gathers messages.
class MessageList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::others, std::nullopt, {}, {}}; }

  void take(const EventBatch& batch) {
    for (const Message& message : batch.messages) {
      if (key_.holds(message.time_ns)) {
        ++list_.count;
        const bool is_long = message.text.size() > most_bytes;
        list_.first.push_back(
            {message.time_ns, message.track, message.text.substr(0, most_bytes), message.is_cut || is_long});
      }
    }
    if (list_.first.size() > 2 * most_rows) {
      sort();
    }
  }

  [[nodiscard]] const MessageList& result() {
    sort();
    return list_;
  }

 private:
  void sort() {
    keep_first(list_.first, most_rows, [](const Row& a, const Row& b) { return a.time_ns < b.time_ns; });
  }

  ListKey key_;
  MessageList list_;
};

/// Gathers the samples of metrics.
class MetricList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::others, std::nullopt, {}, {}}; }

  void take(const EventBatch& batch) {
    for (const SampleRun& run : batch.samples) {
      for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
        if (std::isfinite(run.values[i]) && key_.holds(run.times_ns[i])) {
          add(metrics_[run.metric], run.values[i]);
        }
      }
    }
  }

  [[nodiscard]] MetricList result() const {
    MetricList list;
    for (const auto& [metric, sums] : metrics_) {
      list.rows.push_back(sums.row);
      list.rows.back().metric = metric;
      list.rows.back().deviation =
          sums.row.count > 1 ? std::sqrt(sums.squares / static_cast<double>(sums.row.count - 1)) : 0;
    }
    return list;
  }

 private:
  struct Sums {
    Row row;
    double squares = 0;  // of the differences from the mean
  };

  static void add(Sums& sums, double value) {
    Row& row = sums.row;
    const bool is_first = row.count == 0;
    ++row.count;
    row.min = is_first ? value : std::min(row.min, value);
    row.max = is_first ? value : std::max(row.max, value);
    row.first = is_first ? value : row.first;
    row.last = value;
    const double off = value - row.mean;
    row.mean += off / static_cast<double>(row.count);
    sums.squares += off * (value - row.mean);
  }

  ListKey key_;
  std::map<MetricId, Sums> metrics_;
};

/// Gathers the scopes of one depth of a track.
class InnerList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::scopes, std::nullopt, {}, {}}; }

  void take(const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      if (run.track != TrackId{key_.id}) {
        continue;
      }
      capture::match(run, stack_, [this](const capture::ScopeSpan& span) {
        const std::int64_t end_ns = add_length(span.start_ns, span.duration_ns);
        if (span.depth == key_.depth && span.start_ns >= key_.range.start_ns && end_ns <= key_.range.end_ns) {
          Row& row = sites_[span.site];
          ++row.count;
          row.total_ns += static_cast<std::uint64_t>(span.duration_ns);
        } else if (span.depth + 1 == key_.depth && span.start_ns == key_.range.start_ns &&
                   end_ns == key_.range.end_ns && (span.flags & capture::ScopeSpan::self_is_bound) == 0) {
          self_ns_ = span.self_ns;
        }
      });
    }
  }

  [[nodiscard]] InnerList result() const {
    InnerList list{{}, self_ns_};
    for (const auto& [site, row] : sites_) {
      list.rows.push_back({site, row.count, row.total_ns});
    }
    std::sort(list.rows.begin(), list.rows.end(), [](const Row& a, const Row& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.site < b.site;
    });
    return list;
  }

 private:
  ListKey key_;
  capture::ScopeStack stack_;
  std::unordered_map<SiteId, Row> sites_;
  std::optional<std::int64_t> self_ns_;
};

FrameNumber MarkList::number_at(std::size_t place) const {
  const auto behind = std::upper_bound(broken_off.begin(), broken_off.end(), place);
  return place + 1 - static_cast<FrameNumber>(behind - broken_off.begin());
}

std::optional<std::size_t> MarkList::place_of(FrameNumber number) const {
  if (number == 0 || number > frames.size()) {
    return std::nullopt;
  }
  auto place = static_cast<std::size_t>(number) - 1;
  for (const std::size_t broken : broken_off) {
    place += broken <= place + 1 ? 1U : 0U;
  }
  return place < frames.size() ? std::optional(place) : std::nullopt;
}

/// Gathers the marks of a frame stream, and sync points.
class MarkList::Gatherer {
 public:
  Gatherer(const ListKey& key, const BlockProvider& /*provider*/) : key_(key) {}

  [[nodiscard]] BlockScan scan() const { return {key_.range, BatchParts::others, std::nullopt, {}, {}}; }

  void take(const EventBatch& batch) {
    for (const FrameMark& mark : batch.frame_marks) {
      if (mark.stream.value() == key_.id && frames_.size() < most_marks) {
        walk_.take(mark);
        frames_.emplace_back(walk_.mark_ns(), mark.is_break);
      }
    }
    for (const SyncPoint& point : batch.sync_points) {
      if (sync_points_.size() < most_marks) {
        const auto known = sync_points_.emplace(point.number, point.time_ns).first;
        known->second = std::min(known->second, point.time_ns);
      }
    }
  }

  [[nodiscard]] MarkList result() const {
    MarkList list{{}, {sync_points_.begin(), sync_points_.end()}};
    bool follows_break = false;
    for (const auto& [time_ns, is_break] : frames_) {
      if (!is_break) {
        if (follows_break && !list.frames.empty()) {
          list.broken_off.push_back(list.frames.size());
        }
        list.frames.push_back(time_ns);
      }
      follows_break = is_break;
    }
    return list;
  }

 private:
  ListKey key_;
  capture::FrameWalk walk_;
  std::vector<std::pair<std::int64_t, bool>> frames_;  // marks and breaks
  std::map<std::uint64_t, std::int64_t> sync_points_;
};

template <typename List>
void KeptList<List>::forget() {
  if (has_key_) {
    has_key_ = false;
    is_whole_ = false;
    reading_ = 0;
    list_ = {};
    ++version_;
  }
}

template <typename List>
void KeptList<List>::keep_fresh(PanelData& data, const ListKey& key) {
  const bool is_new = !has_key_ || !(key == key_);
  const bool is_outdated =
      reading_ == 0 && (data_version_ != data.data_version() || key.times != key_.times) && Clock::now() >= renews_at_;
  if (!is_new && !is_outdated) {
    return;
  }
  key_ = key;
  has_key_ = true;
  reading_ = ++readings_;
  data_version_ = data.data_version();
  started_ = Clock::now();
  if (is_new) {
    list_ = {};
    is_whole_ = false;
    ++version_;
  }
  const auto gatherer = std::make_shared<typename List::Gatherer>(key, data.provider());
  auto scan = std::make_shared<BlockScan>(gatherer->scan());
  scan->take = [gatherer](const EventBatch* batch, const ScannedBlock& block) {
    if (batch != nullptr) {
      if constexpr (requires { gatherer->take(*batch, block); }) {
        gatherer->take(*batch, block);
      } else {
        gatherer->take(*batch);
      }
    } else if constexpr (requires { gatherer->miss(); }) {
      gatherer->miss();
    }  // Lists with stacks see the gap in the sequence numbers; the rest has no order to lose.
  };
  scan->deliver = [this, gatherer, is_new, number = reading_, is_alive = std::weak_ptr<bool>(is_alive_)](bool is_done) {
    if (is_alive.expired() || number != reading_) {
      return false;
    }
    if constexpr (requires { gatherer->finish(); }) {
      if (is_done) {
        gatherer->finish();
      }
    }
    // A list that is read anew stays until the new one is whole. Showing one that grows takes a tenth of the time.
    if (is_done || (is_new && Clock::now() >= shows_at_)) {
      const Clock::time_point before = Clock::now();
      list_ = gatherer->result();
      ++version_;
      shows_at_ = Clock::now() + 9 * (Clock::now() - before);
    }
    if (is_done) {
      is_whole_ = true;
      reading_ = 0;
      renews_at_ = Clock::now() + std::max<Clock::duration>(std::chrono::seconds(1), 3 * (Clock::now() - started_));
    }
    return true;
  };
  data.scan(std::move(scan));
}

template class KeptList<FrameList>;
template class KeptList<InstanceList>;
template class KeptList<FoundList>;
template class KeptList<InnerList>;
template class KeptList<MarkList>;
template class KeptList<MessageList>;
template class KeptList<MetricList>;
template class KeptList<SiteList>;
template class KeptList<SiteTimes>;
template class KeptList<StackList>;
template class KeptList<TreeList>;

}  // namespace kymo::panel
