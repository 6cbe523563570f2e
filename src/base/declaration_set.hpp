// Declarations by id: those known so far to a recorder, a capture's writer or its reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::base {

/// Collects declarations. A later declaration of an id (of an info: of a process and key) replaces the earlier one in
/// place. Repeated declarations change nothing and take no memory.
class DeclarationSet {
 public:
  /// About 100 ns a declaration.
  void add(const Declarations& more);

  [[nodiscard]] const Declarations& all() const { return all_; }

  /// Null if the track is not declared. Valid until the next change.
  [[nodiscard]] const TrackDeclaration* find_track(TrackId id) const;

  /// Removes tracks; the others keep their order. Linear in the number of tracks.
  void forget_tracks(const std::vector<TrackId>& ids);

 private:
  using Places = std::unordered_map<std::uint32_t, std::size_t>;

  [[nodiscard]] Places& places_of(IdKind kind) { return places_[static_cast<std::size_t>(kind)]; }

  Declarations all_;
  std::map<std::pair<ProcessId, std::string>, std::size_t> infos_;
  std::array<Places, id_kinds> places_;
};

/// Ended tracks that may be removed. Collected in batches, so that the linear removal is cheap per track.
class EndedTracks {
 public:
  void add(TrackId id) { ids_.push_back(id); }
  /// Whether the batch is large enough, with at least as many tracks as remain.
  [[nodiscard]] bool are_due(std::size_t known_tracks) const {
    return ids_.size() >= least_lot && 2 * ids_.size() >= known_tracks;
  }
  [[nodiscard]] std::vector<TrackId> take() { return std::exchange(ids_, {}); }

 private:
  static constexpr std::size_t least_lot = 1024;
  std::vector<TrackId> ids_;
};

}  // namespace kymo::base
