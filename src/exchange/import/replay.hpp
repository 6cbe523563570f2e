// Turns imported events, sorted by time, into the batches of a capture.
//
// Spans of a thread become scopes while they nest. A span that ends after the span around it goes to an extra track
// beside the thread's. So does a span more than 10,000 levels deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/import.hpp>

#include "exchange/import/losses.hpp"
#include "exchange/import/record.hpp"
#include "exchange/import/tables.hpp"

namespace kymo::exchange {

/// Takes records by ascending time: at one time complete spans before all others, and longer ones first. One thread at
/// a time. Holds one batch and the open spans.
class ImportReplay {
 public:
  using Write = std::function<void(const EventBatch&)>;

  /// `declarations` are written with the first batch. Counts what it takes in `report`, losses in `losses`.
  /// `tables` has the names of sites, for spans that leave their thread's track, and of categories. `category_name` is
  /// the name of the argument that keeps a scope's category.
  ImportReplay(Declarations declarations, const ImportTables& tables, NameId category_name, ImportReport& report,
               ImportLosses& losses, Write write);

  /// The wall clock at time 0, in nanoseconds since 1970. Captures are aligned by it.
  void set_wall_clock(std::int64_t base_realtime_ns) { base_realtime_ns_ = base_realtime_ns; }

  void add(const ImportRecord& record);
  /// Ends the spans with known ends and writes the last batch.
  void finish();

 private:
  static constexpr std::uint32_t no_level = std::numeric_limits<std::uint32_t>::max();

  /// An open scope.
  struct Level {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  ///< of a complete span
    SiteId site;
    bool is_complete = false;
    std::uint32_t complete_level = no_level;  ///< the nearest level from here outwards with a known end
  };
  struct Track {
    TrackDeclaration declaration;
    std::vector<Level> levels;
    /// Complete spans that begin at the current time. They wait until the end events of this time have closed the spans
    /// that were open before.
    std::vector<ImportRecord> waiting;
    std::size_t run = 0;  ///< index + 1 in the batch
    std::uint64_t sequence = 0;
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
    std::uint64_t deep_begins = 0;  ///< spans left out inside all open ones; the next ends belong to them
    std::uint64_t cut_begins = 0;   ///< spans ended early; their end events come when nothing else is open
    TrackId beside;                 ///< for spans that do not nest
  };
  struct OpenAsync {
    NameId name;
    std::int64_t start_ns = 0;
    std::vector<ArgumentValue> arguments;
    std::string text;
    bool is_step = false;      ///< a part of the span below it, which ends with it or with the next step
    std::int64_t step_ns = 0;  ///< where the part that the next step may name begins
  };
  using AsyncKey = std::pair<TrackId, std::uint64_t>;
  struct AsyncHash {
    std::size_t operator()(const AsyncKey& key) const {
      return static_cast<std::size_t>((key.second + key.first.value()) * 0x9E3779B97F4A7C15U);
    }
  };

  ScopeRun& run_of(Track& track, TrackId id);
  void push(ScopeRun& run, const ScopeEvent& event);
  void close_innermost(TrackId id, std::int64_t time_ns, std::uint16_t flags);
  /// Closes the spans that have ended by this time.
  void close_until(TrackId id, std::int64_t time_ns);
  void open_waiting(TrackId id);
  bool has_room(const Track& track) const;
  void open(TrackId id, const ImportRecord& record, bool is_complete);
  void end(const ImportRecord& record);
  void add_scope_arguments(ScopeRun& run, const ImportRecord& record);
  void add_beside(TrackId id, const ImportRecord& record);
  void add_to_queue(TrackId id, const ImportRecord& record);
  void add_span(SpanEvent span, const ImportRecord& record, const OpenAsync* begin);
  void append_arguments(const std::vector<ArgumentValue>& arguments, const std::string& text);
  [[nodiscard]] ArgumentValue move_text(ArgumentValue value, const std::string& text);
  void begin_async(const ImportRecord& record);
  void end_async(const ImportRecord& record);
  void step_async(const ImportRecord& record);
  /// Ends the innermost span of an id at the record's time.
  void end_innermost(std::vector<OpenAsync>& opens, const ImportRecord& record);
  /// Ends a part of the innermost span, if one is open.
  void end_step(std::vector<OpenAsync>& opens, const ImportRecord::Head& head);
  void add_frame(const ImportRecord& record);
  void mark_frame(FrameStreamId stream, TrackId track, std::int64_t time_ns);
  void add_sample(const ImportRecord& record);
  void note_time(std::int64_t time_ns);
  void flush();
  void write_batch();

  const ImportTables& tables_;
  NameId category_name_;
  ImportReport& report_;
  ImportLosses& losses_;
  Write write_;
  EventBatch batch_;
  std::int64_t base_realtime_ns_ = 0;  ///< 0: not known
  bool has_time_ = false;              ///< the batch's time range is set
  std::size_t batch_size_ = 0;         ///< roughly events plus bytes of text
  std::int64_t now_ns_ = std::numeric_limits<std::int64_t>::min();
  std::vector<Track> tracks_;  ///< by id - 1
  std::vector<TrackId> waiting_tracks_;
  std::size_t open_levels_ = 0;
  std::unordered_map<AsyncKey, std::vector<OpenAsync>, AsyncHash> open_async_;
  std::size_t open_async_size_ = 0;
  std::uint64_t last_async_id_ = 0;
  std::unordered_map<MetricId, std::size_t> sample_runs_;
  struct OpenFrame {
    std::int64_t end_ns = 0;
    TrackId track;
  };
  std::map<FrameStreamId, OpenFrame> open_frames_;
};

}  // namespace kymo::exchange
