// What ids in events refer to in a Perfetto trace: interned texts, and tracks with their descriptors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_walk.hpp"
#include "exchange/common/id_table.hpp"
#include "exchange/common/span_lanes.hpp"
#include "exchange/common/state_joiner.hpp"
#include "exchange/perfetto/packets.hpp"

namespace kymo::exchange {

/// A track and its state while it is written.
struct PerfettoTrack {
  TrackKind kind = TrackKind::thread;
  ProcessId process{1};
  std::uint64_t uuid = 0;
  std::uint64_t thread_number = 0;
  std::string name;
  std::string place;      ///< the track_uuid field of its events
  std::string scope_end;  ///< a complete event that ends the innermost scope
  capture::ScopeWalk scopes;
  perfetto::OpenAnnotations annotations;
  NestingTrack nesting;
  LaneIds lane_ids;
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
};

struct PerfettoFrames {
  std::string place;
  std::string name;
  capture::FrameWalk walk;
};

/// A thread whose run states were observed: a row of its own beneath its process.
struct PerfettoThread {
  std::string place;
  StateJoiner states;
};

/// Appends descriptors and interned texts to the trace before the events that need them.
///
/// An undeclared id (in a damaged capture) gets a name that says so. Process and thread numbers are the system's if
/// they are known and unique in the trace, because readers identify processes and threads by them. Others count up from
/// 4194304, which no Linux process reaches.
class PerfettoNames {
 public:
  /// Categories of kymo's own kinds of events.
  enum class Category : std::uint32_t { scope = 1, function, frame, queue, async, message, sync, flow, kymo };

  /// Appends to `trace`, which must outlive this.
  explicit PerfettoNames(std::string& trace) : trace_(trace) {}

  /// Writes the first packets of a trace: its clock and the texts common to all traces.
  void begin(std::int64_t start_ns);
  void declare(const Declarations& declarations);
  /// Frames are numbered from there.
  void count_frames_before(capture::FrameCounts counts) { frames_before_ = std::move(counts); }

  /// The event of a site's scopes up to the place.
  [[nodiscard]] std::string_view site(SiteId id);
  [[nodiscard]] PerfettoTrack& track(TrackId id);
  /// The event of a metric's samples up to the value.
  [[nodiscard]] const std::string& metric(MetricId id);
  [[nodiscard]] PerfettoFrames& frames(FrameStreamId id);
  [[nodiscard]] PerfettoThread& thread(ThreadId id);
  [[nodiscard]] const std::vector<std::unique_ptr<PerfettoThread>>& threads() const { return threads_.things(); }
  /// The track_uuid field of the row for a thread's waits.
  [[nodiscard]] const std::string& waits_place(ThreadId id);
  /// The track_uuid field for events of the process itself.
  [[nodiscard]] const std::string& process_place(ProcessId id);
  /// The track_uuid field of a row for overlapping spans of a track.
  [[nodiscard]] const std::string& lane_place(const PerfettoTrack& track, std::uint64_t lane_id);

  /// The text of a name. Makes it usable as the name of an annotation.
  [[nodiscard]] std::string_view annotation_name(NameId id);
  /// Appends a name's text as the event's name or category.
  void add_event_name(std::string& event, NameId id);
  void add_category(std::string& event, NameId id);
  static void add_category(std::string& event, Category category);

  /// All tracks, in the order they were declared.
  [[nodiscard]] const std::vector<std::unique_ptr<PerfettoTrack>>& tracks() const { return tracks_.things(); }

 private:
  struct Name {
    std::string text;
    bool is_event = false;
    bool is_category = false;
    bool is_annotation = false;
  };
  struct Process {
    std::uint64_t uuid = 0;
    std::uint64_t pid = 0;
    std::string place;
    std::string boot_id;
  };

  void declare_process(const ProcessDeclaration& declaration);
  void declare_site(const SiteDeclaration& declaration);
  void declare_track(const TrackDeclaration& declaration);
  void declare_metric(const MetricDeclaration& declaration);

  [[nodiscard]] Process& process(ProcessId id);
  [[nodiscard]] Name& name(NameId id);
  /// A row of a thread's: "states of worker 4711".
  [[nodiscard]] std::string new_row(ThreadId id, std::string_view what);
  /// A track beneath a process.
  [[nodiscard]] std::string new_place(ProcessId process, std::string_view name);
  [[nodiscard]] std::uint64_t new_number(std::map<std::uint64_t, bool>& used, std::uint64_t wish);

  std::string& trace_;
  IdTable<NameId, Name> names_;
  IdTable<SiteId, std::string> sites_;
  IdTable<TrackId, PerfettoTrack> tracks_;
  IdTable<MetricId, std::string> metrics_;
  IdTable<FrameStreamId, PerfettoFrames> frames_;
  capture::FrameCounts frames_before_;
  IdTable<ProcessId, Process> processes_;
  IdTable<FrameStreamId, FrameStreamDeclaration> streams_;
  IdTable<ThreadId, PerfettoThread> threads_;
  IdTable<ThreadId, ThreadDeclaration> declared_threads_;
  std::map<ThreadId, std::string> waits_places_;
  std::map<std::pair<std::string, std::uint64_t>, ProcessId> owners_;            // by boot id and pid
  std::map<std::pair<const PerfettoTrack*, std::uint64_t>, std::string> lanes_;  // by track and lane
  std::map<std::uint64_t, bool> used_pids_;
  std::map<std::uint64_t, bool> used_tids_;
  std::uint64_t last_uuid_ = 0;
  std::uint64_t last_made_number_ = std::uint64_t{1} << 22U;
};

}  // namespace kymo::exchange
