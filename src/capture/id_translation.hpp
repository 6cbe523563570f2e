// Ids of several captures in one numbering: what a timeline and a merge both need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// The kinds of ids that events refer to.
enum class IdKind : std::uint8_t { process, name, module, site, track, metric, frame_stream };

/// What has been given out of a numbering that several captures share. Ids of each kind count up from 1 without gaps.
class Numbering {
 public:
  [[nodiscard]] std::uint32_t next(IdKind kind) { return ++last_[static_cast<std::size_t>(kind)]; }
  /// The id of an interned text: one for all captures.
  [[nodiscard]] NameId name(const std::string& text);

 private:
  std::uint32_t last_[7] = {};
  std::unordered_map<std::string, NameId> names_;
};

/// Where the ids of one capture stand in a shared numbering.
class IdTranslation {
 public:
  /// Gives ids to what is declared for the first time and returns the declarations with them. What was declared before
  /// keeps its id. About 100 ns a declaration.
  Declarations declare(const Declarations& own, Numbering& numbering);

  /// The shared id; 0 where the capture's own id was not declared.
  [[nodiscard]] std::uint32_t find(IdKind kind, std::uint32_t own) const { return map(kind).find(own); }
  /// Notes an id that was given to one that was not declared.
  void assign(IdKind kind, std::uint32_t own, std::uint32_t shared) {
    maps_[static_cast<std::size_t>(kind)].set(own, shared, 0);
  }
  /// Whether every declared id is the same in both numberings.
  [[nodiscard]] bool is_identity() const { return is_identity_; }

  /// Called for an id that no declaration gave; returns the id to use instead.
  using OnUndeclared = std::function<std::uint32_t(IdKind, std::uint32_t own)>;

  /// Rewrites the ids of the events of a batch; its declarations are left as they are. About 0.5 ns a scope event.
  void translate(EventBatch& batch, const OnUndeclared& on_undeclared) const;

 private:
  /// Ids of one kind. Takes memory by how many there are, not by how large they are.
  class IdMap {
   public:
    [[nodiscard]] std::uint32_t find(std::uint32_t own) const {
      if (own < dense_.size()) {
        return dense_[own];
      }
      const auto found = sparse_.find(own);
      return found == sparse_.end() ? 0 : found->second;
    }
    void set(std::uint32_t own, std::uint32_t shared, std::size_t declared);

   private:
    std::vector<std::uint32_t> dense_;
    std::unordered_map<std::uint32_t, std::uint32_t> sparse_;
  };

  [[nodiscard]] const IdMap& map(IdKind kind) const { return maps_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint32_t take(IdKind kind, std::uint32_t own, std::size_t declared, Numbering& numbering);
  [[nodiscard]] ProcessId owner(ProcessId own, Declarations& shared, Numbering& numbering);

  IdMap maps_[7];
  bool is_identity_ = true;
};

/// Adds to every time of a batch; times that leave the range of 64 bits wrap around.
void shift_times(EventBatch& batch, std::int64_t offset_ns);

/// a + b, wrapping around: times of damaged captures may be anything.
[[nodiscard]] inline std::int64_t add_times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace kymo::capture
