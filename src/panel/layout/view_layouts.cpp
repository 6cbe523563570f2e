// The layouts of a view, made anew where what they depend on has changed.
#include <algorithm>
#include <tuple>
#include <utility>

#include "panel/layout/view_state.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo::panel {

bool ViewState::is_new(LayoutKey& known, const LayoutKey& now) {
  if (known == now) {
    return false;
  }
  known = now;
  return true;
}

ViewState::LayoutKey ViewState::key_of(const TimeAxis& axis, double least_pixels) const {
  return {data_.revision(), axis.range().start_ns, axis.range().end_ns, axis.width(), least_pixels};
}

const std::vector<Piece>& ViewState::overview_pieces() {
  LayoutKey key = key_of(overview_, 0);
  key.width = 0;
  if (is_new(pieces_key_, key)) {
    std::vector<Piece> pieces = data_.pieces(overview_.range(), {Asker::overview, false});
    has_new_pieces_ = has_new_pieces_ || pieces != overview_pieces_;
    overview_pieces_ = std::move(pieces);
  }
  return overview_pieces_;
}

const FrameBars& ViewState::frame_bars(double least_pixels) {
  LayoutKey key = key_of(overview_, least_pixels);
  key.detail = stream().value();
  if (is_new(bars_key_, key)) {
    ++layouts_made_;
    bars_ = lay_out_frames(data_.frames(stream(), overview_.range(), Asker::frames), overview_, least_pixels);
  }
  return bars_;
}

const std::vector<MetricSteps>& ViewState::metrics(double least_pixels) {
  if (is_new(metrics_key_, key_of(overview_, least_pixels))) {
    ++layouts_made_;
    ++metrics_made_;
    const std::vector<Piece>& pieces = overview_pieces();
    std::vector<Piece> past = data_.past(overview_.range().start_ns, Asker::past);
    if (std::exchange(has_new_pieces_, false)) {
      holds_.learn(pieces);
    }
    if (past != past_) {
      past_ = std::move(past);
      holds_.learn(past_);
    }
    metrics_ = lay_out_metrics(pieces, past_, holds_, data_.provider().declarations(), overview_, least_pixels);
  }
  return metrics_;
}

const std::vector<SyncMark>& ViewState::overview_sync_points() {
  if (is_new(sync_key_, key_of(overview_, 0))) {
    sync_points_ = lay_out_sync_points(overview_pieces(), overview_);
  }
  return sync_points_;
}

const FrameBars& ViewState::chart_frames() {
  LayoutKey key = key_of(flame_, least_bar_pixels);
  key.detail = stream().value();
  if (is_new(chart_frames_key_, key)) {
    chart_frames_ =
        lay_out_frames(data_.frames(stream(), flame_.range(), Asker::chart_frames), flame_, least_bar_pixels);
  }
  return chart_frames_;
}

std::optional<FrameNumber> ViewState::frame_number(const Frame& frame, Asker asker) {
  KnownNumber& known = numbers_[static_cast<std::size_t>(asker)];
  if (known.revision != data_.revision() || known.stream != stream() || known.start_ns != frame.start_ns) {
    known = {data_.revision(), stream(), frame.start_ns, data_.frame_number(stream(), frame.start_ns, asker)};
  }
  return known.number;
}

void ViewState::find_threads() {
  const Declarations& declared = data_.provider().declarations();
  std::uint64_t shown = tracks_.order().version();
  for (const FlameTrack& track : flame_layout_.tracks) {
    shown = shown * 0x9E3779B97F4A7C15U + track.track.value();
  }
  const std::tuple now(declared.threads.size(), declared.tracks.size(), shown);
  if (now == threads_of_) {
    return;
  }
  threads_of_ = now;
  threads_.clear();
  thread_tracks_ = timeline::threads_of_tracks(declared);
  for (const auto& [track, threads] : thread_tracks_) {
    for (const ThreadId thread : threads) {
      threads_[thread] = track;
    }
  }
  find_scopeless();
}

void ViewState::find_scopeless() {
  std::unordered_set<TrackId> shown;
  for (const FlameTrack& track : flame_layout_.tracks) {
    shown.insert(track.track);
  }
  // A track may have nothing to show. What is hidden stays so.
  const auto is_elsewhere = [&](TrackId track) {
    return shown.count(track) != 0 || tracks_.order().is_hidden(track.value());
  };
  std::vector<const ThreadDeclaration*> scopeless;
  for (const ThreadDeclaration& thread : data_.provider().declarations().threads) {
    const auto track = threads_.find(thread.id);
    if (track == threads_.end() || !is_elsewhere(track->second)) {
      scopeless.push_back(&thread);
    }
  }
  const auto place = [](const ThreadDeclaration* thread) {
    return std::tuple(thread->process, thread->pid, thread->os_thread_id);
  };
  std::stable_sort(scopeless.begin(), scopeless.end(),
                   [&](const auto* a, const auto* b) { return place(a) < place(b); });
  scopeless.resize(std::min(scopeless.size(), most_state_lanes));
  scopeless_threads_.clear();
  for (const ThreadDeclaration* const thread : scopeless) {
    scopeless_threads_.push_back(thread->id);
  }
}

void ViewState::place_lanes() {
  constexpr std::size_t most_unfolded = 64;
  cpu_group_.line = flame_layout_.lines;
  cpu_group_.lanes = static_cast<std::uint32_t>(cpus_.size());
  scopeless_group_.line = cpu_group_.line + cpu_group_.lines();
  scopeless_group_.lanes = static_cast<std::uint32_t>(scopeless_threads_.size());
  scopeless_group_.is_folded = folds_scopeless_.value_or(scopeless_threads_.size() > most_unfolded);
}

const FlameLayout& ViewState::flame_layout(const FlameOptions& options) {
  LayoutKey key = key_of(flame_, options.least_pixels);
  key.detail = options.first_line;
  key.end_detail = options.end_line;
  key.tracks = tracks_.version();
  key.folds = (cpu_group_.is_folded ? 1U : 0U) + (!folds_scopeless_ ? 2U : *folds_scopeless_ ? 4U : 0U);
  const bool is_moving = is_new(flame_key_, key);
  if (is_moving || flame_is_draft_) {
    ++layouts_made_;
    const Wish wish{Asker::flame, true, static_cast<std::int64_t>(options.least_pixels * flame_.ns_per_pixel())};
    const std::vector<Piece> pieces = data_.pieces(flame_.range(), wish);
    FlameOptions arranged = options;
    arranged.tracks = &tracks_;
    // While it moves, the chart begins with what the last frame came to. Once it stands still, it shows all it has room
    // for.
    arranged.doublings = is_moving ? flame_layout_.next_doublings : 0;
    flame_is_draft_ = arranged.doublings != 0;
    flame_layout_ = lay_out_flame(pieces, flame_, arranged);
    find_threads();
    mark_layout_ = lay_out_marks(pieces, flame_, flame_layout_, threads_);
    add_cpus(pieces, cpus_);
    place_lanes();
    state_layout_ =
        lay_out_states(pieces, flame_,
                       {flame_layout_, thread_tracks_, cpus_, scopeless_threads_, cpu_group_, scopeless_group_,
                        options.first_line, options.end_line, state_layout_.column_pixels});
  }
  return flame_layout_;
}

}  // namespace kymo::panel
