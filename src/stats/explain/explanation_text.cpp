#include "stats/explain/explanation_text.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text/metric_name.hpp"
#include "stats/common/value_text.hpp"
#include "stats/explain/finding_text.hpp"
#include "stats/explain/functions.hpp"

namespace kymo {

namespace {

constexpr std::size_t most_name_shown = 60;
constexpr std::string_view kernel_function = "[kernel]";

using stats::count_text;
using stats::duration_text;

/// "frames", "frames of game (process 123)", or "scopes "load asset"".
std::string things_of(const Explanation& why) {
  if (!why.name.empty()) {
    return "scopes \"" + why.name + "\"";
  }
  return why.process.empty() ? "frames" : "frames of " + why.process;
}

std::string against(const Explanation& why) {
  return " (" + duration_text(why.slow_mean_ns) + " against " + duration_text(why.usual_mean_ns) + ")";
}

std::string explained(const Explanation& why) {
  // What takes less time may outweigh what was found.
  const auto percent = std::llround(100 * std::clamp(1 - why.unexplained_ns / why.excess_ns(), 0.0, 1.0));
  return std::to_string(percent) + " % of that is explained";
}

std::string describe_comparison(const Explanation& why) {
  const std::string who = "new " + things_of(why) + " take ";
  if (why.excess_ns() <= 0) {
    return who + "no longer than those of the base" + against(why);
  }
  return who + duration_text(why.excess_ns()) + " more than those of the base" + against(why) + "; " +
         (why.findings.empty() ? "no cause of that is sure" : explained(why));
}

}  // namespace

std::string describe(const Explanation& why) {
  if (why.is_comparison) {
    return describe_comparison(why);
  }
  const std::string things = things_of(why);
  if (why.instances < least_instances) {
    return "nothing can be said: there are " + std::to_string(why.instances) + " " + things + ", and at least " +
           std::to_string(least_instances) + " are needed to tell what is usual";
  }
  const std::string all = count_text(why.instances) + " " + things;
  if (why.slow == 0 && why.over_ns != 0) {
    return "none takes longer than " + duration_text(static_cast<double>(why.over_ns)) + ": the longest of " + all +
           " takes " + duration_text(why.longest_ns) + ", the median is " + duration_text(why.median_ns);
  }
  if (why.slow == 0) {
    return "nothing stands out: the longest of " + all + " takes " + duration_text(why.longest_ns) +
           ", the median is " + duration_text(why.median_ns) + "; chance explains that";
  }
  if (why.usual == 0) {
    return "nothing can be compared: all " + all + " count as slow, " + duration_text(why.slow_mean_ns) +
           " on average, and none as usual";
  }
  const std::string who = why.slow == 1   ? "one of " + all + " takes "
                          : why.is_chosen ? std::to_string(why.slow) + " of " + all + " take "
                                          : "the " + std::to_string(why.slow) + " slowest of " + all + " take ";
  if (why.excess_ns() <= 0) {
    return who + "no longer than usual" + against(why);
  }
  const std::string excess = who + duration_text(why.excess_ns()) + " more than usual" + against(why) + "; ";
  return excess + (why.findings.empty() ? "nothing stands out: no cause of it is sure" : explained(why));
}

namespace stats {

std::string share_of_excess_text(double share) {
  return std::to_string(std::llround(100 * share)) + " %";
}

std::string share_interval_text(const std::optional<Interval>& interval) {
  return interval ? "[" + std::to_string(std::llround(100 * interval->low)) + ".." +
                        std::to_string(std::llround(100 * interval->high)) + " %]"
                  : "";
}

std::string source_place_text(const FindingFunction& function) {
  if (!function.place) {
    return {};
  }
  const std::string& path = function.place->file;
  return (function.place->function == function.name ? "" : "from ") + path.substr(path.rfind('/') + 1) + ':' +
         std::to_string(function.place->line);
}

std::string function_text(const FindingFunction& function) {
  const std::string name = shortened(function.name, most_name_shown);
  const bool names_file =
      function.module.empty() || function.name.front() == '[' || function.name.rfind(function.module + "+0x", 0) == 0;
  std::string place = names_file ? "" : function.module;
  if (function.place) {
    place += (place.empty() ? "" : ", ") + source_place_text(function);
  }
  std::string text = share_of_excess_text(function.share);
  if (function.interval &&
      share_of_excess_text(function.interval->low) != share_of_excess_text(function.interval->high)) {
    text += " " + share_interval_text(function.interval);
  }
  text += !function.is_kernel                ? (function.is_caller ? " under " : " in ") + name
          : function.name == kernel_function ? " in the kernel"
                                             : " in the kernel for " + name;
  return text + (place.empty() ? "" : " (" + place + ")");
}

std::vector<std::string> lines_of(const std::string& text, const std::vector<FindingFunction>& functions) {
  std::vector<std::string> lines{text.substr(0, text.size() - describe_functions(functions).size())};
  for (const FindingFunction& function : functions) {
    lines.push_back(function_text(function));
  }
  return lines;
}

std::string companion_values_text(const MetricDeclaration& metric, const Companion& companion) {
  const std::string unit = metric.kind == MetricKind::gauge ? metric.unit : metric.unit + "/s";
  return base::full_name(metric) + " (" + value_text(companion.slow, unit) + " against " +
         value_text(companion.usual, unit) + ")";
}

std::string companion_text(const MetricDeclaration& metric, const Companion& companion) {
  return "goes along: " + companion_values_text(metric, companion);
}

}  // namespace stats

}  // namespace kymo
