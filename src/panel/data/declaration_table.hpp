// The declarations of a program so far, by id.
#pragma once

#include <string_view>

#include <kymo/declarations.hpp>

namespace kymo::panel {

/// Declarations by ascending id. A later declaration of an id replaces the earlier one. Not thread safe.
class DeclarationTable {
 public:
  /// Adds new declarations.
  void add(const Declarations& declared);

  [[nodiscard]] const Declarations& all() const { return all_; }
  /// The declaration of an id; one that says "(undeclared)" if there is none.
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const;
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const;
  /// The text of an id; empty if there is none.
  [[nodiscard]] std::string_view name(NameId id) const;

 private:
  Declarations all_;
};

}  // namespace kymo::panel
