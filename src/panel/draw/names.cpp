// How sites, spans and tracks are named and coloured.
#include "panel/draw/names.hpp"

#include <utility>
#include <vector>

#include "base/system/unresolved.hpp"
#include "panel/draw/text.hpp"

namespace kymo::panel {

void Names::colour_sites() {
  const auto& sites = provider_.declarations().sites;
  std::vector<std::string_view> fresh;
  for (; coloured_ < sites.size(); ++coloured_) {
    fresh.push_back(sites[coloured_].name);
  }
  palette_->add_all(std::move(fresh));
}

const NameLook& Names::find_look(std::uint64_t key, base::SiteOrName what, const Theme& theme) {
  constexpr std::size_t most_looks = 20000;
  if (looks_.size() > most_looks || was_light_ != theme.is_light) {
    looks_.clear();
    recent_ = {};
    was_light_ = theme.is_light;
  }
  NameLook& look = looks_[key];
  if (look.colour == 0) {
    const bool named = base::is_name(what);
    const SiteDeclaration& site = provider_.site(base::site_of(what));
    const std::string_view text = named ? provider_.name(base::name_of(what)) : std::string_view(site.name);
    look.text = text.empty() ? std::string("(no name)") : clean_text(text);
    look.is_unresolved = named && base::is_unresolved(text);
    colour_sites();
    look.colour = look.is_unresolved ? theme.bad : palette_colour(palette_->place_of(text));
    look.is_wait = !named && site.role == SiteRole::wait;
  }
  recent_[key % recent_.size()] = {key, &look};
  return look;
}

ImU32 Names::colour_of(std::string_view name) {
  colour_sites();
  return palette_colour(palette_->place_of(name));
}

std::string Names::title(const TrackDeclaration& track) const {
  std::string title = track.name.empty() ? "track " + std::to_string(track.id.value()) : clean_text(track.name);
  title += track.role == TrackRole::fiber   ? "  (fiber)"
           : track.role == TrackRole::lock  ? "  (lock)"
           : track.kind == TrackKind::async ? "  (async)"
           : track.kind == TrackKind::queue ? "  (queue)"
                                            : "";
  const auto& processes = provider_.declarations().processes;
  if (has_processes_) {
    for (const ProcessDeclaration& process : processes) {
      if (process.id == track.process) {
        title += "  of " + clean_text(process.host, 40) + ":" + std::to_string(process.pid);
        title += process.rank.empty() ? "" : ", rank " + clean_text(process.rank, 20);
      }
    }
  }
  return title;
}

std::string Names::place(const SiteDeclaration& site) {
  if (site.file.empty()) {
    return {};
  }
  const std::string_view file = std::string_view(site.file).substr(site.file.rfind('/') + 1);
  return clean_text(file, 80) + (site.line != 0 ? ":" + std::to_string(site.line) : "");
}

std::string holder_text(std::string_view holder) {
  return holder.empty() ? std::string("who held the lock is not known")
                        : "the lock was held by " + clean_text(holder, 120);
}

}  // namespace kymo::panel
