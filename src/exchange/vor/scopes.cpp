#include "exchange/vor/scopes.hpp"

#include <algorithm>

#include "capture/summary/scope_matcher.hpp"
#include "exchange/vor/format.hpp"
#include "exchange/vor/slices.hpp"

namespace kymo::exchange {
namespace {

constexpr std::size_t most_pending_events = 1'000'000;
constexpr std::size_t most_site_bytes = std::size_t{48} << 20U;
/// Bytes counted for a name, a site or a track in addition to its text.
constexpr std::size_t name_cost = 128;

bool is_possible(std::int64_t time_ns) {
  return time_ns >= -most_vor_ns && time_ns <= most_vor_ns;
}

}  // namespace

void FlameEvents::take(std::span<const std::byte> part) {
  try {
    reader_.open(part);
    // If a frame has no scopes, vor repeats the previous part.
    const FlameMeta& meta = reader_.meta();
    if (has_meta_ && meta.number == meta_.number && meta.start_ns == meta_.start_ns && meta.end_ns == meta_.end_ns) {
      return;
    }
    meta_ = meta;
    has_meta_ = true;
    for (FlameSite site; reader_.next_site(site);) {
      take_site(site);
    }
    for (FlameThread thread; reader_.next_thread(thread);) {
      take_thread(thread);
    }
  } catch (const capture::DecodeError&) {
    ++damage_.parts;
  }
  const auto is_done = [this](Track* track) {
    if (track->held_ns != meta_.end_ns) {
      close_held(*track);
    }
    track->is_waiting = track->levels.size() > track->live;
    return !track->is_waiting;
  };
  std::erase_if(waiting_, is_done);
}

void FlameEvents::finish() {
  for (auto& [key, track] : tracks_) {
    close_held(track);
  }
}

void FlameEvents::take_site(const FlameSite& site) {
  SiteDeclaration place;
  place.kind = site.is_function ? SiteKind::function : SiteKind::scope;
  place.line = site.line;
  place.name = valid_vor_text(site.is_function ? site.function : site.name);
  place.function = valid_vor_text(site.function);
  place.file = valid_vor_text(site.file);
  const SiteId id = declare_site(std::move(place));
  if (site.id != 0 && id && (site_ids_.count(site.id) != 0 || has_room(0))) {
    site_ids_[site.id] = id;
  }
}

bool FlameEvents::has_room(std::size_t bytes) {
  const std::size_t cost = name_cost + bytes;
  if (name_bytes_ + cost > most_site_bytes) {
    return false;
  }
  name_bytes_ += cost;
  return true;
}

SiteId FlameEvents::declare_site(SiteDeclaration site) {
  std::string key = site.name + '\n' + site.function + '\n' + site.file + '\n';
  key += std::to_string(site.line) + (site.kind == SiteKind::function ? 'f' : 's');
  const auto known = sites_.find(key);
  if (known != sites_.end()) {
    return known->second;
  }
  if (!has_room(3 * key.size())) {
    return SiteId{};
  }
  site.id = SiteId::from_index(sites_.size());
  sites_.emplace(std::move(key), site.id);
  declarations_.sites.push_back(std::move(site));
  return declarations_.sites.back().id;
}

SiteId FlameEvents::find_site(std::uint32_t id) {
  const auto known = site_ids_.find(id);
  if (known != site_ids_.end()) {
    return known->second;
  }
  SiteDeclaration site;
  site.name = "scope " + std::to_string(id);
  return declare_site(std::move(site));
}

FlameEvents::Track* FlameEvents::find_track(const FlameThread& thread) {
  ThreadKey key(thread.start_ns, thread.name);
  const auto known = tracks_.find(key);
  if (known != tracks_.end()) {
    return &known->second;
  }
  if (!has_room(sizeof(Track) + 6 * thread.name.size())) {
    return nullptr;
  }
  Track& track = tracks_[std::move(key)];
  track.id = TrackId(static_cast<std::uint32_t>(tracks_.size()));
  declarations_.tracks.push_back({track.id, TrackKind::thread, ProcessId{1}, 0, valid_vor_text(thread.name)});
  return &track;
}

void FlameEvents::take_thread(const FlameThread& thread) {
  Track* const track = find_track(thread);
  if (track == nullptr) {
    ++damage_.no_room;
    return;
  }
  FlameCursor cursor(thread.stream);
  try {
    for (FlameCursor::Step step = cursor.next(); step != FlameCursor::Step::end; step = cursor.next()) {
      if (step == FlameCursor::Step::close) {
        close(*track, cursor.time_ns());
      } else if (!open(*track, cursor)) {
        cursor.skip();
      }
      if (pending_ + text_.size() / 16 >= most_pending_events) {
        on_full_();
      }
    }
  } catch (const capture::DecodeError&) {
    ++damage_.threads;
    while (track->live > 0) {
      close(*track, track->last_ns);
    }
  }
}

bool FlameEvents::open(Track& track, const FlameCursor& cursor) {
  const std::int64_t time_ns = cursor.time_ns();
  if (!is_possible(time_ns) || time_ns < track.last_ns) {
    ++damage_.times_back;
    return false;
  }
  const SiteId site = track.live < capture::deepest_scope ? find_site(cursor.site()) : SiteId{};
  if (!site) {
    ++damage_.no_room;
    return false;
  }
  std::string_view text = cursor.text();
  if (track.levels.size() > track.live) {
    // The other half of a scope that was cut at the mark.
    if (track.held_ns == time_ns && track.levels[track.live].site == site && text.starts_with(continued_mark)) {
      ++track.live;
      text.remove_prefix(continued_mark.size());
      add_text(track, text.starts_with(' ') ? text.substr(1) : text);
      return true;
    }
    close_held(track);
  }
  emit(track, time_ns, site);
  track.levels.push_back({site, time_ns});
  ++track.live;
  ++scopes_;
  add_text(track, text);
  return true;
}

void FlameEvents::close(Track& track, std::int64_t time_ns) {
  if (time_ns < track.last_ns || !is_possible(time_ns)) {
    ++damage_.ends_moved;
    time_ns = track.last_ns;
  }
  const bool waits = time_ns == meta_.end_ns;
  if (!waits || track.held_ns != time_ns) {
    close_held(track);
  }
  --track.live;
  track.held_ns = time_ns;
  track.last_ns = time_ns;
  if (!waits) {
    close_held(track);
  } else if (!track.is_waiting) {
    track.is_waiting = true;
    waiting_.push_back(&track);
  }
}

void FlameEvents::close_held(Track& track) {
  while (track.levels.size() > track.live) {
    track.levels.pop_back();
    emit(track, track.held_ns, SiteId{});
  }
}

void FlameEvents::emit(Track& track, std::int64_t time_ns, SiteId site) {
  track.run.events.push_back({time_ns, site, static_cast<std::uint16_t>(track.levels.size()), 0});
  track.last_ns = std::max(track.last_ns, time_ns);
  start_ns_ = std::min(start_ns_, time_ns);
  end_ns_ = std::max(end_ns_, time_ns);
  ++pending_;
}

void FlameEvents::add_text(Track& track, std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (!text_name_) {
    text_name_ = NameId{1};
    declarations_.names.push_back({text_name_, std::string(vor_text_argument)});
  }
  const std::string valid = valid_vor_text(text);
  track.run.arguments.push_back(
      {static_cast<std::uint32_t>(track.run.events.size()),
       {text_name_, ArgumentType::string, false, static_cast<std::uint32_t>(valid.size()), text_.size()}});
  text_ += valid;
  ++pending_;
}

void FlameEvents::move_into(EventBatch& batch) {
  for (auto& [key, track] : tracks_) {
    if (track.run.events.empty() && track.run.arguments.empty() && track.levels.empty()) {
      continue;
    }
    ScopeRun& run = batch.runs.emplace_back(std::move(track.run));
    track.run = {};
    run.track = track.id;
    run.first_sequence = track.sequence;
    track.sequence += run.events.size() + run.arguments.size();
    run.end_sequence = track.sequence;
    run.open_at_start = std::move(track.open_at_start);
    track.open_at_start.clear();
    for (const Level& level : track.levels) {
      track.open_at_start.push_back({level.start_ns, level.site});
    }
  }
  batch.declarations.sites = std::exchange(declarations_.sites, {});
  batch.declarations.tracks = std::exchange(declarations_.tracks, {});
  batch.declarations.names = std::exchange(declarations_.names, {});
  batch.text = std::exchange(text_, {});
  batch.start_ns = std::min(batch.start_ns, start_ns_);
  batch.end_ns = std::max(batch.end_ns, end_ns_);
  start_ns_ = std::numeric_limits<std::int64_t>::max();
  end_ns_ = std::numeric_limits<std::int64_t>::min();
  pending_ = 0;
}

}  // namespace kymo::exchange
