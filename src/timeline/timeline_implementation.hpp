// What a Timeline holds.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/clock_alignment.hpp"
#include "capture/id_translation.hpp"
#include "timeline/source.hpp"

namespace kymo {

class Timeline::Implementation {
 public:
  explicit Implementation(const TimelineOptions& options);

  void open_all(const std::vector<std::string>& paths);
  void add(CaptureReader reader);
  bool refresh();

  using Visit = std::function<bool(std::size_t source, const EventBatch& batch)>;
  void visit_batches(TimeRange range, BatchParts parts, const Visit& visit) const;

  TimelineOptions options_;
  capture::ClockAxis axis_;
  capture::Numbering numbering_;
  std::vector<std::unique_ptr<timeline::Source>> sources_;
  Declarations declarations_;
  std::vector<TimelineProcess> processes_;
  std::vector<std::string> complaints_;
  std::vector<std::string> directories_;
  std::set<std::string> known_files_;

 private:
  bool open_in_directory(const std::string& file);
  void absorb(std::size_t index);
  void take_infos(const std::vector<InfoDeclaration>& infos);
};

}  // namespace kymo
