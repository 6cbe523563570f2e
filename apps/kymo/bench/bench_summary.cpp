#include "apps/kymo/bench/bench_summary.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/units.hpp"
#include "base/output/replacing_file.hpp"
#include "bench/csv.hpp"
#include "bench/figure.hpp"

namespace kymo::command {
namespace {

namespace fs = std::filesystem;
using bench::Measurements;
using Json = nlohmann::ordered_json;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

/// Writes the summary's files.
class Summary {
 public:
  Summary(const GridPlan& plan, const std::vector<Measurements>& measurements, const std::string& output)
      : plan_(plan), measurements_(measurements), output_(output) {
    for (const Measurements& of_setting : measurements) {
      for (const auto& metric : of_setting) {
        metrics_.insert(metric.first);
      }
    }
  }

  GridSummary write() {
    judge_all();
    write_results();
    if (!plan_.table_path.empty()) {
      write_table();
    }
    write_figures();
    write_json();
    write_markdown();
    return std::move(summary_);
  }

 private:
  void write_file(const std::string& name, const std::string& text) {
    const fs::path path = fs::path(output_) / name;
    fs::create_directories(path.parent_path());
    // The directory is known to belong to this grid, so files may be replaced.
    base::replace_file(path.string(), {{}, true, {}}, [&text](base::OutputFile file) {
      file.buffer() = text;
      file.close();
    });
    summary_.files.push_back(path.string());
  }

  [[nodiscard]] const Measurements* baseline() const {
    return plan_.baseline ? &measurements_[*plan_.baseline] : nullptr;
  }

  void judge_all() {
    for (std::size_t criterion = 0; criterion < plan_.criteria.size(); ++criterion) {
      for (std::size_t setting = 0; setting < plan_.settings.size(); ++setting) {
        if (plan_.baseline == setting) {
          continue;
        }
        const bench::Verdict verdict = bench::judge(plan_.criteria[criterion], measurements_[setting], baseline());
        summary_.is_met = summary_.is_met && verdict.result == bench::Verdict::Result::met;
        summary_.verdicts.push_back({criterion, setting, verdict});
      }
    }
  }

  /// A row per setting: its values, and each metric's median, minimum and maximum.
  void write_results() {
    std::vector<std::string> parameters;
    for (const GridSetting& setting : plan_.settings) {
      for (const auto& value : setting.values) {
        if (std::find(parameters.begin(), parameters.end(), value.first) == parameters.end()) {
          parameters.push_back(value.first);
        }
      }
    }
    std::string csv = "setting";
    for (const std::string& name : parameters) {
      bench::append_field(csv += ',', std::string_view(name));
    }
    csv += ",runs";
    for (const std::string& metric : metrics_) {
      for (const char* const what : {"", "_min", "_max"}) {
        bench::append_field(csv += ',', std::string_view(metric + what));
      }
    }
    csv += '\n';
    for (std::size_t i = 0; i < plan_.settings.size(); ++i) {
      append_result(csv, plan_.settings[i], parameters, measurements_[i]);
    }
    write_file("results.csv", csv);
  }

  void append_result(std::string& csv, const GridSetting& setting, const std::vector<std::string>& parameters,
                     const Measurements& measurements) const {
    bench::append_field(csv, std::string_view(setting.name));
    for (const std::string& name : parameters) {
      csv += ',';
      for (const auto& [parameter, value] : setting.values) {
        if (parameter == name) {
          bench::append_field(csv, std::string_view(value));
        }
      }
    }
    const auto runs = measurements.find("wall_time_s");
    csv += fmt::format(",{}", runs == measurements.end() ? 0 : runs->second.size());
    for (const std::string& metric : metrics_) {
      const auto [least, greatest] = bench::range_of(measurements, metric);
      for (const double value : {bench::median_of(measurements, metric), least, greatest}) {
        bench::append_field(csv += ',', value);
      }
    }
    csv += '\n';
  }

  [[nodiscard]] double value_of(const TableColumn& column, const Measurements& measurements) const {
    const double value = bench::median_of(measurements, column.metric);
    const double base = baseline() == nullptr ? nothing : bench::median_of(*baseline(), column.metric);
    switch (column.form) {
      case TableColumn::Form::value:
        return value;
      case TableColumn::Form::difference:
        return value - base;
      case TableColumn::Form::reduction:
        return 1 - value / base;
      case TableColumn::Form::ratio:
        return value / base;
    }
    return nothing;
  }

  /// The table in the plan's format, without a row for the baseline.
  void write_table() {
    std::string csv = "setting";
    for (const TableColumn& column : plan_.table) {
      bench::append_field(csv += ',', std::string_view(column.name));
    }
    csv += '\n';
    for (std::size_t i = 0; i < plan_.settings.size(); ++i) {
      if (plan_.baseline == i) {
        continue;
      }
      bench::append_field(csv, std::string_view(plan_.settings[i].name));
      for (const TableColumn& column : plan_.table) {
        bench::append_field(csv += ',', value_of(column, measurements_[i]));
      }
      csv += '\n';
    }
    write_file(plan_.table_path, csv);
  }

  [[nodiscard]] bench::FigurePoint point_of(std::size_t setting, const std::string& metric) const {
    bench::FigurePoint point;
    point.label = printable(plan_.settings[setting].name, 40);
    point.y = bench::median_of(measurements_[setting], metric);
    std::tie(point.low, point.high) = bench::range_of(measurements_[setting], metric);
    return point;
  }

  [[nodiscard]] static std::string value_named(const GridSetting& setting, const std::string& name) {
    for (const auto& [parameter, value] : setting.values) {
      if (parameter == name) {
        return value;
      }
    }
    return {};
  }

  [[nodiscard]] bench::Figure make_figure(const FigurePlan& plan) const {
    bench::Figure figure;
    figure.title = printable(plan.title, 80);
    figure.is_lines = !plan.x.empty();
    figure.x_label = printable(plan.x, 60);
    if (baseline() != nullptr) {
      figure.baseline = bench::median_of(*baseline(), plan.metric);
    }
    for (std::size_t i = 0; i < plan_.settings.size(); ++i) {
      const GridSetting& setting = plan_.settings[i];
      bench::FigurePoint point = point_of(i, plan.metric);
      const std::string x = value_named(setting, plan.x);
      if (figure.is_lines && (x.empty() || !bench::parse_field(x, point.x))) {
        continue;
      }
      const std::string name = plan.series.empty() ? "" : plan.series + " = " + value_named(setting, plan.series);
      auto series = figure.series.begin();
      while (series != figure.series.end() && figure.is_lines && series->name != name) {
        ++series;
      }
      if (series == figure.series.end()) {
        series = figure.series.insert(series, {figure.is_lines ? name : "", {}});
      }
      series->points.push_back(std::move(point));
    }
    for (bench::FigureSeries& series : figure.series) {
      if (figure.is_lines) {
        std::stable_sort(series.points.begin(), series.points.end(),
                         [](const auto& left, const auto& right) { return left.x < right.x; });
      }
    }
    return figure;
  }

  void write_figures() {
    std::vector<FigurePlan> figures = plan_.figures;
    if (figures.empty()) {
      for (const std::string& metric : metrics_) {
        figures.push_back({metric, metric, metric, "", ""});
      }
    }
    for (const FigurePlan& plan : figures) {
      write_file("figs/" + bench::as_file_name(plan.name) + ".svg", bench::to_svg(make_figure(plan)));
    }
  }

  static Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

  static const char* word_for(bench::Verdict::Result result) {
    return result == bench::Verdict::Result::met      ? "met"
           : result == bench::Verdict::Result::missed ? "missed"
                                                      : "unknown";
  }

  void write_json() {
    Json settings = Json::array();
    for (std::size_t i = 0; i < plan_.settings.size(); ++i) {
      Json metrics = Json::object();
      for (const auto& [name, values] : measurements_[i]) {
        const auto [least, greatest] = bench::range_of(measurements_[i], name);
        metrics[name] = {{"median", number(bench::median_of(measurements_[i], name))},
                         {"min", number(least)},
                         {"max", number(greatest)}};
      }
      Json parameters = Json::object();
      for (const auto& [name, value] : plan_.settings[i].values) {
        parameters[name] = value;
      }
      settings.push_back({{"setting", plan_.settings[i].name},
                          {"is_baseline", plan_.baseline == i},
                          {"parameters", parameters},
                          {"metrics", metrics}});
    }
    Json verdicts = Json::array();
    for (const SettingVerdict& verdict : summary_.verdicts) {
      const bench::Criterion& criterion = plan_.criteria[verdict.criterion];
      verdicts.push_back({{"criterion", criterion.name},
                          {"metric", criterion.metric},
                          {"setting", plan_.settings[verdict.setting].name},
                          {"relative_to_baseline", criterion.is_relative},
                          {"at_least", criterion.at_least ? Json(*criterion.at_least) : Json()},
                          {"at_most", criterion.at_most ? Json(*criterion.at_most) : Json()},
                          {"value", number(verdict.verdict.value)},
                          {"verdict", word_for(verdict.verdict.result)}});
    }
    const Json summary{{"name", plan_.name},
                       {"plan", plan_.fingerprint},
                       {"settings", settings},
                       {"verdicts", verdicts},
                       {"is_met", summary_.is_met}};
    write_file("summary.json", summary.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  static std::string bounds_of(const bench::Criterion& criterion) {
    std::string bounds;
    if (criterion.at_least) {
      bounds = fmt::format("at least {}", *criterion.at_least);
    }
    if (criterion.at_most) {
      bounds += fmt::format("{}at most {}", bounds.empty() ? "" : ", ", *criterion.at_most);
    }
    return bounds + (criterion.is_relative ? " times the baseline" : "");
  }

  /// A cell of a Markdown table.
  static std::string cell(const std::string& text) {
    std::string escaped;
    for (const char character : printable(text)) {
      escaped += character == '|' ? "\\|" : std::string(1, character);
    }
    return escaped;
  }

  void write_markdown() {
    std::string text = fmt::format("# {}\n\nPlan {}. Medians of {} runs a setting.\n", cell(plan_.name),
                                   plan_.fingerprint.substr(0, 12), plan_.order.repetitions);
    if (!plan_.criteria.empty()) {
      text += "\n## Verdicts\n\n| criterion | wanted | setting | value | verdict |\n| --- | --- | --- | ---: | --- |\n";
    }
    for (const SettingVerdict& verdict : summary_.verdicts) {
      const bench::Criterion& criterion = plan_.criteria[verdict.criterion];
      text += fmt::format("| {} | {} | {} | {} | {} |\n", cell(criterion.name), bounds_of(criterion),
                          cell(plan_.settings[verdict.setting].name),
                          std::isfinite(verdict.verdict.value) ? format_value(verdict.verdict.value) : "none",
                          word_for(verdict.verdict.result));
    }
    text += "\n## Results\n\n| setting |";
    std::string rule = "\n| --- |";
    for (const std::string& metric : metrics_) {
      text += " " + cell(metric) + " |";
      rule += " ---: |";
    }
    text += rule + "\n";
    for (std::size_t i = 0; i < plan_.settings.size(); ++i) {
      text += "| " + cell(plan_.settings[i].name) + (plan_.baseline == i ? " (baseline) |" : " |");
      for (const std::string& metric : metrics_) {
        const double median = bench::median_of(measurements_[i], metric);
        text += std::isfinite(median) ? " " + format_value(median) + " |" : " |";
      }
      text += "\n";
    }
    for (const std::string& metric : metrics_) {
      bool is_known = false;
      for (const Measurements& measurements : measurements_) {
        is_known = is_known || std::isfinite(bench::median_of(measurements, metric));
      }
      if (!is_known) {
        text += fmt::format("\nNo run had a value of {}: there is no source for it here.\n", cell(metric));
      }
    }
    write_file("summary.md", text);
  }

  const GridPlan& plan_;
  const std::vector<Measurements>& measurements_;
  const std::string& output_;
  std::set<std::string> metrics_;
  GridSummary summary_;
};

}  // namespace

GridSummary write_summary(const GridPlan& plan, const std::vector<Measurements>& measurements,
                          const std::string& output) {
  return Summary(plan, measurements, output).write();
}

}  // namespace kymo::command
