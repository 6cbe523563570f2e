// What a test recorded, as a list of scopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kymo/kymo.hpp>
#include <kymo/sink.hpp>

/// A scope as its track's opens and closes have it.
struct RecordedScope {
  kymo::TrackId track;
  kymo::SiteDeclaration site;
  std::size_t depth = 0;
  std::size_t parent = none;            ///< index of the scope around it
  bool is_closed = false;               ///< by a close of its own; else by one of a scope around it, or not at all
  std::vector<std::int64_t> arguments;  ///< the integers recorded on it

  static constexpr std::size_t none = ~std::size_t{0};
};

/// Records from its making until stop().
class Recording {
 public:
  Recording();

  /// Ends the recording; what was recorded is there afterwards.
  void stop();

  [[nodiscard]] const std::vector<RecordedScope>& scopes() const { return scopes_; }
  /// Names in the order of opening, indented by two spaces a level; '!' after those without a close of their own.
  [[nodiscard]] std::vector<std::string> outline() const;
  [[nodiscard]] std::size_t count(const std::string& name) const;
  [[nodiscard]] const RecordedScope* find(const std::string& name) const;
  [[nodiscard]] const kymo::ModuleDeclaration* module(kymo::ModuleId id) const;
  /// Scopes that were lost while this recorded.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  class Collected;
  std::shared_ptr<Collected> collected_;
  kymo::SinkGuard guard_;
  std::vector<RecordedScope> scopes_;
  std::vector<kymo::ModuleDeclaration> modules_;
  std::uint64_t dropped_ = 0;
};
