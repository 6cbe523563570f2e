// Collects the declarations of an imported capture: ids for the names, sites, threads and metrics of a trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>

#include "exchange/import/losses.hpp"

namespace kymo::exchange {

/// Assigns ids. Every table is limited: after a million names or 64 MiB of names, all further ones share one name;
/// after 65,536 processes, threads, lanes, metrics or frame streams, further ones get id 0. Both are counted.
class ImportTables {
 public:
  explicit ImportTables(ImportLosses& losses) : losses_(losses) {}

  /// The process and thread IDs as written in the trace: numbers or any text.
  [[nodiscard]] ProcessId process(std::string_view pid);
  [[nodiscard]] TrackId thread(std::string_view pid, std::string_view tid);
  /// The lane for a process's async spans of one category.
  [[nodiscard]] TrackId lane(std::string_view pid, std::string_view category);
  [[nodiscard]] NameId name(std::string_view text);
  /// A name whose text stays available.
  [[nodiscard]] NameId category(std::string_view text);
  [[nodiscard]] const std::string& category_text(NameId category) const { return category_texts_.at(category); }
  [[nodiscard]] SiteId site(ProcessId process, std::string_view text, SiteKind kind);
  /// `series` is the trace's name for one of several numbers of a counter.
  [[nodiscard]] MetricId metric(std::string_view pid, std::string_view name, std::string_view series, bool is_unit);
  [[nodiscard]] FrameStreamId frames(std::string_view pid, std::string_view name);

  /// Marks a track as work that was queued, such as a GPU's: its spans need not nest. mark_nesting() overrides this for
  /// tracks whose spans have separate begin and end events.
  void mark_queue(TrackId track) { queues_.insert(track); }
  void mark_nesting(TrackId track) { nesting_.insert(track); }

  void name_process(std::string_view pid, std::string_view name);
  void label_process(std::string_view pid, std::string_view labels);
  void name_thread(std::string_view pid, std::string_view tid, std::string_view name);

  /// Returns all declarations once the trace has been read.
  [[nodiscard]] Declarations take_declarations();
  [[nodiscard]] NameId name_of_site(SiteId site) const { return site_names_[site.index()]; }

 private:
  struct PairHash {
    std::size_t operator()(const std::pair<std::uint64_t, std::uint64_t>& pair) const {
      return static_cast<std::size_t>((pair.first * 0x9E3779B97F4A7C15U) ^ (pair.second * 0xC2B2AE3D27D4EB4FU));
    }
  };
  struct TextHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard's name
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Texts = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

  void name_queues();
  void fold_devices();
  /// The id of a key, and whether it is new. `what` names the table in losses.
  [[nodiscard]] std::pair<std::uint32_t, bool> find_or_add(Texts& table, std::string_view key, std::string_view what);
  struct NewTrack {
    TrackKind kind;
    ProcessId process;
    std::uint64_t number;
    std::string_view name;
  };
  [[nodiscard]] TrackId track(const NewTrack& track, char kind, std::string_view key);
  void make_key(char kind, std::uint32_t id, std::string_view first, std::string_view second);

  ImportLosses& losses_;
  Declarations declarations_;
  Texts names_;
  std::size_t name_bytes_ = 0;
  std::unordered_map<NameId, std::string> category_texts_;
  std::unordered_map<std::pair<std::uint64_t, std::uint64_t>, SiteId, PairHash> sites_;
  std::vector<NameId> site_names_;
  Texts processes_;
  Texts tracks_;  ///< threads and lanes
  Texts metrics_;
  Texts frames_;
  Texts thread_names_;  ///< index + 1 into thread_name_texts_
  std::vector<std::string> thread_name_texts_;
  std::vector<std::string> track_keys_;  ///< by track
  std::map<ProcessId, std::string> labels_;
  std::set<TrackId> queues_;
  std::set<TrackId> nesting_;
  std::string key_;
  // Consecutive events usually belong to one thread.
  std::string last_pid_;
  std::string last_tid_;
  TrackId last_thread_;
};

}  // namespace kymo::exchange
