// Declarations by what they declare: what a recorder, a capture's writer and its reader know so far.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>

namespace kymo::base {

/// Gathers declarations. A later one of an id (of an info: of a process and key) replaces the earlier one in its place,
/// so that hearing everything twice changes nothing and takes no memory.
class DeclarationSet {
 public:
  /// About 100 ns a declaration.
  void add(const Declarations& more);

  [[nodiscard]] const Declarations& all() const { return all_; }

  /// Null where the track is not declared. Good until the next change.
  [[nodiscard]] const TrackDeclaration* find_track(TrackId id) const;

  /// Forgets tracks; the others keep their order. Takes time by how many tracks there are.
  void forget_tracks(const std::vector<TrackId>& ids);

 private:
  using Places = std::unordered_map<std::uint32_t, std::size_t>;

  Declarations all_;
  std::map<std::pair<ProcessId, std::string>, std::size_t> infos_;
  Places processes_;
  Places names_;
  Places modules_;
  Places sites_;
  Places tracks_;
  Places metrics_;
  Places frame_streams_;
};

/// Tracks that have ended and may be forgotten, in lots: finding them among those that go on is then cheap for each.
class EndedTracks {
 public:
  void add(TrackId id) { ids_.push_back(id); }
  /// Whether they are a lot, and at least as many as the tracks that are known besides.
  [[nodiscard]] bool are_due(std::size_t known_tracks) const {
    return ids_.size() >= least_lot && 2 * ids_.size() >= known_tracks;
  }
  [[nodiscard]] std::vector<TrackId> take() { return std::exchange(ids_, {}); }

 private:
  static constexpr std::size_t least_lot = 1024;
  std::vector<TrackId> ids_;
};

}  // namespace kymo::base
