// Internals of Timeline.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "base/system/file.hpp"
#include "capture/merge/clock_alignment.hpp"
#include "capture/merge/id_translation.hpp"
#include "timeline/source.hpp"

namespace kymo {

class Timeline::Implementation {
 public:
  explicit Implementation(const TimelineOptions& options);

  void open_all(const std::vector<std::string>& paths);
  void add(CaptureReader reader);
  bool refresh();
  [[nodiscard]] bool is_replaced() const;

  // Private to src/timeline, whose files implement Timeline.
  // NOLINTBEGIN(readability-identifier-naming)
  TimelineOptions options_;
  capture::ClockAxis axis_;
  capture::Numbering numbering_;
  std::vector<std::unique_ptr<timeline::Source>> sources_;
  Declarations declarations_;
  std::vector<TimelineProcess> processes_;
  std::vector<std::string> complaints_;
  std::vector<std::string> directories_;
  std::map<std::string, base::FileId> known_files_;  // by path
  std::set<std::string> empty_files_;
  // NOLINTEND(readability-identifier-naming)

 private:
  bool open_one_of_several(const std::string& file);
  bool refresh(std::size_t index);
  void absorb(std::size_t index);
  [[nodiscard]] bool has_lost_its_writer(std::size_t index) const;
  void take_infos(const std::vector<InfoDeclaration>& infos);

  std::set<std::size_t> left_captures_;  // indices of those whose writers are gone; what these left is looked for once
  std::map<std::pair<ProcessId, std::string>, std::size_t> info_places_;  // by key: its index in the process's infos
};

}  // namespace kymo
