// What the overview of a recording shows, and in what order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <kymo/overview.hpp>

#include "base/text/escapes.hpp"
#include "base/text/name_palette.hpp"
#include "stats/power_recording.hpp"

namespace kymo::test {
namespace {

MetricSeries samples(double first, double step) {
  MetricSeries series;
  for (int i = 0; i < 10; ++i) {
    series.times_ns.push_back(i * 100 * ms);
    series.values.push_back(first + i * step);
    series.flags.push_back(0);
  }
  return series;
}

MetricDeclaration metric(const std::string& name, const std::string& source) {
  MetricDeclaration declared;
  declared.name = name;
  declared.source = source;
  return declared;
}

/// The texts of a picture from top to bottom, without its axes.
std::vector<std::string> labels_of(const std::string& svg) {
  std::vector<std::string> labels;
  const std::regex label("<text[^>]*(?:text-anchor=\"end\"|class=\"q\")>([^<]*)</text>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), label), end; at != end; ++at) {
    labels.push_back((*at)[1]);
  }
  return labels;
}

std::size_t place_of(const std::vector<std::string>& labels, const std::string& label) {
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

TEST(Overview, TracksAndMetricsStandAsInThePanelAndConstantOnesAreFolded) {
  PowerRecording recording;
  for (std::int64_t i = 0; i < 10; ++i) {
    recording.scope(i * 100 * ms, (i * 100 + 50) * ms, TrackId{1}, "walk");
    recording.scope(i * 100 * ms, (i * 100 + 50) * ms, TrackId{2}, "run");
  }
  recording.fiber(TrackId{1}, "fiber");
  recording.metric(metric("mem_used", "/proc/meminfo"), samples(5, 1));
  recording.metric(metric("mem_total", "/proc/meminfo"), samples(7, 0));
  recording.metric(metric("swap_total", "/proc/meminfo"), samples(8, 0));
  recording.metric(metric("gpu_load", "nvml"), samples(1, 1));
  recording.metric(metric("cpu_util", "/proc/stat"), samples(1, 1));
  recording.metric(metric("loss", ""), samples(3, 0));
  const std::string svg = overview_svg(recording.make_timeline());
  const std::vector<std::string> labels = labels_of(svg);
  std::vector<std::size_t> places;
  for (const char* const label : {"thread", "fiber", "loss", "cpu_util", "gpu_load", "mem_used",
                                  "and 2 more metrics of the machine that did not change"}) {
    places.push_back(place_of(labels, label));
    EXPECT_LT(places.back(), labels.size()) << label << " is not in " << ::testing::PrintToString(labels);
  }
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << ::testing::PrintToString(labels);
  EXPECT_EQ(place_of(labels, "mem_total"), labels.size());
}

/// How many of a path's bins have something drawn in them.
std::size_t drawn_bins(const std::string& svg, const std::string& path_class) {
  const std::regex path("<path class=\"" + path_class + "\" d=\"([^\"]*)\"");
  std::smatch found;
  if (!std::regex_search(svg, found, path)) {
    return 0;
  }
  const std::string drawn = found[1];
  return static_cast<std::size_t>(std::count(drawn.begin(), drawn.end(), 'M'));
}

TEST(Overview, NothingIsDrawnWhereAMetricCouldNotBeRead) {
  const auto bins_of = [](bool has_gap) {
    PowerRecording recording;
    recording.scope(0, 1000 * ms, TrackId{1}, "walk");
    MetricSeries series = samples(3, 1);
    for (std::size_t i = 4; has_gap && i < 7; ++i) {
      series.values[i] = std::nan("");
    }
    recording.metric(metric("loss", ""), series);
    return static_cast<double>(drawn_bins(overview_svg(recording.make_timeline()), "m"));
  };
  EXPECT_NEAR(bins_of(true) / bins_of(false), 0.7, 0.02);
}

TEST(Overview, BarsOfFramesStandOnZeroAndSaySo) {
  PowerRecording recording;
  recording.scope(0, 1000 * ms, TrackId{1}, "walk");
  for (const std::int64_t time_ns : {0, 90, 190, 500}) {
    recording.frame_mark(time_ns * ms);
  }
  const std::vector<std::string> labels = labels_of(overview_svg(recording.make_timeline()));
  const auto longest = std::find(labels.begin(), labels.end(), "310 ms");
  ASSERT_TRUE(labels.end() - longest > 1) << ::testing::PrintToString(labels);
  EXPECT_EQ(*std::next(longest), "0 ns");
}

TEST(Overview, CoresShareARowOnAMachineOfMany) {
  PowerRecording recording;
  recording.scope(0, 1000 * ms, TrackId{1}, "walk");
  for (int core = 0; core < 64; ++core) {
    MetricDeclaration load = metric("cpu_util", "/proc/stat");
    load.labels = {{"core", std::to_string(core)}};
    recording.metric(load, samples(core, 1));
    MetricDeclaration clock = metric("cpu_clock", "/proc/cpuinfo");
    clock.labels = load.labels;
    recording.metric(clock, samples(core % 2 == 0 ? 2000 : 3000, 0));
  }
  recording.metric(metric("gpu_load", "nvml"), samples(1, 1));
  const std::vector<std::string> labels = labels_of(overview_svg(recording.make_timeline()));
  const std::size_t cores = place_of(labels, "cpu_util, 64 cores");
  ASSERT_LT(cores + 2, labels.size()) << ::testing::PrintToString(labels);
  EXPECT_EQ(labels[cores + 1], "72") << "the greatest of all";
  EXPECT_EQ(labels[cores + 2], "0");
  EXPECT_LT(place_of(labels, "gpu_load"), cores);
  EXPECT_LT(place_of(labels, "and 64 more metrics of the machine that did not change"), labels.size());
}

TEST(Overview, SitesHaveTheColoursOfThePanel) {
  PowerRecording recording;
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(base::palette_size); ++i) {
    names.push_back("site " + std::to_string(i));
    recording.scope(i * 100 * ms, (i * 100 + 90) * ms, TrackId{1}, names.back());
  }
  const Timeline timeline = recording.make_timeline();
  const std::string svg = overview_svg(timeline);
  base::NamePalette palette;
  palette.add_all({names.begin(), names.end()});
  for (const SiteDeclaration& site : timeline.declarations().sites) {
    const base::Rgb colour = base::palette_colour(palette.place_of(site.name));
    const std::vector<unsigned char> parts{colour.red, colour.green, colour.blue};
    const std::regex drawn("<title>" + site.name + "</title><path d=\"[^\"]*\" fill=\"#" +
                           base::to_hex(parts.data(), 3) + "\"");
    EXPECT_TRUE(std::regex_search(svg, drawn)) << site.name;
  }
}

/// The names in a picture's legend, with their colours.
std::vector<std::pair<std::string, std::string>> legend_of(const std::string& svg) {
  std::vector<std::pair<std::string, std::string>> legend;
  const std::regex entry("<rect[^>]* fill=\"(#[0-9a-f]{6})\"/><text[^>]*>([^<]*)</text>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), entry), end; at != end; ++at) {
    legend.emplace_back((*at)[2], (*at)[1]);
  }
  return legend;
}

TEST(Overview, ALegendNamesTheColoursByTheTimeTheyTake) {
  PowerRecording recording;
  for (std::int64_t i = 0; i < 10; ++i) {
    recording.scope(i * 100 * ms, (i * 100 + 20) * ms, TrackId{1}, "a <short> one");
    recording.scope((i * 100 + 20) * ms, (i * 100 + 90) * ms, TrackId{1}, "long");
    recording.scope(i * 100 * ms, (i * 100 + 40) * ms, TrackId{2}, "middle");
  }
  const std::string svg = overview_svg(recording.make_timeline());
  std::vector<std::string> names;
  for (const auto& [name, colour] : legend_of(svg)) {
    names.push_back(name);
    const std::regex drawn("<title>" + name + "</title><path d=\"[^\"]*\" fill=\"" + colour + "\"");
    EXPECT_TRUE(std::regex_search(svg, drawn)) << name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"long", "middle", "a &lt;short&gt; one"}));
}

TEST(Overview, ALegendSaysHowManyNamesItLeavesOut) {
  PowerRecording recording;
  for (std::int64_t i = 0; i < 100; ++i) {
    recording.scope(i * 10 * ms, (i * 10 + 9) * ms, TrackId{1}, "site " + std::to_string(i));
  }
  OverviewOptions options;
  options.width = 4096;
  const std::string svg = overview_svg(recording.make_timeline(), options);
  const std::size_t named = legend_of(svg).size();
  EXPECT_GE(named, 12U);
  EXPECT_LT(named, 100U);
  const std::vector<std::string> labels = labels_of(svg);
  EXPECT_LT(place_of(labels, "and " + std::to_string(100 - named) + " more names"), labels.size());
}

}  // namespace
}  // namespace kymo::test
