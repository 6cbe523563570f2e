// Opens captures on one axis and answers batch queries.
#include <kymo/timeline.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include <sys/stat.h>

#include "base/event_lists.hpp"
#include "capture/merge/redaction.hpp"
#include "capture/read/capture_files.hpp"
#include "timeline/replaced.hpp"
#include "timeline/source.hpp"
#include "timeline/timeline_implementation.hpp"
#include "timeline/unwritten.hpp"

namespace kymo {

namespace fs = std::filesystem;
using timeline::Source;

namespace {

/// Puts a declaration at the index of its id. The id is either the next one or an earlier one.
template <typename Declaration>
void place(std::vector<Declaration>& all, std::vector<Declaration>& more) {
  for (Declaration& declaration : more) {
    const std::size_t index = declaration.id.value() - std::size_t{1};
    if (index >= all.size()) {
      all.resize(index + 1);
      // Placeholders for ids that a process took before its declaration was read.
      all[index].id = declaration.id;
    }
    all[index] = std::move(declaration);
  }
}
void place(std::vector<InfoDeclaration>& /*all*/, std::vector<InfoDeclaration>& /*more*/) {}  // they have no ids

constexpr const char* undeclared = "(undeclared)";

/// Substitutes for declarations missing from a capture.
template <typename Declaration>
Declaration make_undeclared() {
  Declaration declaration;
  declaration.process = {};
  declaration.name = undeclared;
  return declaration;
}

template <typename Declaration, typename IdOf>
const Declaration& find_declaration(const std::vector<Declaration>& all, IdOf any) {
  const std::uint32_t id = any.value();
  static const Declaration missing = make_undeclared<Declaration>();
  return id != 0 && id <= all.size() ? all[id - std::size_t{1}] : missing;
}

}  // namespace

Timeline::Implementation::Implementation(const TimelineOptions& options)
    : options_(options), axis_(options.align_by_sync_points) {}

void Timeline::Implementation::open_all(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      directories_.push_back(path);
      const std::vector<std::string> found = capture::captures_in(path);
      for (const std::string& file : found) {
        open_one_of_several(file);
      }
      if (found.empty()) {
        throw CaptureError(path, 0, "the directory holds no captures (files *.kymo)");
      }
    } else if (paths.size() > 1 && capture::is_empty_file(path)) {
      open_one_of_several(path);
    } else {
      // Before it is opened, so that a replacement in between is not missed.
      const base::FileId id = base::id_of(path);
      add(CaptureReader(path));
      known_files_.emplace(path, id);
    }
  }
  if (sources_.empty() && !empty_files_.empty()) {
    static_cast<void>(CaptureReader(*empty_files_.begin()));  // throws
  }
  if (sources_.empty()) {
    throw CaptureError(paths.empty() ? std::string() : paths.front(), 0,
                       complaints_.empty() ? "there is nothing to open" : complaints_.front());
  }
}

/// What cannot be read is left out. Empty files may become captures.
bool Timeline::Implementation::open_one_of_several(const std::string& file) {
  if (capture::is_empty_file(file)) {
    empty_files_.insert(file);
    return false;
  }
  empty_files_.erase(file);
  if (!known_files_.emplace(file, base::id_of(file)).second) {
    return false;
  }
  try {
    add(CaptureReader(file));
    return true;
  } catch (const CaptureError& error) {
    complaints_.emplace_back(error.what());
    return false;
  }
}

void Timeline::Implementation::add(CaptureReader reader) {
  const capture::ClockShift shift = axis_.place(sources_.empty() ? reader : sources_.front()->reader(), reader);
  sources_.push_back(std::make_unique<Source>(sources_.size(), std::move(reader), shift));
  if (sources_.size() <= 2) {
    sources_.front()->set_alone(sources_.size() == 1);
  }
  absorb(sources_.size() - 1);
}

void Timeline::Implementation::absorb(std::size_t index) {
  Source& source = *sources_[index];
  std::vector<EventBatch> unwritten;
  if (options_.overlays_spools && !source.reader().is_closed()) {
    if (has_lost_its_writer(index)) {
      left_captures_.insert(index);
    }
    unwritten = timeline::find_unwritten(source.reader(), complaints_);
  }
  Declarations declared = source.absorb(numbering_, std::move(unwritten));
  if (options_.redacts) {
    capture::redact(declared);
  }
  for (const ProcessDeclaration& process : declared.processes) {
    if (process.id.value() > processes_.size()) {
      processes_.resize(process.id.value());
    }
    TimelineProcess& entry = processes_[process.id.index()];
    entry.declaration = process;
    entry.capture = index;
    entry.alignment = source.shift().alignment;
    entry.offset_ns = source.shift().offset_ns;
    entry.bound_ns = source.shift().bound_ns;
  }
  take_infos(declared.infos);
  base::for_each_declaration_list([](auto& all, auto& more) { place(all, more); }, declarations_, declared);
  if (options_.redacts) {
    source.redact_with(declarations_);
  }
}

void Timeline::Implementation::take_infos(const std::vector<InfoDeclaration>& infos) {
  for (const InfoDeclaration& info : infos) {
    TimelineProcess& process = processes_[info.process.index()];
    const auto [place, is_new] = info_places_.try_emplace({info.process, info.key}, process.infos.size());
    if (is_new) {
      process.infos.emplace_back(info.key, info.value);
    } else {
      process.infos[place->second].second = info.value;
    }
    // A merge records how it shifted the process; that adds to the capture's own shift.
    if (info.key == capture::aligned_by_key && process.alignment == Alignment::same_boot) {
      process.alignment = capture::alignment_of(info.value);
    } else if (info.key == capture::offset_key) {
      process.offset_ns = capture::add_times(process.offset_ns, std::strtoll(info.value.c_str(), nullptr, 10));
    } else if (info.key == capture::bound_key) {
      const std::int64_t bound_ns = std::strtoll(info.value.c_str(), nullptr, 10);
      process.bound_ns = bound_ns < 0 || process.bound_ns < 0 ? -1 : capture::add_times(process.bound_ns, bound_ns);
    }
  }
  declarations_.infos.clear();
  for (const TimelineProcess& process : processes_) {
    for (const auto& [key, value] : process.infos) {
      declarations_.infos.push_back({process.declaration.id, key, value});
    }
  }
}

bool Timeline::Implementation::has_lost_its_writer(std::size_t index) const {
  return options_.overlays_spools && left_captures_.count(index) == 0 && !sources_[index]->reader().is_closed() &&
         timeline::look_for_writer(sources_[index]->reader()) == timeline::Writer::gone;
}

bool Timeline::Implementation::refresh(std::size_t index) {
  const bool was_left = has_lost_its_writer(index);
  const bool has_grown = sources_[index]->reader().refresh();
  if (was_left || has_grown) {
    absorb(index);
  }
  return has_grown || (was_left && sources_[index]->unwritten_count() != 0);
}

bool Timeline::Implementation::refresh() {
  bool is_new = false;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    is_new = refresh(i) || is_new;
  }
  for (const std::string& directory : directories_) {
    for (const std::string& file : capture::captures_in(directory)) {
      is_new = open_one_of_several(file) || is_new;
    }
  }
  for (const std::string& file : std::set<std::string>(empty_files_)) {
    is_new = (base::id_of(file) != base::FileId() && open_one_of_several(file)) || is_new;
  }
  return is_new;
}

bool Timeline::Implementation::is_replaced() const {
  return std::any_of(sources_.begin(), sources_.end(), [this](const std::unique_ptr<Source>& source) {
    const auto known = known_files_.find(source->reader().path());
    struct stat status {};
    // A file that is gone leaves what was read of it.
    return known != known_files_.end() && ::stat(known->first.c_str(), &status) == 0 &&
           (base::id_of(status) != known->second ||
            static_cast<std::uint64_t>(status.st_size) < source->reader().size_bytes());
  });
}

std::span<const std::unique_ptr<timeline::Source>> timeline::sources_of(const Timeline& timeline) {
  return timeline.implementation().sources_;
}

bool timeline::is_replaced(const Timeline& timeline) {
  return timeline.implementation().is_replaced();
}

capture::FrameCounts timeline::frames_before(const Timeline& timeline) {
  const auto sources = sources_of(timeline);
  return sources.empty() ? capture::FrameCounts() : sources[0]->frames_before();  // a part is one capture
}

Timeline::Timeline(const std::vector<std::string>& paths, const TimelineOptions& options)
    : implementation_(std::make_unique<Implementation>(options)) {
  implementation_->open_all(paths);
}

Timeline::Timeline(const std::string& path, const TimelineOptions& options)
    : Timeline(std::vector<std::string>{path}, options) {}

Timeline::Timeline(std::vector<CaptureReader> captures, const TimelineOptions& options)
    : implementation_(std::make_unique<Implementation>(options)) {
  for (CaptureReader& capture : captures) {
    implementation_->add(std::move(capture));
  }
}

Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;
Timeline::~Timeline() = default;

std::size_t Timeline::capture_count() const {
  return implementation_->sources_.size();
}
const CaptureReader& Timeline::capture(std::size_t index) const {
  return implementation_->sources_.at(index)->reader();
}
const std::vector<std::string>& Timeline::complaints() const {
  return implementation_->complaints_;
}
const std::set<std::string>& Timeline::empty_files() const {
  return implementation_->empty_files_;
}
const Declarations& Timeline::declarations() const {
  return implementation_->declarations_;
}
const std::vector<TimelineProcess>& Timeline::processes() const {
  return implementation_->processes_;
}
bool Timeline::refresh() {
  return implementation_->refresh();
}

TimeRange Timeline::range() const {
  TimeRange range{0, 0};
  bool is_first = true;
  for (const auto& source : implementation_->sources_) {
    if (source->block_count() != 0) {
      range.start_ns = is_first ? source->range().start_ns : std::min(range.start_ns, source->range().start_ns);
      range.end_ns = is_first ? source->range().end_ns : std::max(range.end_ns, source->range().end_ns);
      is_first = false;
    }
  }
  return range;
}

const TimelineProcess& Timeline::process(ProcessId id) const {
  static const TimelineProcess missing = [] {
    TimelineProcess process;
    process.declaration.command_line = undeclared;
    return process;
  }();
  const auto& all = processes();
  return id.index() < all.size() ? all[id.index()] : missing;
}

const SiteDeclaration& Timeline::site(SiteId id) const {
  return find_declaration(declarations().sites, id);
}
const TrackDeclaration& Timeline::track(TrackId id) const {
  return find_declaration(declarations().tracks, id);
}
const MetricDeclaration& Timeline::metric(MetricId id) const {
  return find_declaration(declarations().metrics, id);
}
const FrameStreamDeclaration& Timeline::frame_stream(FrameStreamId id) const {
  return find_declaration(declarations().frame_streams, id);
}

std::string_view Timeline::name(NameId id) const {
  if (!id) {
    return {};
  }
  const auto& names = declarations().names;
  return id.index() < names.size() ? std::string_view(names[id.index()].text) : std::string_view(undeclared);
}

}  // namespace kymo
