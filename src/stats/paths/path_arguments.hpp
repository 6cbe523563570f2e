// Values of arguments along critical paths.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <kymo/events.hpp>

#include "stats/paths/critical_path.hpp"

namespace kymo::stats {

/// Adds up what the scopes of each subject recorded. `found` must outlive this. Memory grows with subjects, argument
/// names and their different texts, of which at most `most_texts` are kept.
class PathArguments {
 public:
  explicit PathArguments(CriticalPaths& found) : found_(found) {}

  /// Texts of the values that follow are in `text`.
  void begin_batch(std::string_view text) { text_ = text; }
  void take(std::uint32_t instance, SubjectId subject, const ArgumentValue& value);

 private:
  using Argument = std::pair<SubjectId, NameId>;

  [[nodiscard]] std::uint32_t number_of(const Argument& argument, std::string_view text);

  CriticalPaths& found_;
  std::map<Argument, std::map<std::string, std::uint32_t, std::less<>>> numbers_;
  std::string_view text_;
};

}  // namespace kymo::stats
