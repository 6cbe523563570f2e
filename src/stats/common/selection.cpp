// Selects the part of a timeline for statistics.
#include "stats/common/selection.hpp"

#include <algorithm>
#include <string>

#include "capture/merge/id_translation.hpp"

namespace kymo::stats {

namespace {

/// The first few non-empty texts, for a message.
std::string list_some(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 8;
  std::string list;
  for (std::size_t i = 0; i < texts.size() && i < most; ++i) {
    list += (i == 0 ? "" : ", ") + texts[i];
  }
  return list.empty() ? "none" : list + (texts.size() > most ? ", ..." : "");
}

template <typename Declared>
void add_names(std::vector<std::string>& names, const std::vector<Declared>& declared) {
  for (const Declared& entry : declared) {
    const std::string& name = entry.name;
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end() && names.size() < 64) {
      names.push_back(name);
    }
  }
}

bool fits_any(const std::vector<std::string>& patterns, std::string_view text) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [text](const std::string& pattern) { return fits_pattern(pattern, text); });
}

void narrow(TimeRange& range, TimeRange by) {
  range.start_ns = std::max(range.start_ns, by.start_ns);
  range.end_ns = std::max(range.start_ns, std::min(range.end_ns, by.end_ns));
}

}  // namespace

Selection::Selection(const Timeline& timeline, const SelectionOptions& options)
    : options_(options), others_(options.time), hull_(options.time) {
  check_patterns(timeline);
  const TimeRange all;
  cuts_time_ =
      options.time.start_ns != all.start_ns || options.time.end_ns != all.end_ns || options.frames || options.phase;
  if (options.frames || options.phase) {
    others_ = {options.time.start_ns, options.time.start_ns};
  }
  if (options.frames) {
    choose_frames(timeline);
  }
  if (options.phase) {
    choose_phase(timeline);
  }
  if (options.frames || options.phase) {
    bool is_first = true;
    for (auto& [process, range] : ranges_) {
      narrow(range, options.time);
      hull_.start_ns = is_first ? range.start_ns : std::min(hull_.start_ns, range.start_ns);
      hull_.end_ns = is_first ? range.end_ns : std::max(hull_.end_ns, range.end_ns);
      is_first = false;
    }
  }
}

void Selection::choose_frames(const Timeline& timeline) {
  std::uint64_t most = 0;
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    if (stream.name.empty() && ranges_.find(stream.process) == ranges_.end()) {
      const std::vector<Frame> frames = timeline.frames(stream.id);
      most = std::max<std::uint64_t>(most, frames.size());
      const FrameNumber last = std::min<FrameNumber>(options_.frames->last, frames.size());
      if (options_.frames->first >= 1 && options_.frames->first <= last) {
        const Frame& end = frames[static_cast<std::size_t>(last - 1)];
        ranges_[stream.process] = {frames[static_cast<std::size_t>(options_.frames->first - 1)].start_ns,
                                   capture::add_times(end.start_ns, end.duration_ns)};
      }
    }
  }
  if (ranges_.empty()) {
    throw SelectionError("there is no frame " + std::to_string(options_.frames->first) +
                         " in the main frame stream: it has " + std::to_string(most) +
                         (most == 0 ? " frames" : " frames, numbered from 1"));
  }
}

void Selection::choose_phase(const Timeline& timeline) {
  std::unordered_map<ProcessId, TimeRange> of_phase;
  std::vector<std::string> numbers;
  for (const Phase& phase : timeline.phases()) {
    if (phase.number == *options_.phase) {
      of_phase.try_emplace(phase.process, TimeRange{phase.start_ns, phase.end_ns});
    }
    const std::string number = std::to_string(phase.number);
    if (numbers.size() < 64 && std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
  }
  if (of_phase.empty()) {
    throw SelectionError("there is no phase " + std::to_string(*options_.phase) + "; there are: " + list_some(numbers));
  }
  if (!options_.frames) {
    ranges_ = std::move(of_phase);
    return;
  }
  for (auto& [process, range] : ranges_) {
    const auto phase = of_phase.find(process);
    narrow(range, phase == of_phase.end() ? TimeRange{range.start_ns, range.start_ns} : phase->second);
  }
}

void Selection::check_patterns(const Timeline& timeline) const {
  const Declarations& declared = timeline.declarations();
  for (const std::string& pattern : options_.sites) {
    const auto fits = [&pattern](const auto& name) { return fits_pattern(pattern, name); };
    const bool is_site = std::any_of(declared.sites.begin(), declared.sites.end(),
                                     [&fits](const SiteDeclaration& site) { return fits(site.name); });
    if (!is_site && std::none_of(declared.names.begin(), declared.names.end(),
                                 [&fits](const NameDeclaration& name) { return fits(name.text); })) {
      std::vector<std::string> names;
      add_names(names, declared.sites);
      throw SelectionError("no site is called " + pattern + "; there are: " + list_some(names));
    }
  }
  for (const std::string& pattern : options_.threads) {
    if (std::none_of(declared.tracks.begin(), declared.tracks.end(),
                     [&pattern](const TrackDeclaration& track) { return fits_pattern(pattern, track.name); }) &&
        std::none_of(declared.threads.begin(), declared.threads.end(),
                     [&pattern](const ThreadDeclaration& thread) { return fits_pattern(pattern, thread.name); })) {
      std::vector<std::string> names;
      add_names(names, declared.threads);
      add_names(names, declared.tracks);
      throw SelectionError("no thread is called " + pattern + "; there are: " + list_some(names));
    }
  }
}

bool Selection::takes_site(std::string_view name) const {
  return fits_any(options_.sites, name);
}

bool Selection::takes_track(ProcessId process, std::string_view name) const {
  return (!options_.process || options_.process == process) && fits_any(options_.threads, name);
}

TimeRange Selection::range_of(ProcessId process) const {
  if (options_.process && options_.process != process) {
    return {others_.start_ns, others_.start_ns};
  }
  const auto found = ranges_.find(process);
  return found == ranges_.end() ? others_ : found->second;
}

}  // namespace kymo::stats
