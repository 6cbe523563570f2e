#include "exchange/vor/import.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "exchange/import/new_capture.hpp"
#include "exchange/vor/columns.hpp"
#include "exchange/vor/scopes.hpp"

namespace kymo::exchange {
namespace {

/// Approximate number of events, samples and marks in one batch.
constexpr std::size_t batch_events = 65536;
constexpr FrameStreamId main_stream{1};

/// The end times of frames, on the time axis of the flame parts if there are any.
class FrameClock {
 public:
  /// Finds the axis in one pass over the stream. vor marks a frame when its last scope has ended, so the axis is the
  /// earliest one on which no frame ends before its scopes do.
  FrameClock(VorReader& reader, std::size_t column, const std::function<void(double)>& on_progress) : column_(column) {
    std::optional<std::int64_t> offset_ns;
    std::optional<std::uint64_t> last_number;
    for (VorFrame frame; reader.next(frame);) {
      const std::int64_t mark_ns = advance(frame, reader.name());
      is_from_zero_ = is_from_zero_ && (frames_ > 0 || last_ns_ == 0);
      ++frames_;
      if (on_progress) {
        on_progress(reader.share_done() / 2);
      }
      try {
        const FlameMeta meta = frame.flame.empty() ? FlameMeta{} : FlameReader::read_meta(frame.flame);
        // If a frame has no scopes, vor repeats the previous part, which says nothing about this frame.
        if (frame.flame.empty() || last_number == meta.number || std::abs(meta.end_ns / 2) > most_vor_ns / 2) {
          continue;
        }
        last_number = meta.number;
        offset_ns = std::max(offset_ns.value_or(meta.end_ns - mark_ns), meta.end_ns - mark_ns);
      } catch (const capture::DecodeError&) {
        continue;
      }
    }
    offset_ns_ = offset_ns.value_or(0);
    if (offset_ns_ < -most_vor_ns || offset_ns_ > most_vor_ns - last_ns_) {
      offset_ns_ = 0;
    }
    last_ns_ = 0;
    bad_ = 0;
    inexact_ = 0;
    reader.rewind();
  }

  /// The end of the next frame.
  std::int64_t next(const VorFrame& frame, const std::string& name) { return offset_ns_ + advance(frame, name); }

  /// The start of the first frame if it has a duration. vor's own first frame has none because its begin is unknown.
  [[nodiscard]] std::optional<std::int64_t> first_start_ns() const {
    return is_from_zero_ ? std::nullopt : std::optional(offset_ns_);
  }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  /// Number of frames without a plausible duration; they take no time.
  [[nodiscard]] std::uint64_t bad() const { return bad_; }
  /// Number of frames whose durations are not whole nanoseconds.
  [[nodiscard]] std::uint64_t inexact() const { return inexact_; }

 private:
  std::int64_t advance(const VorFrame& frame, const std::string& name) {
    const double duration_ms = frame.system[column_];
    // About a century.
    constexpr double most_ms = 3.2e12;
    if (!(duration_ms >= 0 && duration_ms <= most_ms)) {
      ++bad_;
      return last_ns_;
    }
    const std::int64_t duration_ns = std::llround(duration_ms * 1e6);
    inexact_ += static_cast<double>(duration_ns) / 1e6 == duration_ms ? 0U : 1U;
    if (duration_ns > most_vor_ns - last_ns_) {
      throw VorError(name + ": its frames last longer than a clock counts, at byte " + std::to_string(frame.offset));
    }
    last_ns_ += duration_ns;
    return last_ns_;
  }

  std::size_t column_;
  std::int64_t offset_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t bad_ = 0;
  std::uint64_t inexact_ = 0;
  bool is_from_zero_ = true;
};

std::size_t find_frame_column(const VorReader& reader) {
  const std::vector<VorColumn>& columns = reader.header().columns;
  const auto found =
      std::find_if(columns.begin(), columns.end(), [](const VorColumn& at) { return at.name == vor_frame_column; });
  if (found == columns.end()) {
    throw VorError(reader.name() + ": it has no column frame_ms, so nobody knows when its frames were");
  }
  return static_cast<std::size_t>(found - columns.begin());
}

class VorImporter {
 public:
  VorImporter(VorReader& reader, const std::string& path, const std::function<void(double)>& on_progress)
      : reader_(reader),
        on_progress_(on_progress),
        frame_column_(find_frame_column(reader)),
        clock_(reader, frame_column_, on_progress) {
    if (clock_.frames() == 0) {
      VorFrame none;
      static_cast<void>(reader.next(none));
      throw VorError(reader.name() + ": it holds no frame" + damage_note());
    }
    writer_.emplace(path, make_declarations());
    report_.output = writer_->path();
    clear_batch();
  }

  VorImportReport run() {
    if (const auto start_ns = clock_.first_start_ns()) {
      add_mark(*start_ns);
    }
    for (VorFrame frame; reader_.next(frame);) {
      declare_user_columns();
      take_frame(frame);
      if (flame_.pending() + batch_size_ >= batch_events) {
        write_batch();
      }
      if (on_progress_) {
        on_progress_(0.5 + reader_.share_done() / 2);
      }
    }
    flame_.finish();
    write_batch();
    writer_->finish();
    report_.scopes = flame_.scopes();
    tell_losses();
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::string damage_note() const {
    const VorDamage& damage = reader_.damage();
    if (damage.torn_bytes > 0) {
      return "; it is cut off";
    }
    return damage.records > 0 ? "; the record at byte " + std::to_string(damage.first_record) + " is damaged" : "";
  }

  Declarations make_declarations() {
    Declarations declarations;
    declarations.processes.emplace_back().id = ProcessId{1};
    declarations.infos.push_back({ProcessId{1}, "import.format", "vor"});
    declarations.infos.push_back({ProcessId{1}, "import.file", reader_.name()});
    declarations.frame_streams.push_back({main_stream, ProcessId{1}, {}});
    for (std::size_t i = 0; i < reader_.header().columns.size(); ++i) {
      metric_ids_.emplace_back();
      if (i != frame_column_) {
        MetricDeclaration metric = make_vor_metric(reader_.header().columns[i]);
        metric.id = MetricId::from_index(metrics_++);
        metric_ids_.back() = metric.id;
        declarations.metrics.push_back(std::move(metric));
      }
    }
    return declarations;
  }

  void declare_user_columns() {
    const auto& columns = reader_.user_columns();
    for (; declared_ < columns.size(); ++declared_) {
      MetricDeclaration metric = make_vor_metric(columns[declared_].second);
      metric.id = MetricId::from_index(metrics_++);
      user_ids_.emplace(columns[declared_].first, metric.id);
      batch_.declarations.metrics.push_back(std::move(metric));
    }
  }

  void add_mark(std::int64_t mark_ns) {
    FrameMark mark;
    mark.stream = main_stream;
    mark.time_ns = mark_ns;
    batch_.frame_marks.push_back(mark);
    batch_.start_ns = std::min(batch_.start_ns, mark_ns);
    batch_.end_ns = std::max(batch_.end_ns, mark_ns);
    ++batch_size_;
  }

  void take_frame(const VorFrame& frame) {
    const std::int64_t mark_ns = clock_.next(frame, reader_.name());
    if (!frame.flame.empty()) {
      flame_.take(frame.flame);
    }
    for (std::size_t i = 0; i < frame.system.size(); ++i) {
      if (i != frame_column_) {
        add_sample(metric_ids_[i], mark_ns, frame.system[i]);
      }
    }
    for (const VorValue& value : frame.user) {
      add_sample(user_ids_[value.column], mark_ns, value.value);
    }
    add_mark(mark_ns);
    ++report_.frames;
  }

  void add_sample(MetricId metric, std::int64_t time_ns, double value) {
    if (run_places_.size() <= metric.value()) {
      run_places_.resize(std::size_t{metric.value()} + 1, no_run);
    }
    std::size_t& place = run_places_[metric.value()];
    if (place == no_run) {
      place = batch_.samples.size();
      batch_.samples.emplace_back().metric = metric;
    }
    SampleRun& run = batch_.samples[place];
    run.times_ns.push_back(time_ns);
    run.values.push_back(value);
    ++report_.samples;
    ++batch_size_;
  }

  void clear_batch() {
    for (const SampleRun& run : batch_.samples) {
      run_places_[run.metric.value()] = no_run;
    }
    batch_ = {};
    batch_.start_ns = std::numeric_limits<std::int64_t>::max();
    batch_.end_ns = std::numeric_limits<std::int64_t>::min();
    batch_size_ = 0;
  }

  void write_batch() {
    flame_.move_into(batch_);
    if (batch_.start_ns <= batch_.end_ns) {
      writer_->write(batch_);
    }
    clear_batch();
  }

  void tell_losses() {
    std::vector<std::string>& losses = report_.losses;
    const VorDamage& stream = reader_.damage();
    const FlameDamage& flames = flame_.damage();
    tell_vor_loss(losses, stream.torn_bytes, "bytes behind the last whole record");
    tell_vor_loss(losses, stream.records, "damaged records, the first at byte " + std::to_string(stream.first_record));
    tell_vor_loss(losses, stream.declarations, "declarations of columns that were declared before");
    tell_vor_loss(losses, stream.values, "values of columns that were not declared");
    tell_vor_loss(losses, clock_.bad(), "durations of frames that make no sense: these frames take no time");
    tell_vor_loss(losses, clock_.inexact(), "durations of frames below a nanosecond");
    tell_vor_loss(losses, flames.parts, "flame parts that are damaged or of another version");
    tell_vor_loss(losses, flames.threads, "threads' scopes behind damage in them");
    tell_vor_loss(losses, flames.times_back, "scopes whose times go back, with what is inside them");
    tell_vor_loss(losses, flames.ends_moved, "ends of scopes that lie before what is inside them");
    tell_vor_loss(losses, flames.no_room, "scopes beyond the room for depth, threads and names");
  }

  static constexpr std::size_t no_run = ~std::size_t{0};

  VorReader& reader_;
  const std::function<void(double)>& on_progress_;
  std::size_t frame_column_;
  FrameClock clock_;
  std::optional<NewCapture> writer_;
  FlameEvents flame_{[this] { write_batch(); }};
  EventBatch batch_;
  std::size_t batch_size_ = 0;
  std::vector<std::size_t> run_places_;  // by metric: the place of its run in the batch
  std::vector<MetricId> metric_ids_;     // by system column
  std::unordered_map<std::uint16_t, MetricId> user_ids_;
  std::size_t declared_ = 0;
  std::size_t metrics_ = 0;
  VorImportReport report_;
};

}  // namespace

VorImportReport import_vor(VorReader& reader, const std::string& path, const std::function<void(double)>& on_progress) {
  return VorImporter(reader, path, on_progress).run();
}

}  // namespace kymo::exchange
