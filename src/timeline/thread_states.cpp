// Run states of threads, found by an index of what each block holds of each thread.
#include <kymo/thread_states.hpp>

#include <algorithm>
#include <array>
#include <list>
#include <unordered_map>
#include <utility>

#include "timeline/observed_threads.hpp"
#include "timeline/timeline_implementation.hpp"

namespace kymo {
namespace {

using Sums = std::array<std::int64_t, 3>;  // by RunState

/// What one block holds of a thread.
struct Piece {
  std::size_t source = 0;
  std::size_t block = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  Sums before{};  // of all earlier pieces
  Sums own{};
};

/// The overlap of a state with a range.
std::int64_t overlap_ns(const ThreadState& state, TimeRange range) {
  return std::max<std::int64_t>(std::min(state.end_ns(), range.end_ns) - std::max(state.start_ns, range.start_ns), 0);
}

/// The first piece that ends after a time.
std::vector<Piece>::const_iterator first_after(const std::vector<Piece>& pieces, std::int64_t time_ns) {
  return std::upper_bound(pieces.begin(), pieces.end(), time_ns,
                          [](std::int64_t wanted_ns, const Piece& piece) { return wanted_ns < piece.end_ns; });
}

bool are_sane(const StateRun& run) {
  std::int64_t end_ns = run.states.empty() ? 0 : run.states.front().start_ns;
  return !run.states.empty() && std::all_of(run.states.begin(), run.states.end(), [&end_ns](const ThreadState& state) {
    const bool follows = state.start_ns >= end_ns && state.end_ns() >= state.start_ns;
    end_ns = state.end_ns();
    return follows;
  });
}

}  // namespace

class ThreadStates::Implementation {
 public:
  explicit Implementation(const Timeline& timeline) : sources_(timeline::sources_of(timeline)) {
    if (!timeline.declarations().threads.empty()) {
      read_index();
      join_tracks(timeline);
    }
  }

  [[nodiscard]] bool empty() const { return pieces_.empty(); }
  [[nodiscard]] std::vector<ThreadId> threads_of(TrackId track) const {
    const auto found = threads_.find(track);
    return found != threads_.end() ? found->second : std::vector<ThreadId>();
  }
  [[nodiscard]] std::vector<ThreadState> states(ThreadId thread, TimeRange range);
  [[nodiscard]] std::optional<RunTimes> times(TrackId track, TimeRange range);

 private:
  using Pieces = std::vector<Piece>;
  struct Decoded {
    std::size_t source = 0;
    std::size_t block = 0;
    std::unordered_map<ThreadId, std::vector<ThreadState>> states;
  };

  void read_index();
  void join_tracks(const Timeline& timeline);
  [[nodiscard]] const std::vector<ThreadState>& decode(const Piece& piece, ThreadId thread);
  [[nodiscard]] std::optional<RunTimes> times_of(ThreadId thread, const Pieces& pieces, TimeRange range);

  static constexpr std::size_t most_decoded = 4;

  std::span<const std::unique_ptr<timeline::Source>> sources_;
  std::unordered_map<ThreadId, Pieces> pieces_;
  std::unordered_map<TrackId, std::vector<ThreadId>> threads_;
  std::list<Decoded> decoded_;  // the latest first
};

void ThreadStates::Implementation::read_index() {
  EventBatch batch;
  for (std::size_t source = 0; source < sources_.size(); ++source) {
    for (std::size_t block = 0; block < sources_[source]->block_count(); ++block) {
      if (!sources_[source]->read(block, BatchParts::states, batch)) {
        continue;
      }
      for (const StateRun& run : batch.states) {
        Pieces& pieces = pieces_[run.thread];
        // A thread's states ascend over a capture's blocks. What a damaged one says instead is left out.
        if (!are_sane(run) || (!pieces.empty() && pieces.back().end_ns > run.states.front().start_ns)) {
          continue;
        }
        Piece piece{source, block, run.states.front().start_ns, run.states.back().end_ns(), {}, {}};
        if (!pieces.empty()) {
          for (std::size_t state = 0; state < piece.before.size(); ++state) {
            piece.before[state] = pieces.back().before[state] + pieces.back().own[state];
          }
        }
        for (const ThreadState& state : run.states) {
          piece.own[static_cast<std::size_t>(state.state)] += state.duration_ns;
        }
        pieces.push_back(piece);
      }
    }
  }
}

void ThreadStates::Implementation::join_tracks(const Timeline& timeline) {
  threads_ = timeline::threads_of_tracks(timeline.declarations());
  for (auto& [track, threads] : threads_) {
    threads.erase(
        std::remove_if(threads.begin(), threads.end(), [this](ThreadId thread) { return pieces_.count(thread) == 0; }),
        threads.end());
  }
}

const std::vector<ThreadState>& ThreadStates::Implementation::decode(const Piece& piece, ThreadId thread) {
  const auto found = std::find_if(decoded_.begin(), decoded_.end(), [&piece](const Decoded& decoded) {
    return decoded.source == piece.source && decoded.block == piece.block;
  });
  if (found != decoded_.end()) {
    decoded_.splice(decoded_.begin(), decoded_, found);
  } else {
    Decoded& decoded = decoded_.emplace_front();
    decoded.source = piece.source;
    decoded.block = piece.block;
    EventBatch batch;
    if (sources_[piece.source]->read(piece.block, BatchParts::states, batch)) {
      for (StateRun& run : batch.states) {
        decoded.states.try_emplace(run.thread, std::move(run.states));
      }
    }
    if (decoded_.size() > most_decoded) {
      decoded_.pop_back();
    }
  }
  return decoded_.front().states[thread];
}

std::vector<ThreadState> ThreadStates::Implementation::states(ThreadId thread, TimeRange range) {
  std::vector<ThreadState> all;
  const auto pieces = pieces_.find(thread);
  if (pieces == pieces_.end()) {
    return all;
  }
  const Pieces& known = pieces->second;
  for (auto piece = first_after(known, range.start_ns); piece != known.end() && piece->start_ns < range.end_ns;
       ++piece) {
    for (const ThreadState& state : decode(*piece, thread)) {
      if (state.end_ns() <= range.start_ns || state.start_ns >= range.end_ns) {
        continue;
      }
      const bool goes_on = !all.empty() && all.back().end_ns() == state.start_ns && all.back().state == state.state &&
                           all.back().cpu == state.cpu;
      if (goes_on) {
        all.back().duration_ns += state.duration_ns;
      } else {
        all.push_back(state);
      }
    }
  }
  return all;
}

std::optional<RunTimes> ThreadStates::Implementation::times_of(ThreadId thread, const Pieces& pieces, TimeRange range) {
  const auto first = first_after(pieces, range.start_ns);
  const auto last = std::lower_bound(first, pieces.end(), range.end_ns,
                                     [](const Piece& piece, std::int64_t time_ns) { return piece.start_ns < time_ns; });
  if (first == last || first->start_ns > range.start_ns || std::prev(last)->end_ns < range.end_ns) {
    return std::nullopt;
  }
  Sums sums{};
  // The pieces between the outer ones lie in the range as a whole.
  const auto add_part = [&](const Piece& piece) {
    for (const ThreadState& state : decode(piece, thread)) {
      sums[static_cast<std::size_t>(state.state)] += overlap_ns(state, range);
    }
  };
  add_part(*first);
  if (const auto outer = std::prev(last); outer != first) {
    add_part(*outer);
    for (std::size_t state = 0; state < sums.size(); ++state) {
      sums[state] += outer->before[state] - first->before[state] - first->own[state];
    }
  }
  if (sums[0] + sums[1] + sums[2] != range.end_ns - range.start_ns) {
    return std::nullopt;
  }
  return RunTimes{sums[0], sums[1], sums[2]};
}

std::optional<RunTimes> ThreadStates::Implementation::times(TrackId track, TimeRange range) {
  const auto threads = threads_.find(track);
  if (threads == threads_.end() || range.end_ns < range.start_ns) {
    return std::nullopt;
  }
  for (const ThreadId thread : threads->second) {
    if (const auto times = times_of(thread, pieces_.at(thread), range)) {
      return times;
    }
  }
  return std::nullopt;
}

ThreadStates::ThreadStates(const Timeline& timeline) : implementation_(std::make_unique<Implementation>(timeline)) {}
ThreadStates::ThreadStates(ThreadStates&&) noexcept = default;
ThreadStates& ThreadStates::operator=(ThreadStates&&) noexcept = default;
ThreadStates::~ThreadStates() = default;

bool ThreadStates::empty() const {
  return implementation_->empty();
}
std::vector<ThreadId> ThreadStates::threads_of(TrackId track) const {
  return implementation_->threads_of(track);
}
std::vector<ThreadState> ThreadStates::states(ThreadId thread, TimeRange range) const {
  return implementation_->states(thread, range);
}
std::optional<RunTimes> ThreadStates::times(TrackId track, TimeRange range) const {
  return implementation_->times(track, range);
}

}  // namespace kymo
