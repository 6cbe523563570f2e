#include "recorded_scopes.hpp"

class Recording::Collected : public kymo::Sink {
 public:
  void write(const kymo::EventBatch& batch) override { batches.push_back(batch); }

  std::vector<kymo::EventBatch> batches;
};

namespace {

/// Builds the scopes of all tracks, batch after batch.
class ScopeBuilder {
 public:
  explicit ScopeBuilder(std::vector<RecordedScope>& scopes) : scopes_(scopes) {}

  void add(const kymo::EventBatch& batch) {
    for (const kymo::SiteDeclaration& site : batch.declarations.sites) {
      sites_[site.id] = site;
    }
    for (const kymo::ScopeRun& run : batch.runs) {
      std::vector<std::size_t>& open = open_[run.track];
      auto argument = run.arguments.begin();
      for (std::uint32_t i = 0; i <= run.events.size(); ++i) {
        for (; argument != run.arguments.end() && argument->position == i; ++argument) {
          if (!open.empty()) {
            scopes_[open.back()].arguments.push_back(static_cast<std::int64_t>(argument->value.bits));
          }
        }
        if (i < run.events.size()) {
          take(run.track, run.events[i], open);
        }
      }
    }
  }

 private:
  void take(kymo::TrackId track, const kymo::ScopeEvent& event, std::vector<std::size_t>& open) {
    while (open.size() > event.depth + (event.is_open() ? 0U : 1U)) {
      open.pop_back();
    }
    if (!event.is_open()) {
      if (open.size() == event.depth + 1U) {
        scopes_[open.back()].is_closed = (event.flags & kymo::ScopeEvent::forced) == 0;
        open.pop_back();
      }
      return;
    }
    RecordedScope scope;
    scope.track = track;
    scope.site = sites_[event.site];
    scope.depth = event.depth;
    scope.parent = open.empty() ? RecordedScope::none : open.back();
    open.push_back(scopes_.size());
    scopes_.push_back(scope);
  }

  std::vector<RecordedScope>& scopes_;
  std::map<kymo::SiteId, kymo::SiteDeclaration> sites_;
  std::map<kymo::TrackId, std::vector<std::size_t>> open_;
};

/// Totals of what tracks dropped; they count from the beginning of the process.
std::map<kymo::TrackId, std::uint64_t>& dropped_before() {
  static std::map<kymo::TrackId, std::uint64_t> totals;
  return totals;
}

}  // namespace

Recording::Recording() : collected_(std::make_shared<Collected>()), guard_(kymo::Sink::install(collected_)) {}

void Recording::stop() {
  guard_.remove();
  ScopeBuilder builder(scopes_);
  std::map<kymo::TrackId, std::uint64_t> totals = dropped_before();
  for (const kymo::EventBatch& batch : collected_->batches) {
    builder.add(batch);
    modules_.insert(modules_.end(), batch.declarations.modules.begin(), batch.declarations.modules.end());
    for (const kymo::ScopeRun& run : batch.runs) {
      totals[run.track] = run.dropped_scopes;
    }
  }
  for (const auto& [track, total] : totals) {
    dropped_ += total - dropped_before()[track];
  }
  dropped_before() = totals;
}

std::vector<std::string> Recording::outline() const {
  std::vector<std::string> lines;
  for (const RecordedScope& scope : scopes_) {
    lines.push_back(std::string(2 * scope.depth, ' ') + scope.site.name + (scope.is_closed ? "" : "!"));
  }
  return lines;
}

std::size_t Recording::count(const std::string& name) const {
  std::size_t count = 0;
  for (const RecordedScope& scope : scopes_) {
    count += scope.site.name == name ? 1 : 0;
  }
  return count;
}

const RecordedScope* Recording::find(const std::string& name) const {
  for (const RecordedScope& scope : scopes_) {
    if (scope.site.name == name) {
      return &scope;
    }
  }
  return nullptr;
}

const kymo::ModuleDeclaration* Recording::module(kymo::ModuleId id) const {
  const kymo::ModuleDeclaration* found = nullptr;
  for (const kymo::ModuleDeclaration& module : modules_) {
    found = module.id == id ? &module : found;
  }
  return found;
}
