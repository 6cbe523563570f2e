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
  std::uint64_t moves_before = 0;  // migrations in all earlier pieces
  std::uint64_t own_moves = 0;
  std::optional<std::uint32_t> cpu_before;  // on which the thread ran last
};

/// Counts the times at which a thread begins to run on another CPU.
class MoveCounter {
 public:
  explicit MoveCounter(std::optional<std::uint32_t> cpu) : cpu_(cpu) {}

  /// Takes the thread's next row. Rows of other states name the same CPU, or that on which the thread was made.
  bool is_move(const ThreadState& state) {
    return state.state == RunState::running && std::exchange(cpu_, state.cpu).value_or(state.cpu) != state.cpu;
  }
  [[nodiscard]] std::optional<std::uint32_t> cpu() const { return cpu_; }

 private:
  std::optional<std::uint32_t> cpu_;
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

/// The first piece, from `from` on, that starts at a time or later.
std::vector<Piece>::const_iterator first_from(std::vector<Piece>::const_iterator from, const std::vector<Piece>& pieces,
                                              std::int64_t time_ns) {
  return std::lower_bound(from, pieces.end(), time_ns,
                          [](const Piece& piece, std::int64_t wanted_ns) { return piece.start_ns < wanted_ns; });
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

  using Pieces = std::vector<Piece>;
  struct Decoded {
    std::size_t source = 0;
    std::size_t block = 0;
    std::unordered_map<ThreadId, std::vector<ThreadState>> states;
  };

  [[nodiscard]] const std::vector<ThreadState>& decode(const Piece& piece, ThreadId thread);
  [[nodiscard]] KnownStates add_up(ThreadId thread, Pieces::const_iterator first, Pieces::const_iterator last,
                                   TimeRange range);
  [[nodiscard]] std::optional<RunTimes> times_of(ThreadId thread, const Pieces& pieces, TimeRange range);

  // Of ThreadStates, whose functions are below.
  // NOLINTBEGIN(readability-identifier-naming)
  std::unordered_map<ThreadId, Pieces> pieces_;
  std::unordered_map<TrackId, std::vector<ThreadId>> threads_;
  // NOLINTEND(readability-identifier-naming)

 private:
  static constexpr std::size_t most_decoded = 4;

  void read_index();
  void join_tracks(const Timeline& timeline);

  std::span<const std::unique_ptr<timeline::Source>> sources_;
  std::list<Decoded> decoded_;  // the latest first
};

void ThreadStates::Implementation::read_index() {
  EventBatch batch;
  std::unordered_map<ThreadId, MoveCounter> counters;
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
        MoveCounter& counter = counters.try_emplace(run.thread, std::nullopt).first->second;
        Piece piece;
        piece.source = source;
        piece.block = block;
        piece.start_ns = run.states.front().start_ns;
        piece.end_ns = run.states.back().end_ns();
        piece.cpu_before = counter.cpu();
        if (!pieces.empty()) {
          for (std::size_t state = 0; state < piece.before.size(); ++state) {
            piece.before[state] = pieces.back().before[state] + pieces.back().own[state];
          }
          piece.moves_before = pieces.back().moves_before + pieces.back().own_moves;
        }
        for (const ThreadState& state : run.states) {
          piece.own[static_cast<std::size_t>(state.state)] += state.duration_ns;
          piece.own_moves += counter.is_move(state) ? 1U : 0U;
        }
        pieces.push_back(piece);
      }
    }
  }
}

void ThreadStates::Implementation::join_tracks(const Timeline& timeline) {
  threads_ = timeline::threads_of_tracks(timeline.declarations());
  for (auto& [track, threads] : threads_) {
    std::erase_if(threads, [this](ThreadId thread) { return pieces_.count(thread) == 0; });
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

std::vector<ThreadState> ThreadStates::states(ThreadId thread, TimeRange range) const {
  std::vector<ThreadState> all;
  const auto pieces = implementation_->pieces_.find(thread);
  if (pieces == implementation_->pieces_.end()) {
    return all;
  }
  const std::vector<Piece>& known = pieces->second;
  for (auto piece = first_after(known, range.start_ns); piece != known.end() && piece->start_ns < range.end_ns;
       ++piece) {
    for (const ThreadState& state : implementation_->decode(*piece, thread)) {
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

/// The pieces [first, last) overlap the range. Those between the outer two lie in it as a whole.
KnownStates ThreadStates::Implementation::add_up(ThreadId thread, Pieces::const_iterator first,
                                                 Pieces::const_iterator last, TimeRange range) {
  Sums sums{};
  std::uint64_t moves = 0;
  const auto add_part = [&](const Piece& piece) {
    if (piece.start_ns >= range.start_ns && piece.end_ns <= range.end_ns) {
      for (std::size_t state = 0; state < sums.size(); ++state) {
        sums[state] += piece.own[state];
      }
      moves += piece.own_moves;
      return;
    }
    MoveCounter counter(piece.cpu_before);
    for (const ThreadState& state : decode(piece, thread)) {
      sums[static_cast<std::size_t>(state.state)] += overlap_ns(state, range);
      const bool is_inside = state.start_ns >= range.start_ns && state.start_ns < range.end_ns;
      moves += counter.is_move(state) && is_inside ? 1U : 0U;
    }
  };
  if (first == last) {
    return {};
  }
  add_part(*first);
  if (const auto outer = std::prev(last); outer != first) {
    add_part(*outer);
    for (std::size_t state = 0; state < sums.size(); ++state) {
      sums[state] += outer->before[state] - first->before[state] - first->own[state];
    }
    moves += outer->moves_before - first->moves_before - first->own_moves;
  }
  return {{sums[0], sums[1], sums[2]}, moves};
}

std::optional<RunTimes> ThreadStates::Implementation::times_of(ThreadId thread, const Pieces& pieces, TimeRange range) {
  const auto first = first_after(pieces, range.start_ns);
  const auto last = first_from(first, pieces, range.end_ns);
  if (first == last || first->start_ns > range.start_ns || std::prev(last)->end_ns < range.end_ns) {
    return std::nullopt;
  }
  const RunTimes times = add_up(thread, first, last, range).times;
  if (times.running_ns + times.runnable_ns + times.blocked_ns != range.end_ns - range.start_ns) {
    return std::nullopt;
  }
  return times;
}

KnownStates ThreadStates::known(ThreadId thread, TimeRange range) const {
  const auto pieces = implementation_->pieces_.find(thread);
  if (pieces == implementation_->pieces_.end() || range.end_ns < range.start_ns) {
    return {};
  }
  const auto first = first_after(pieces->second, range.start_ns);
  return implementation_->add_up(thread, first, first_from(first, pieces->second, range.end_ns), range);
}

std::optional<RunTimes> ThreadStates::times(TrackId track, TimeRange range) const {
  const auto threads = implementation_->threads_.find(track);
  if (threads == implementation_->threads_.end() || range.end_ns < range.start_ns) {
    return std::nullopt;
  }
  for (const ThreadId thread : threads->second) {
    if (const auto times = implementation_->times_of(thread, implementation_->pieces_.at(thread), range)) {
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
  return implementation_->pieces_.empty();
}
std::vector<ThreadId> ThreadStates::threads_of(TrackId track) const {
  const auto found = implementation_->threads_.find(track);
  return found != implementation_->threads_.end() ? found->second : std::vector<ThreadId>();
}

}  // namespace kymo
