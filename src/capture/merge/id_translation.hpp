// Maps ids of several captures to a common numbering, for timelines and merges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Hands out ids of a numbering shared by several captures. Ids of each kind count up from 1 without gaps.
class Numbering {
 public:
  [[nodiscard]] std::uint32_t next(IdKind kind) { return ++last_[static_cast<std::size_t>(kind)]; }
  template <typename AnyId>
  [[nodiscard]] AnyId next() {
    return AnyId{next(AnyId::kind)};
  }
  /// The id of an interned text, common to all captures.
  [[nodiscard]] NameId name(const std::string& text);

 private:
  std::uint32_t last_[id_kinds] = {};
  std::unordered_map<std::string, NameId> names_;
};

/// Maps one capture's ids to the shared numbering.
class IdTranslation {
 public:
  /// Assigns ids to new declarations and returns the declarations with them. Known ones keep their id. About 100 ns per
  /// declaration.
  Declarations declare(const Declarations& own, Numbering& numbering);

  /// The shared id; 0 if the capture did not declare its own id.
  [[nodiscard]] std::uint32_t find(IdKind kind, std::uint32_t own) const { return map(kind).find(own); }
  template <IdKind kind>
  [[nodiscard]] Id<kind> find(Id<kind> own) const {
    return Id<kind>{find(kind, own.value())};
  }
  /// Maps an undeclared id to a shared one.
  void assign(IdKind kind, std::uint32_t own, std::uint32_t shared) {
    maps_[static_cast<std::size_t>(kind)].set(own, shared, 0);
  }
  /// Whether every declared id is the same in both numberings.
  [[nodiscard]] bool is_identity() const { return is_identity_; }

  /// Called for an undeclared id; returns the id to use instead.
  using OnUndeclared = std::function<std::uint32_t(IdKind, std::uint32_t own)>;

  /// Rewrites the ids in a batch's events, but not in its declarations. About 0.5 ns per scope event.
  void translate(EventBatch& batch, const OnUndeclared& on_undeclared) const;

 private:
  /// Ids of one kind. Memory depends on their number, not on their values.
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
  template <IdKind kind>
  [[nodiscard]] Id<kind> take(Id<kind> own, std::size_t declared, Numbering& numbering);
  [[nodiscard]] NameId take_name(const NameDeclaration& own, std::size_t declared, Numbering& numbering);
  [[nodiscard]] ProcessId owner(ProcessId own, Declarations& shared, Numbering& numbering);

  IdMap maps_[id_kinds];
  bool is_identity_ = true;
};

/// Adds an offset to every time of a batch; wraps around at 64 bits.
void shift_times(EventBatch& batch, std::int64_t offset_ns);

/// a + b, wrapping around: times of damaged captures may be arbitrary.
[[nodiscard]] inline std::int64_t add_times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace kymo::capture
