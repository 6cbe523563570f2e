#include "summary.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

namespace headless {

namespace {

constexpr double milliseconds = 1e-6;
constexpr double microseconds = 1e-3;

void print_facts(const kymo::Timeline& timeline) {
  for (const kymo::TimelineProcess& process : timeline.processes()) {
    std::printf("%s\n", process.declaration.command_line.c_str());
    for (const auto& [key, value] : process.infos) {
      std::printf("  %-20s %s\n", key.c_str(), value.c_str());
    }
  }
}

/// Number and duration of each site's scopes, with and without the scopes inside them.
void print_sites(const kymo::Timeline& timeline) {
  struct Total {
    std::uint64_t count = 0;
    std::int64_t total_ns = 0;
    std::int64_t self_ns = 0;
  };
  std::map<kymo::SiteId, Total> totals;
  timeline.visit_spans([&](const kymo::SpanList& list) {
    for (const kymo::Span& span : list.spans) {
      if (span.site) {
        Total& total = totals[span.site];
        ++total.count;
        total.total_ns += span.duration_ns;
        total.self_ns += span.self_ns;
      }
    }
    return true;
  });
  std::printf("\n%-22s %8s %12s %12s %12s\n", "scope", "count", "total ms", "self ms", "mean us");
  for (const auto& [id, total] : totals) {
    std::printf("%-22s %8llu %12.3f %12.3f %12.3f\n", timeline.site(id).name.c_str(),
                static_cast<unsigned long long>(total.count), static_cast<double>(total.total_ns) * milliseconds,
                static_cast<double>(total.self_ns) * milliseconds,
                static_cast<double>(total.total_ns) * microseconds / static_cast<double>(total.count));
  }
}

void print_frames(const kymo::Timeline& timeline) {
  std::printf("\n%-22s %8s %12s %12s %12s\n", "frames", "count", "p50 ms", "p99 ms", "max ms");
  for (const kymo::FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    std::vector<kymo::Frame> frames = timeline.frames(stream.id);
    if (frames.empty()) {
      continue;
    }
    std::sort(frames.begin(), frames.end(),
              [](const kymo::Frame& a, const kymo::Frame& b) { return a.duration_ns < b.duration_ns; });
    const auto percentile_ms = [&](std::size_t percent) {
      const std::size_t rank = (frames.size() - 1) * percent / 100;
      return static_cast<double>(frames[rank].duration_ns) * milliseconds;
    };
    std::printf("%-22s %8zu %12.4f %12.4f %12.4f\n", stream.name.empty() ? "(main)" : stream.name.c_str(),
                frames.size(), percentile_ms(50), percentile_ms(99), percentile_ms(100));
  }
}

void print_metrics(const kymo::Timeline& timeline) {
  std::printf("\n%-22s %8s %12s %12s\n", "metric", "samples", "first", "last");
  for (const kymo::MetricDeclaration& metric : timeline.declarations().metrics) {
    const kymo::MetricSeries series = timeline.series(metric.id);
    if (!series.values.empty()) {
      std::printf("%-22s %8zu %12.5g %12.5g %s\n", metric.name.c_str(), series.values.size(), series.values.front(),
                  series.values.back(), metric.unit.c_str());
    }
  }
}

void print_losses(const kymo::Timeline& timeline) {
  std::uint64_t recorded = 0;
  std::uint64_t dropped = 0;
  for (const kymo::TrackTotals& totals : timeline.totals()) {
    recorded += totals.recorded_scopes;
    dropped += totals.dropped_scopes;
  }
  std::printf("\n%llu scopes recorded, %llu dropped\n", static_cast<unsigned long long>(recorded),
              static_cast<unsigned long long>(dropped));
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    for (const kymo::Damage& damage : timeline.capture(i).damages()) {
      std::printf("damaged: %llu bytes at %llu: %s\n", static_cast<unsigned long long>(damage.size),
                  static_cast<unsigned long long>(damage.offset), damage.what.c_str());
    }
  }
}

}  // namespace

void print_summary(const std::string& path) {
  const kymo::Timeline timeline(path);
  print_facts(timeline);
  print_sites(timeline);
  print_frames(timeline);
  print_metrics(timeline);
  print_losses(timeline);
}

}  // namespace headless
