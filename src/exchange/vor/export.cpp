// From a process's frames to a .vor stream. docs/vor.md has the table of what becomes what.
#include "exchange/vor/export.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "capture/summary/frame_walk.hpp"
#include "exchange/common/id_table.hpp"
#include "exchange/vor/columns.hpp"
#include "exchange/vor/flame.hpp"
#include "exchange/vor/format.hpp"
#include "exchange/vor/slices.hpp"
#include "timeline/source.hpp"

namespace kymo::exchange {
namespace {

constexpr std::int64_t no_mark = std::numeric_limits<std::int64_t>::max();
/// Limit of the times of marks: differences must fit.
constexpr std::int64_t most_mark_ns = 4'000'000'000'000'000'000;
/// Maximum number of frames that wait for late events.
constexpr std::size_t most_pending = 100'000;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The main stream of a process: the unnamed one, else the first.
const FrameStreamDeclaration* find_stream(const Timeline& timeline, ProcessId process) {
  const FrameStreamDeclaration* found = nullptr;
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    if (stream.process == process && (found == nullptr || (stream.name.empty() && !found->name.empty()))) {
      found = &stream;
    }
  }
  return found;
}

const FrameStreamDeclaration& choose_stream(const Timeline& timeline, ProcessId asked) {
  std::vector<const FrameStreamDeclaration*> found;
  for (const TimelineProcess& process : timeline.processes()) {
    const ProcessId id = process.declaration.id;
    if (!asked || asked == id) {
      if (const FrameStreamDeclaration* const stream = find_stream(timeline, id)) {
        found.push_back(stream);
      }
    }
  }
  if (found.empty()) {
    throw VorError("there are no frames, and a .vor stream is made of them: mark each with kymo::frame_mark()");
  }
  if (found.size() > 1) {
    throw VorError("a .vor stream holds one process, and " + std::to_string(found.size()) +
                   " of them marked frames: name one");
  }
  return *found[0];
}

/// The latest sample of a metric in a frame.
struct LatestSample {
  std::int64_t time_ns = 0;
  double value = nan;
};

/// A frame that is not written yet. The last one has no mark so far.
struct PendingFrame {
  std::int64_t mark_ns = no_mark;
  std::map<std::size_t, LatestSample> values;            ///< by place in VorColumns::metrics
  std::vector<std::pair<TrackId, ScopeSlice>> slices{};  ///< of the tracks that have been cut
};

/// A thread of the process.
struct ExportTrack {
  std::optional<TrackSlicer> slicer;
  TrackId id;
  std::uint64_t frame = 0;  ///< the frame its slicer is in
  std::int64_t key_ns = 0;  ///< the start that identifies it; unique among tracks of the same name
  std::string name;
};

class VorExporter {
 public:
  VorExporter(const Timeline& timeline, const FrameStreamDeclaration& stream,
              const std::function<void(double)>& on_progress)
      : timeline_(timeline),
        on_progress_(on_progress),
        stream_(stream.id),
        process_(stream.process),
        source_(timeline.process(stream.process).capture),
        columns_(find_vor_columns(timeline.declarations().metrics, process_)),
        known_(columns_.system.size(), nan),
        user_ids_(columns_.metrics.size(), 0) {
    for (std::size_t i = 0; i < columns_.metrics.size(); ++i) {
      metric_places_[columns_.metrics[i].metric] = i;
    }
    pending_.emplace_back();
  }

  void write(base::OutputFile& file) {
    write_header(file);
    const timeline::Source& source = *timeline::sources_of(timeline_)[source_];
    const std::size_t blocks = source.block_count();
    // Tracks are drained one after another, so marks may be in later blocks than events that follow them. This holds,
    // for each block, the earliest time in it and all later blocks.
    std::vector<std::int64_t> earliest_ns(blocks + 1, no_mark);
    for (std::size_t block = blocks; block-- > 0;) {
      earliest_ns[block] = std::min(earliest_ns[block + 1], source.start_ns(block));
    }
    EventBatch batch;
    std::size_t ahead = 0;
    std::int64_t before_ns = -most_mark_ns;
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::int64_t end_ns = source.end_ns(block);
      for (; ahead <= block || (ahead < blocks && earliest_ns[ahead] <= end_ns && !is_crowded()); ++ahead) {
        if (source.read(ahead, BatchParts::others, batch)) {
          take_marks(batch);
        }
      }
      if (source.read(block, BatchParts::everything, batch)) {
        take_events(batch);
      }
      // A frame is written once no later block can add to it. If too much is pending because events arrive very late,
      // it is written without waiting for them.
      const std::int64_t certain_ns = std::max(earliest_ns[block + 1], -most_mark_ns) - 1;
      write_frames(is_crowded() ? std::max(certain_ns, before_ns) : certain_ns, file);
      before_ns = std::max(before_ns, end_ns);
      if (on_progress_) {
        on_progress_(static_cast<double>(block + 1) / static_cast<double>(blocks));
      }
    }
    write_frames(no_mark - 1, file);
    if (report_.frames == 0) {
      throw VorError("no frame was marked, and a .vor stream is made of frames: call kymo::frame_mark() at each");
    }
    file.close();
    tell_losses();
  }

  [[nodiscard]] VorExportReport take_report() { return std::move(report_); }

 private:
  void write_header(base::OutputFile& file) {
    const std::vector<SiteDeclaration>& sites = timeline_.declarations().sites;
    VorHeader header;
    header.has_flames = std::any_of(sites.begin(), sites.end(),
                                    [this](const SiteDeclaration& site) { return site.process == process_; });
    header.columns = columns_.system;
    VorWriter::append_header(file.buffer(), header);
  }

  /// Whether pending frames exceed the memory limit.
  [[nodiscard]] bool is_crowded() const {
    return pending_.size() > most_pending || (pending_.size() > 2 && budget_.bytes > SliceBudget::most_bytes / 2);
  }

  void take_marks(const EventBatch& batch) {
    for (const FrameMark& mark : batch.frame_marks) {
      if (mark.is_break) {
        continue;  // the format's frames follow each other
      }
      if (mark.stream != stream_) {
        other_marks_ += timeline_.frame_stream(mark.stream).process == process_ ? 1U : 0U;
        continue;
      }
      walk_.take(mark);
      if (walk_.mark_ns() < std::max(cut_ns_, -most_mark_ns) || walk_.mark_ns() > most_mark_ns) {
        ++late_marks_;
        continue;
      }
      insert_mark(walk_.mark_ns());
    }
  }

  void insert_mark(std::int64_t mark_ns) {
    const auto after =
        std::upper_bound(pending_.begin(), pending_.end(), mark_ns,
                         [](std::int64_t time_ns, const PendingFrame& frame) { return time_ns < frame.mark_ns; });
    PendingFrame frame;
    frame.mark_ns = mark_ns;
    for (auto value = after->values.begin(); value != after->values.end();) {
      if (value->second.time_ns <= mark_ns) {
        frame.values.insert(*value);
        value = after->values.erase(value);
      } else {
        ++value;
      }
    }
    pending_.insert(after, std::move(frame));
  }

  void take_events(const EventBatch& batch) {
    for (const ScopeRun& run : batch.runs) {
      take_run(run, batch);
    }
    for (const SampleRun& run : batch.samples) {
      take_samples(run);
    }
    spans_ += count_own(batch.spans);
    messages_ += count_own(batch.messages);
    flows_ += count_own(batch.flows);
    sync_points_ += count_own(batch.sync_points);
  }

  /// The number of the process's events in a list.
  template <typename Events>
  [[nodiscard]] std::uint64_t count_own(const Events& events) const {
    return static_cast<std::uint64_t>(std::count_if(events.begin(), events.end(), [this](const auto& event) {
      return timeline_.track(event.track).process == process_;
    }));
  }

  ExportTrack* find_track(TrackId id) {
    if (ExportTrack* const known = tracks_.find(id)) {
      return known;
    }
    const TrackDeclaration& declaration = timeline_.track(id);
    if (declaration.process != process_ || declaration.kind != TrackKind::thread) {
      return nullptr;
    }
    ExportTrack& track = tracks_.get(id);
    track.id = id;
    track.name = valid_vor_text(declaration.name);
    track.frame = first_pending_;
    track.slicer.emplace(budget_);
    return &track;
  }

  void take_run(const ScopeRun& run, const EventBatch& batch) {
    ExportTrack* const track = find_track(run.track);
    if (track == nullptr) {
      return;
    }
    TrackSlicer& slicer = *track->slicer;
    slicer.begin(run);
    std::size_t argument = 0;
    const auto take_arguments = [&](std::size_t position) {
      for (; argument < run.arguments.size() && run.arguments[argument].position <= position; ++argument) {
        const ArgumentValue& value = run.arguments[argument].value;
        slicer.take_argument(timeline_.name(value.name), value, batch.text);
      }
    };
    for (std::size_t i = 0; i < run.events.size(); ++i) {
      const ScopeEvent& event = run.events[i];
      take_arguments(i);
      // A scope that closes at a mark belongs to the frame that ends there; one that opens there belongs to the next.
      while (mark_of(track->frame) < event.time_ns || (event.is_open() && mark_of(track->frame) == event.time_ns)) {
        cut(*track);
      }
      slicer.take(event);
    }
    take_arguments(std::numeric_limits<std::size_t>::max());
  }

  [[nodiscard]] PendingFrame& pending(std::uint64_t frame) {
    return pending_[static_cast<std::size_t>(frame - first_pending_)];
  }
  [[nodiscard]] std::int64_t mark_of(std::uint64_t frame) { return pending(frame).mark_ns; }

  void cut(ExportTrack& track) {
    PendingFrame& frame = pending(track.frame++);
    ScopeSlice slice = track.slicer->cut(frame.mark_ns);
    cut_ns_ = std::max(cut_ns_, frame.mark_ns);
    if (!slice.scopes.empty()) {
      frame.slices.emplace_back(track.id, std::move(slice));
    }
  }

  void take_samples(const SampleRun& run) {
    const auto place = metric_places_.find(run.metric);
    if (place == metric_places_.end()) {
      return;
    }
    auto frame = pending_.begin();
    for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
      const std::int64_t time_ns = run.times_ns[i];
      if (frame->mark_ns < time_ns) {
        frame = std::lower_bound(frame, pending_.end(), time_ns,
                                 [](const PendingFrame& at, std::int64_t sample_ns) { return at.mark_ns < sample_ns; });
      }
      const auto [known, is_new] = frame->values.try_emplace(place->second);
      replaced_samples_ += is_new ? 0U : 1U;
      if (is_new || time_ns >= known->second.time_ns) {
        known->second = {time_ns, run.values[i]};
      }
    }
  }

  /// Writes the frames up to and including a time by which all events are known.
  void write_frames(std::int64_t until_ns, base::OutputFile& file) {
    while (pending_.front().mark_ns <= until_ns) {
      for (const auto& track : tracks_.things()) {
        if (track->frame == first_pending_) {
          cut(*track);
        }
      }
      write_frame(pending_.front(), file);
      pending_.pop_front();
      ++first_pending_;
    }
  }

  void write_frame(PendingFrame& frame, base::OutputFile& file) {
    const bool is_first = report_.frames == 0;
    known_[0] = is_first ? 0.0 : static_cast<double>(frame.mark_ns - last_mark_ns_) / 1e6;
    record_.user.clear();
    for (const auto& [place, sample] : frame.values) {
      const VorMetric& metric = columns_.metrics[place];
      if (metric.system != 0) {
        known_[metric.system] = metric.change(sample.value);
        continue;
      }
      std::uint16_t& id = user_ids_[place];
      if (id == 0) {
        id = static_cast<std::uint16_t>(columns_.system.size() + declared_++);
        writer_.append_declaration(file.buffer(), id, metric.column);
      }
      record_.user.push_back({id, sample.value});
    }
    report_.values += record_.user.size();
    record_.system = known_;
    record_.flame = std::as_bytes(std::span(flame_of(frame, is_first ? frame.mark_ns : last_mark_ns_)));
    writer_.append_frame(file.buffer(), record_);
    file.spill();
    last_mark_ns_ = frame.mark_ns;
    ++report_.frames;
  }

  /// The flame part of a frame; empty if it has no scopes.
  std::string_view flame_of(PendingFrame& frame, std::int64_t start_ns) {
    if (frame.slices.empty()) {
      return {};
    }
    std::vector<std::pair<const ExportTrack*, const ScopeSlice*>> threads;
    std::set<SiteId> sites;
    for (const auto& [id, slice] : frame.slices) {
      ExportTrack& track = *tracks_.find(id);
      settle_key(track);
      threads.emplace_back(&track, &slice);
      report_.scopes += slice.scopes.size();
      budget_.bytes -= bytes_of(slice);
      for (const FlameScope& scope : slice.scopes) {
        sites.insert(scope.site);
      }
    }
    std::sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first->key_ns, a.first->name) < std::tie(b.first->key_ns, b.first->name);
    });
    flame_.begin();
    for (const auto& [track, slice] : threads) {
      flame_.add_thread(track->key_ns, track->name, slice->scopes, slice->texts);
    }
    for (const SiteId site : sites) {
      add_site(site);
    }
    return flame_.finish({report_.frames, start_ns, frame.mark_ns});
  }

  /// Gives a track the key that identifies it in every frame.
  void settle_key(ExportTrack& track) {
    if (keyed_.insert(track.id).second) {
      track.key_ns = track.slicer->first_ns();
      while (!keys_.emplace(track.key_ns, track.name).second) {
        ++track.key_ns;
      }
    }
  }

  void add_site(SiteId id) {
    const SiteDeclaration& site = timeline_.site(id);
    const bool is_function = site.kind == SiteKind::function || site.kind == SiteKind::hooked;
    const std::string name = valid_vor_text(site.name.empty() ? site.function : site.name);
    const std::string function = valid_vor_text(site.function);
    const std::string file = valid_vor_text(site.file);
    flame_.add_site({id.value(), is_function, name, is_function ? name : function, file, site.line});
  }

  void tell_losses() {
    std::vector<std::string>& losses = report_.losses;
    std::uint64_t behind = 0;
    for (const auto& track : tracks_.things()) {
      behind += track->slicer->begun();
    }
    tell_vor_loss(losses, replaced_samples_, "samples, where their frame has a later one of the same metric");
    tell_vor_loss(losses, pending_.back().values.size(), "metrics' samples behind the last frame mark");
    tell_vor_loss(losses, behind, "scopes behind the last frame mark");
    tell_vor_loss(losses, budget_.scopes_left_out, "scopes of frames that have more than 64 MiB of them");
    tell_vor_loss(losses, budget_.arguments_cut, "scopes' arguments beyond 127 bytes of text");
    tell_vor_loss(losses, budget_.late_events, "scope times that lie before a frame mark that was passed");
    tell_vor_loss(losses, late_marks_, "frame marks whose times go back");
    tell_vor_loss(losses, other_marks_, "frame marks of other streams");
    tell_vor_loss(losses, spans_, "async spans and spans of queues");
    tell_vor_loss(losses, messages_, "messages");
    tell_vor_loss(losses, flows_, "points of flows");
    tell_vor_loss(losses, sync_points_, "sync points");
    tell_vor_loss(losses, columns_.left_out, "metrics beyond 65535");
  }

  const Timeline& timeline_;
  const std::function<void(double)>& on_progress_;
  FrameStreamId stream_;
  ProcessId process_;
  std::size_t source_;
  VorColumns columns_;
  std::vector<double> known_;  // the last values of the system columns
  std::vector<std::uint16_t> user_ids_;
  std::size_t declared_ = 0;
  std::map<MetricId, std::size_t> metric_places_;

  SliceBudget budget_;
  std::deque<PendingFrame> pending_;
  std::uint64_t first_pending_ = 0;
  std::int64_t last_mark_ns_ = 0;
  capture::FrameWalk walk_;
  std::int64_t cut_ns_ = std::numeric_limits<std::int64_t>::min();  // the latest mark at which a track was cut
  IdTable<TrackId, ExportTrack> tracks_;
  std::set<TrackId> keyed_;
  std::set<std::pair<std::int64_t, std::string>> keys_;

  VorWriter writer_;
  VorFrame record_;
  FlameWriter flame_;
  VorExportReport report_;
  std::uint64_t replaced_samples_ = 0;
  std::uint64_t late_marks_ = 0;
  std::uint64_t other_marks_ = 0;
  std::uint64_t spans_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t flows_ = 0;
  std::uint64_t sync_points_ = 0;
};

}  // namespace

VorExportReport report_vor(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  VorExporter exporter(timeline, choose_stream(timeline, request.process), request.on_progress);
  exporter.write(file);
  return exporter.take_report();
}

std::vector<std::string> write_vor(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  return report_vor(timeline, std::move(file), request).losses;
}

}  // namespace kymo::exchange
