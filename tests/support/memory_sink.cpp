#include "support/memory_sink.hpp"

#include <map>

namespace kymo::test {

namespace {

template <typename T>
const T* find_declared(const std::vector<EventBatch>& batches, std::vector<T> Declarations::*kind, decltype(T::id) id) {
  const T* found = nullptr;
  for (const EventBatch& batch : batches) {
    for (const T& declared : batch.declarations.*kind) {
      found = declared.id == id ? &declared : found;
    }
  }
  return found;
}

}  // namespace

std::string site_name(const std::vector<EventBatch>& batches, SiteId site) {
  const SiteDeclaration* const found = find_declared(batches, &Declarations::sites, site);
  return found != nullptr ? found->name : std::string();
}

std::string track_name(const std::vector<EventBatch>& batches, TrackId track) {
  const TrackDeclaration* const found = find_declared(batches, &Declarations::tracks, track);
  return found != nullptr ? found->name : std::string();
}

std::string text_name(const std::vector<EventBatch>& batches, NameId name) {
  const NameDeclaration* const found = find_declared(batches, &Declarations::names, name);
  return found != nullptr ? found->text : std::string();
}

std::vector<SeenScope> closed_scopes(const std::vector<EventBatch>& batches) {
  std::vector<SeenScope> closed;
  std::map<SiteId, std::string> names;
  for (const EventBatch& batch : batches) {
    for (const SiteDeclaration& site : batch.declarations.sites) {
      names[site.id] = site.name;
    }
  }
  std::map<TrackId, std::vector<ScopeEvent>> open;
  for (const EventBatch& batch : batches) {
    for (const ScopeRun& run : batch.runs) {
      std::vector<ScopeEvent>& stack = open[run.track];
      for (const ScopeEvent& event : run.events) {
        if (event.is_open()) {
          stack.push_back(event);
          continue;
        }
        while (stack.size() > event.depth) {
          const ScopeEvent begin = stack.back();
          stack.pop_back();
          const bool is_forced = stack.size() > event.depth || (event.flags & ScopeEvent::forced) != 0;
          closed.push_back({run.track, names[begin.site], begin.time_ns, event.time_ns,
                            static_cast<unsigned>(stack.size()), is_forced});
        }
      }
    }
  }
  return closed;
}

std::vector<double> values_of(const std::vector<EventBatch>& batches, const std::string& metric) {
  std::vector<double> values;
  for (const EventBatch& batch : batches) {
    for (const SampleRun& run : batch.samples) {
      const MetricDeclaration* const declared = find_declared(batches, &Declarations::metrics, run.metric);
      if (declared != nullptr && declared->name == metric) {
        values.insert(values.end(), run.values.begin(), run.values.end());
      }
    }
  }
  return values;
}

}  // namespace kymo::test
