// How sites, spans and tracks are named and coloured.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text/name_palette.hpp"
#include "panel/data/block_provider.hpp"
#include "panel/draw/colours.hpp"

namespace kymo::panel {

/// How a name is drawn.
struct NameLook {
  std::string text;  ///< after clean_text
  ImU32 colour = 0;
  bool is_unresolved = false;  ///< marks unknown GPU times
  bool is_wait = false;        ///< a wait for a lock
};

/// The looks of a provider's names, made once each. For the drawing thread.
class Names {
 public:
  /// `palette`: may be shared, so that the same names have the same colours.
  explicit Names(const BlockProvider& provider,
                 std::shared_ptr<base::NamePalette> palette = std::make_shared<base::NamePalette>())
      : provider_(provider), palette_(std::move(palette)) {}

  /// The look of a site, or of a named span. Sites that are declared at once have the same colours in every run, and
  /// named spans come after those. Valid until the next call.
  [[nodiscard]] const NameLook& look(base::SiteOrName what, const Theme& theme) {
    const std::uint64_t key = (std::uint64_t{base::value_of(what)} << 1U) | (base::is_name(what) ? 1U : 0U);
    const auto& [recent_key, recent] = recent_[key % recent_.size()];
    return recent != nullptr && recent_key == key && was_light_ == theme.is_light ? *recent
                                                                                  : find_look(key, what, theme);
  }
  /// The colour of a name that is no site's and no span's, such as a function's. Sites have theirs before.
  [[nodiscard]] ImU32 colour_of(std::string_view name);
  /// Lets titles name the process: tracks of several are shown. A process that only sampled the machine has none.
  void name_processes() { has_processes_ = true; }
  /// A track's name, kind and, after name_processes(), process.
  [[nodiscard]] std::string title(const TrackDeclaration& track) const;
  /// "file.cpp:12"; empty if unknown.
  [[nodiscard]] static std::string place(const SiteDeclaration& site);

 private:
  [[nodiscard]] const NameLook& find_look(std::uint64_t key, base::SiteOrName what, const Theme& theme);
  /// Gives colours to the sites that were declared since.
  void colour_sites();

  const BlockProvider& provider_;
  bool was_light_ = false;
  std::unordered_map<std::uint64_t, NameLook> looks_;
  /// Those that were asked for last, by the lowest bits of their keys: a chart asks for few names thousands of times.
  std::array<std::pair<std::uint64_t, const NameLook*>, 64> recent_{};
  std::shared_ptr<base::NamePalette> palette_;
  std::size_t coloured_ = 0;  // number of sites that have colours
  bool has_processes_ = false;
};

/// The holder of a lock that was waited for.
[[nodiscard]] std::string holder_text(std::string_view holder);

}  // namespace kymo::panel
