#include "exchange/common/selected_timeline.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/batch_cursor.hpp>

#include "base/output/output_file.hpp"
#include "base/system/file.hpp"
#include "base/system/system.hpp"
#include "base/time_math.hpp"
#include "capture/merge/batch_joiner.hpp"
#include "capture/merge/clock_alignment.hpp"
#include "capture/write/capture_writer.hpp"
#include "exchange/common/selected_frames.hpp"
#include "stats/common/selection.hpp"
#include "timeline/block_choice.hpp"
#include "timeline/observed_threads.hpp"
#include "timeline/source.hpp"

namespace kymo::exchange {
namespace {

constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();

template <typename Events, typename IsKept>
void keep_if(Events& events, IsKept is_kept) {
  std::erase_if(events, [&is_kept](auto& event) { return !is_kept(event); });
}

/// The copy's file.
class UnnamedFile final : public capture::BlockDestination {
 public:
  UnnamedFile() : directory_(std::filesystem::temp_directory_path().string()), file_(base::open_unnamed(directory_)) {
    if (!file_) {
      throw base::OutputError(base::describe_errno("cannot create a file for the selected part in", directory_, errno));
    }
    name_ = "/dev/fd/" + std::to_string(file_.get());
  }

  void append(std::span<const std::byte> bytes) override {
    if (!base::write_fully(file_.get(), bytes)) {
      throw base::OutputError(base::describe_errno(
          "cannot write the selected part, which needs as much room as in the captures, in", directory_, errno));
    }
  }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string directory_;
  base::FileDescriptor file_;
  std::string name_;
};

/// What is selected of a track, a thread or a process.
struct Part {
  TimeRange range;
  bool is_taken = true;

  [[nodiscard]] bool holds(std::int64_t time_ns) const {
    return is_taken && time_ns >= range.start_ns && time_ns < range.end_ns;
  }
  /// Of marks that delimit stretches, the one at the end counts too.
  [[nodiscard]] bool holds_mark(std::int64_t time_ns) const {
    return is_taken && time_ns >= range.start_ns && time_ns <= range.end_ns;
  }
  /// Cuts a stretch; false if none of it is inside.
  template <typename Stretch>
  [[nodiscard]] bool cut(Stretch& stretch) const {
    const std::int64_t end_ns = base::add_length(stretch.start_ns, stretch.duration_ns);
    const bool reaches_into =
        stretch.start_ns < range.end_ns && (end_ns > range.start_ns || stretch.start_ns >= range.start_ns);
    stretch.start_ns = std::max(stretch.start_ns, range.start_ns);
    stretch.duration_ns = std::max<std::int64_t>(std::min(end_ns, range.end_ns) - stretch.start_ns, 0);
    return is_taken && reaches_into;
  }
};

/// Makes the batch's time hold an event.
void extend(EventBatch& batch, std::int64_t time_ns) {
  const bool is_first = batch.runs.empty() && batch.async_begins.empty();
  batch.start_ns = is_first ? time_ns : std::min(batch.start_ns, time_ns);
  batch.end_ns = is_first ? time_ns : std::max(batch.end_ns, time_ns);
}

class SelectedCopy {
 public:
  SelectedCopy(const Timeline& timeline, const stats::Selection& selection)
      : timeline_(timeline),
        selection_(selection),
        frames_(timeline, selection),
        choices_(timeline.capture_count(), timeline::BlockChoice(selection.range())),
        threads_of_tracks_(timeline::threads_of_tracks(timeline.declarations())) {
    select_threads();
  }

  void write(capture::CaptureWriter& writer, const std::function<void(double)>& on_progress) {
    if (selection_.chooses_sites()) {
      read_samples();
    }
    const auto sources = timeline::sources_of(timeline_);
    const TimeRange range = selection_.range();
    // The wall clock of the first block serves a part that has none.
    EventBatch batch;
    if (selection_.cuts_time() && sources[0]->block_count() != 0 && sources[0]->start_ns(0) < range.start_ns &&
        sources[0]->read(0, BatchParts::others, batch)) {
      EventBatch clock;
      clock.clock_anchors = batch.clock_anchors;
      clock.start_ns = clock.end_ns = std::max(range.start_ns, timeline_.range().start_ns);
      writer.write(clock);
    }
    BatchCursor cursor(timeline_, {}, BatchParts::everything, [&](std::size_t capture, std::size_t block) {
      const timeline::Source& source = *sources[capture];
      return !selection_.cuts_time() ||
             choices_[capture].needs(source.start_ns(block), source.end_ns(block), block + 1 == source.block_count());
    });
    // Each block names the open scopes of all captures' tracks.
    capture::BatchJoiner joiner;
    while (cursor.next(batch)) {
      cut(batch, cursor.capture());
      if (!joiner.fits(batch)) {
        writer.write(joiner.take());
      }
      joiner.add(batch);
      if (on_progress) {
        on_progress(cursor.share_done());
      }
    }
    if (!joiner.empty()) {
      writer.write(joiner.take());
    }
    batch = last_batch();
    if (!batch.runs.empty() || !batch.async_begins.empty()) {
      writer.write(batch);
    }
    write_samples_inside(writer);
  }

 private:
  struct Track {
    Part part;
    stats::RunCut cut;
    std::size_t capture = 0;
    std::optional<std::int64_t> inside_since_ns;  // a scope of a selected site is open
    std::vector<ThreadId> threads;
  };
  /// A sample that waits to be found inside a scope.
  struct WaitingSample {
    StackSample sample;
    bool is_inside = false;
  };

  /// A thread that recorded scopes belongs to its own process, any other to its observer.
  void select_threads() {
    for (const ThreadDeclaration& thread : timeline_.declarations().threads) {
      TrackDeclaration as_track;
      as_track.process = thread.process;
      as_track.name = thread.name;
      threads_[thread.id] = {selection_.range_of(thread.process), selection_.takes_track(as_track)};
    }
    for (const auto& [track, threads] : threads_of_tracks_) {
      for (const ThreadId thread : threads) {
        const TrackDeclaration& declared = timeline_.track(track);
        if (selection_.takes_track(declared)) {
          threads_[thread] = part_of(declared.process);
        }
      }
    }
  }

  void read_samples() {
    BatchCursor cursor(timeline_, selection_.range(), BatchParts::stacks);
    for (EventBatch batch; cursor.next(batch);) {
      for (const StackSample& sample : batch.stack_samples) {
        if (threads_[sample.thread].holds(sample.time_ns)) {
          waiting_[sample.thread].push_back({sample, false});
        }
      }
    }
    for (auto& [thread, waiting] : waiting_) {
      std::stable_sort(waiting.begin(), waiting.end(), [](const WaitingSample& a, const WaitingSample& b) {
        return a.sample.time_ns < b.sample.time_ns;
      });
    }
  }

  [[nodiscard]] Track& track_of(TrackId id) {
    const auto [place, is_new] = tracks_.try_emplace(id);
    Track& track = place->second;
    if (is_new) {
      const TrackDeclaration& declared = timeline_.track(id);
      track.part = part_of(declared.process);
      track.part.is_taken = track.part.range.start_ns < track.part.range.end_ns && selection_.takes_track(declared);
      track.cut = stats::RunCut(track.part.range);
      const auto threads = threads_of_tracks_.find(id);
      if (threads != threads_of_tracks_.end()) {
        track.threads = threads->second;
      }
    }
    return track;
  }

  [[nodiscard]] Part part_of(ProcessId process) const { return {selection_.range_of(process), true}; }

  [[nodiscard]] bool takes_site(SiteId site) {
    const auto [place, is_new] = takes_site_.try_emplace(site, false);
    if (is_new) {
      place->second = selection_.takes_site(timeline_.site(site).name);
    }
    return place->second;
  }

  [[nodiscard]] bool cut_run(ScopeRun& run, std::size_t capture, std::int64_t batch_start_ns) {
    Track& track = track_of(run.track);
    track.capture = capture;
    const timeline::BlockChoice& choice = choices_[capture];
    const std::int64_t first_ns = choice.needed_all() ? batch_start_ns : capture::always_ns;
    if (!track.part.is_taken || (selection_.cuts_time() && !track.cut.cut(run, choice.skipped(), first_ns))) {
      return false;
    }
    if (selection_.chooses_sites()) {
      keep_inside(track, run);
    }
    return true;
  }

  /// Takes everything out of a run that is not inside a scope of a selected site. Depths count from that scope.
  void keep_inside(Track& track, ScopeRun& run) {
    const auto outermost = std::find_if(run.open_at_start.begin(), run.open_at_start.end(),
                                        [this](const OpenScope& open) { return takes_site(open.site); });
    std::size_t base = static_cast<std::size_t>(outermost - run.open_at_start.begin());
    if (track.inside_since_ns && outermost == run.open_at_start.end()) {
      leave(track, run.events.empty() ? run.open_at_start.empty() ? forever : run.open_at_start.back().start_ns
                                      : run.events.front().time_ns);
    } else if (!track.inside_since_ns && outermost != run.open_at_start.end()) {
      track.inside_since_ns = outermost->start_ns;
    }
    run.open_at_start.erase(run.open_at_start.begin(), outermost);
    ScopeEvents events;
    std::vector<ScopeArgument> arguments;
    auto argument = run.arguments.begin();
    for (std::size_t i = 0; i <= run.events.size(); ++i) {
      for (; argument != run.arguments.end() && (argument->position <= i || i == run.events.size()); ++argument) {
        if (track.inside_since_ns) {
          arguments.push_back({static_cast<std::uint32_t>(events.size()), argument->value});
        }
      }
      if (i == run.events.size()) {
        break;
      }
      ScopeEvent event = run.events[i];
      if (track.inside_since_ns && event.depth <= base) {
        leave(track, event.time_ns);
        events.push_back({event.time_ns, {}, 0, event.is_open() ? std::uint16_t{0} : event.flags});
        if (!event.is_open()) {
          continue;
        }
      }
      if (!track.inside_since_ns && event.is_open() && takes_site(event.site)) {
        track.inside_since_ns = event.time_ns;
        base = event.depth;
      }
      if (track.inside_since_ns) {
        event.depth = static_cast<std::uint16_t>(event.depth - base);
        events.push_back(event);
      }
    }
    run.events = std::move(events);
    run.arguments = std::move(arguments);
  }

  /// A scope of a selected site ended: samples since its start are inside.
  void leave(Track& track, std::int64_t time_ns) {
    for (const ThreadId thread : track.threads) {
      std::vector<WaitingSample>& waiting = waiting_[thread];
      auto sample = std::lower_bound(
          waiting.begin(), waiting.end(), *track.inside_since_ns,
          [](const WaitingSample& earlier, std::int64_t start_ns) { return earlier.sample.time_ns < start_ns; });
      for (; sample != waiting.end() && sample->sample.time_ns < time_ns; ++sample) {
        sample->is_inside = true;
      }
    }
    track.inside_since_ns.reset();
  }

  [[nodiscard]] std::vector<ScopeRun> end_unnamed(const EventBatch& batch, std::size_t capture) {
    std::vector<ScopeRun> ended;
    if (selection_.cuts_time()) {
      stats::cut_unnamed(
          tracks_, [capture](const Track& track) { return track.capture == capture; }, batch,
          choices_[capture].skipped(),
          [&](ScopeRun& run, Track& track) {
            if (selection_.chooses_sites()) {
              keep_inside(track, run);
            }
            ended.push_back(std::move(run));
          });
    }
    return ended;
  }

  void cut(EventBatch& batch, std::size_t capture) {
    std::vector<ScopeRun> ended = end_unnamed(batch, capture);
    keep_if(batch.runs, [&](ScopeRun& run) { return cut_run(run, capture, batch.start_ns); });
    std::move(ended.begin(), ended.end(), std::back_inserter(batch.runs));
    keep_if(batch.spans, [this](SpanEvent& span) {
      return track_of(span.track).part.cut(span) && selection_.takes_site(timeline_.name(span.name));
    });
    batch.async_begins.clear();  // of those that ended there is a span; the others follow at the end
    const auto is_within = [this](const auto& event) { return track_of(event.track).part.holds(event.time_ns); };
    keep_if(batch.messages, is_within);
    keep_if(batch.flows, is_within);
    keep_if(batch.track_ends, is_within);
    keep_if(batch.sync_points, [this](const SyncPoint& point) {
      return part_of(timeline_.track(point.track).process).holds_mark(point.time_ns);
    });
    for (StateRun& run : batch.states) {
      const Part& part = threads_[run.thread];
      keep_if(run.states, [&part](ThreadState& state) { return part.cut(state); });
    }
    keep_if(batch.states, [](const StateRun& run) { return !run.states.empty(); });
    keep_if(batch.wakes, [this](const ThreadWake& wake) { return threads_[wake.thread].holds(wake.time_ns); });
    keep_if(batch.stack_samples, [this](const StackSample& sample) {
      return !selection_.chooses_sites() && threads_[sample.thread].holds(sample.time_ns);
    });
    if (selection_.cuts_time()) {
      cut_samples(batch);
      const TimeRange range = selection_.range();
      batch.start_ns = std::max(std::min(batch.start_ns, range.end_ns), range.start_ns);
      batch.end_ns = std::max(std::min(batch.end_ns, range.end_ns), batch.start_ns);
      for (const ScopeRun& run : batch.runs) {
        stats::cover(batch, run);
      }
    }
    frames_.cut(batch);
    if (capture != 0) {
      batch.clock_anchors.clear();  // the axis is that of the first capture
    }
  }

  void cut_samples(EventBatch& batch) {
    for (SampleRun& run : batch.samples) {
      const Part part = part_of(timeline_.metric(run.metric).process);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
        if (part.holds(run.times_ns[i])) {
          run.times_ns[kept] = run.times_ns[i];
          run.values[kept] = run.values[i];
          if (i < run.flags.size()) {
            run.flags[kept] = run.flags[i];
          }
          ++kept;
        }
      }
      run.times_ns.resize(kept);
      run.values.resize(kept);
      run.flags.resize(std::min(run.flags.size(), kept));
    }
    keep_if(batch.samples, [](const SampleRun& run) { return !run.times_ns.empty(); });
  }

  /// Ends the scopes that are open at the end of the selected time, or at that of their capture. Adds the async spans
  /// that never ended.
  [[nodiscard]] EventBatch last_batch() {
    EventBatch batch;
    for (auto& [id, track] : tracks_) {
      const std::int64_t end_ns =
          std::min(track.part.range.end_ns, timeline::sources_of(timeline_)[track.capture]->end_ns_of(id));
      if (!track.part.is_taken || track.cut.is_over() || end_ns <= track.part.range.start_ns) {
        continue;
      }
      ScopeRun run;
      run.track = id;
      if (selection_.cuts_time()) {
        track.cut.close(end_ns, run);
      }
      if (selection_.chooses_sites() && (selection_.cuts_time() || track.inside_since_ns)) {
        keep_inside(track, run);
      }
      if (!run.events.empty()) {
        extend(batch, run.events.front().time_ns);
        batch.end_ns = std::max(batch.end_ns, end_ns);
        batch.runs.push_back(std::move(run));
      }
    }
    add_open_async(batch);
    return batch;
  }

  void add_open_async(EventBatch& batch) {
    const std::vector<TrackDeclaration>& tracks = timeline_.tracks();
    if (std::none_of(tracks.begin(), tracks.end(),
                     [](const TrackDeclaration& track) { return track.kind == TrackKind::async; })) {
      return;
    }
    for (const auto& source : timeline::sources_of(timeline_)) {
      for (const Span& span : source->open_async()) {
        if ((span.flags & Span::end_unknown) != 0) {
          continue;  // a begin without an end would say that it was open to the end
        }
        AsyncBegin begin{span.track, span.name, span.start_ns, span.async_id};
        const Part& part = track_of(begin.track).part;
        begin.time_ns = std::max(begin.time_ns, part.range.start_ns);
        if (part.holds(begin.time_ns) && selection_.takes_site(timeline_.name(begin.name))) {
          extend(batch, begin.time_ns);
          batch.async_begins.push_back(begin);
        }
      }
    }
  }

  void write_samples_inside(capture::CaptureWriter& writer) {
    constexpr std::size_t most = 100'000;  // that a block has room for
    for (const auto& [thread, waiting] : waiting_) {
      EventBatch batch;
      for (const WaitingSample& entry : waiting) {
        if (!entry.is_inside) {
          continue;
        }
        if (batch.stack_samples.size() == most) {
          writer.write(std::exchange(batch, {}));
        }
        batch.start_ns = batch.stack_samples.empty() ? entry.sample.time_ns : batch.start_ns;
        batch.end_ns = entry.sample.time_ns;
        batch.stack_samples.push_back(entry.sample);
      }
      if (!batch.stack_samples.empty()) {
        writer.write(batch);
      }
    }
  }

  const Timeline& timeline_;
  const stats::Selection& selection_;
  SelectedFrames frames_;
  std::vector<timeline::BlockChoice> choices_;  // by capture
  std::unordered_map<TrackId, Track> tracks_;
  std::unordered_map<TrackId, std::vector<ThreadId>> threads_of_tracks_;
  std::unordered_map<ThreadId, Part> threads_;
  std::unordered_map<ThreadId, std::vector<WaitingSample>> waiting_;
  std::unordered_map<SiteId, bool> takes_site_;
};

/// The timeline's declarations, with how far each process was shifted.
Declarations declarations_of(const Timeline& timeline) {
  Declarations declared = timeline.declarations();
  for (const TimelineProcess& process : timeline.processes()) {
    if (process.alignment == Alignment::same_boot) {
      continue;
    }
    const ProcessId id = process.declaration.id;
    keep_if(declared.infos, [id](const InfoDeclaration& info) {
      return info.process != id || (info.key != capture::aligned_by_key && info.key != capture::offset_key &&
                                    info.key != capture::bound_key && info.key != capture::end_key);
    });
    declared.infos.push_back({id, capture::aligned_by_key, std::string(name_of(process.alignment))});
    declared.infos.push_back({id, capture::offset_key, std::to_string(process.offset_ns)});
    declared.infos.push_back({id, capture::bound_key, std::to_string(process.bound_ns)});
  }
  return declared;
}

}  // namespace

Timeline copy_selected(const Timeline& timeline, const SelectionOptions& options,
                       const std::function<void(double)>& on_progress) {
  const stats::Selection selection(timeline, options);
  capture::CaptureWriterOptions writing;
  writing.header = timeline.capture(0).header();
  writing.header.owner_pid = 0;
  writing.header.spool_id.clear();
  writing.declarations = declarations_of(timeline);
  writing.with_summaries = false;
  capture::CaptureWriter writer(std::make_unique<UnnamedFile>(), std::move(writing));
  SelectedCopy(timeline, selection).write(writer, on_progress);
  writer.finish();
  Timeline copy(writer.path());
  timeline::sources_of(copy)[0]->begin_after(SelectedFrames(timeline, selection).count_before());
  return copy;
}

}  // namespace kymo::exchange
