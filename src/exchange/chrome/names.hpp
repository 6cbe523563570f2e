// What ids in events refer to in a Chrome trace: process and thread numbers, and the invariable parts of an event's
// text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <kymo/events.hpp>

#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_matcher.hpp"
#include "exchange/chrome/arguments.hpp"
#include "exchange/chrome/event_stream.hpp"
#include "exchange/common/id_table.hpp"
#include "exchange/common/span_lanes.hpp"
#include "exchange/common/state_joiner.hpp"

namespace kymo::exchange {

/// A track and its state while it is written.
struct ChromeTrack {
  TrackKind kind = TrackKind::thread;
  ProcessId process{1};
  std::uint64_t tid = 0;
  std::string name;   ///< JSON text without quotes
  std::string place;  ///< ,"pid":1,"tid":2
  capture::ScopeStack stack;
  OpenArguments arguments;
  std::int64_t last_ns = 0;  ///< end of the latest batch that contains it
  std::uint64_t dropped_scopes = 0;
  std::uint64_t dropped_others = 0;
  NestingTrack nesting;
  LaneIds lane_ids;
};

/// The invariable text before and after the numbers of an event.
struct ChromeText {
  std::string head;
  std::string tail;
};

struct ChromeFrames {
  ProcessId process{1};
  std::string name;   ///< JSON text without quotes
  std::string head;   ///< {"name":"frame","cat":"frame","ph":"X","ts":
  std::string place;  ///< ,"pid":1,"tid":2; empty until the first mark
  capture::FrameWalk walk;
};

/// A thread whose run states were observed: a row of its own beside those of its process.
struct ChromeThread {
  std::string place;
  StateJoiner states;
};

/// Turns declarations into parts of events, and into metadata events as they arrive.
///
/// An undeclared id (in a damaged capture) gets a name that says so. Process and thread numbers are the system's if
/// they are known and unique in the trace. Others count up from 4194304, which no Linux process reaches.
class ChromeNames {
 public:
  /// The stream must outlive this.
  explicit ChromeNames(EventStream& stream) : stream_(stream) {}

  void declare(const Declarations& declarations);
  /// Frames are numbered from there.
  void count_frames_before(capture::FrameCounts counts) { frames_before_ = std::move(counts); }

  /// The head of a scope's event: `{"name":"cull","cat":"scope","ph":"X","ts":`. References and views stay valid.
  [[nodiscard]] std::string_view site(SiteId id);
  /// JSON text without quotes.
  [[nodiscard]] std::string_view name(NameId id);
  [[nodiscard]] ChromeTrack& track(TrackId id);
  /// The text of a sample's event: `{"name":"loss","cat":"metric","ph":"C","ts":` and `,"pid":1,"args":{"value":`.
  [[nodiscard]] const ChromeText& metric(MetricId id);
  /// The frames of a stream, with the place to draw them.
  [[nodiscard]] ChromeFrames& frames(FrameStreamId id);
  [[nodiscard]] ChromeThread& thread(ThreadId id);
  [[nodiscard]] std::span<const std::unique_ptr<ChromeThread>> threads() const { return threads_.things(); }
  [[nodiscard]] std::uint64_t pid(ProcessId process);

  /// All tracks, in the order they were declared.
  [[nodiscard]] std::span<const std::unique_ptr<ChromeTrack>> tracks() const { return tracks_.things(); }
  /// The members of otherData: the facts of all processes.
  [[nodiscard]] std::map<std::string, std::string>& facts() { return facts_; }

 private:
  void declare_process(const ProcessDeclaration& process);
  void declare_name(NameId id, std::string_view text);
  void declare_site(const SiteDeclaration& site);
  void declare_track(const TrackDeclaration& declaration);
  void declare_metric(const MetricDeclaration& declaration);
  void declare_frames(const FrameStreamDeclaration& stream);
  void declare_info(const InfoDeclaration& info);

  /// A thread number that is unique in the trace: the requested one if it is free.
  [[nodiscard]] std::uint64_t new_tid(std::uint64_t wish);
  void write_metadata(std::string_view what, std::string_view place, std::string_view key, std::string_view value);
  void write_sort_index(std::string_view place, std::uint64_t index);

  EventStream& stream_;
  IdTable<SiteId, std::string> sites_;
  IdTable<NameId, std::string> names_;
  IdTable<MetricId, ChromeText> metrics_;
  IdTable<TrackId, ChromeTrack> tracks_;
  IdTable<FrameStreamId, ChromeFrames> frames_;
  capture::FrameCounts frames_before_;
  IdTable<ThreadId, ChromeThread> threads_;
  std::map<ThreadId, ThreadDeclaration> declared_threads_;
  std::map<ProcessId, std::string> boot_ids_;
  std::map<ProcessId, std::uint64_t> pids_;       ///< by process
  std::map<std::uint64_t, ProcessId> used_pids_;  ///< used process IDs and their processes
  std::map<std::uint64_t, std::uint64_t> used_tids_;
  std::uint64_t last_made_number_ = std::uint64_t{1} << 22U;
  std::map<std::string, std::string> facts_;
};

/// `,"pid":1,"tid":2`
[[nodiscard]] std::string chrome_place(std::uint64_t pid, std::uint64_t tid);

}  // namespace kymo::exchange
