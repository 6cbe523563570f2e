// What a program has declared so far, found by id.
#pragma once

#include <string_view>

#include <kymo/declarations.hpp>

namespace kymo::panel {

/// Declarations by ascending id; a later one of an id replaces the earlier. Not thread safe.
class DeclarationTable {
 public:
  /// Adds what was declared since.
  void add(const Declarations& declared);

  [[nodiscard]] const Declarations& all() const { return all_; }
  /// The declaration of an id; one that says "(undeclared)" where there is none.
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const;
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const;
  /// The text of an id; empty where there is none.
  [[nodiscard]] std::string_view name(NameId id) const;

 private:
  Declarations all_;
};

}  // namespace kymo::panel
