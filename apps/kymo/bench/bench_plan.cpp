#include "apps/kymo/bench/bench_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/units.hpp"
#include "bench/csv.hpp"
#include "bench/sha256.hpp"

namespace kymo::command {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> own_places{"setting", "repetition", "seed", "output", "metrics", "plan"};

/// A place in the plan: a value and its JSON pointer.
class Place {
 public:
  Place(const Json& value, std::string pointer, const std::string& file)
      : value_(&value), pointer_(std::move(pointer)), file_(&file) {}

  [[noreturn]] void fail(std::string_view problem) const {
    throw Failure(fmt::format("{}: {}: {}", *file_, pointer_.empty() ? "the plan" : printable(pointer_), problem));
  }

  [[nodiscard]] Place at(std::string_view key) const {
    std::string escaped;
    for (const char character : key) {
      escaped += character == '~' ? "~0" : character == '/' ? "~1" : std::string(1, character);
    }
    return {value_->at(std::string(key)), pointer_ + "/" + escaped, *file_};
  }
  [[nodiscard]] std::optional<Place> find(std::string_view key) const {
    return value_->contains(std::string(key)) ? std::optional(at(key)) : std::nullopt;
  }

  /// Checks that it is an object without unknown members.
  void expect_object(std::initializer_list<std::string_view> known) const {
    expect(value_->is_object(), "an object");
    for (const auto& member : value_->items()) {
      if (std::find(known.begin(), known.end(), member.key()) == known.end()) {
        at(member.key()).fail(fmt::format("nothing of this name is known here; there is {}", fmt::join(known, ", ")));
      }
    }
  }
  void expect(bool is_so, std::string_view what) const {
    if (!is_so) {
      fail(fmt::format("{} is expected", what));
    }
  }

  [[nodiscard]] std::vector<Place> elements() const {
    expect(value_->is_array(), "an array");
    std::vector<Place> places;
    for (std::size_t i = 0; i < value_->size(); ++i) {
      places.emplace_back((*value_)[i], fmt::format("{}/{}", pointer_, i), *file_);
    }
    return places;
  }
  [[nodiscard]] std::vector<std::pair<std::string, Place>> members() const {
    expect(value_->is_object(), "an object");
    std::vector<std::pair<std::string, Place>> places;
    for (const auto& member : value_->items()) {
      places.emplace_back(member.key(), at(member.key()));
    }
    return places;
  }
  [[nodiscard]] std::string text() const {
    expect(value_->is_string(), "a string");
    std::string text = value_->get<std::string>();
    expect(text.find('\0') == std::string::npos, "a string without NUL");
    return text;
  }
  [[nodiscard]] bool boolean() const {
    expect(value_->is_boolean(), "true or false");
    return value_->get<bool>();
  }
  [[nodiscard]] double number(double least = -HUGE_VAL) const {
    expect(value_->is_number() && value_->get<double>() >= least,
           std::isinf(least) ? "a number" : fmt::format("a number of at least {}", least));
    return value_->get<double>();
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t least, std::uint64_t greatest) const {
    expect(value_->is_number_unsigned() && value_->get<std::uint64_t>() >= least &&
               value_->get<std::uint64_t>() <= greatest,
           fmt::format("a whole number from {} to {}", least, greatest));
    return value_->get<std::uint64_t>();
  }
  /// A string as it is; a number or a boolean as JSON.
  [[nodiscard]] std::string word() const {
    if (value_->is_number() || value_->is_boolean()) {
      return value_->dump();
    }
    expect(value_->is_string(), "a string, a number, true or false");
    return text();
  }

 private:
  const Json* value_;
  std::string pointer_;
  const std::string* file_;
};

CommandPattern read_command(const Place& place) {
  CommandPattern command;
  for (const Place& word : place.at("command").elements()) {
    command.words.push_back(word.text());
  }
  place.at("command").expect(!command.words.empty() && !command.words.front().empty(),
                             "a command of at least one word");
  if (const auto environment = place.find("environment")) {
    for (const auto& [name, value] : environment->members()) {
      value.expect(!name.empty() && name.find('=') == std::string::npos, "a name without \"=\"");
      command.environment.emplace_back(name, value.word());
    }
  }
  return command;
}

std::vector<bench::Parameter> read_parameters(const Place& place) {
  std::vector<bench::Parameter> parameters;
  for (const auto& [name, values] : place.members()) {
    values.expect(std::find(own_places.begin(), own_places.end(), name) == own_places.end(),
                  "another name: this one is a placeholder of kymo's");
    values.expect(!name.empty() && name.find_first_of("{}") == std::string::npos, "a name without braces");
    bench::Parameter parameter{name, {}};
    for (const Place& value : values.elements()) {
      parameter.values.push_back(value.word());
      const auto last = parameter.values.end() - 1;
      value.expect(std::find(parameter.values.begin(), last, *last) == last, "a value that is not there already");
    }
    values.expect(!parameter.values.empty(), "at least one value");
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::string name_setting(const std::optional<Place>& pattern, const bench::Values& values) {
  if (pattern) {
    try {
      return bench::fill(pattern->text(), values);
    } catch (const std::invalid_argument& problem) {
      pattern->fail(problem.what());
    }
  }
  std::string name;
  for (const auto& [parameter, value] : values) {
    name += fmt::format("{}{}={}", name.empty() ? "" : ",", parameter, value);
  }
  return name.empty() ? "only" : name;
}

void read_settings(const Place& root, GridPlan& plan) {
  const CommandPattern command = read_command(root);
  const auto parameters = root.find("parameters");
  std::vector<bench::Values> combinations{{}};
  if (parameters) {
    try {
      combinations = bench::combine(read_parameters(*parameters));
    } catch (const std::length_error& problem) {
      parameters->fail(problem.what());
    }
  }
  const auto pattern = root.find("setting");
  for (bench::Values& values : combinations) {
    std::string name = name_setting(pattern, values);
    plan.settings.push_back({std::move(name), std::move(values), command});
  }
}

void read_baseline(const Place& place, GridPlan& plan) {
  place.expect_object({"command", "environment", "parameters"});
  const auto parameters = place.find("parameters");
  if (!parameters) {
    place.expect(place.find("command").has_value(), "\"command\", or \"parameters\" of a setting");
    plan.settings.insert(plan.settings.begin(), {"baseline", {}, read_command(place)});
    plan.baseline = 0;
    return;
  }
  place.expect(!place.find("command"), "either \"command\" or \"parameters\"");
  bench::Values wanted;
  for (const auto& [name, value] : parameters->members()) {
    wanted.emplace_back(name, value.word());
  }
  const auto found = std::find_if(plan.settings.begin(), plan.settings.end(), [&wanted](const GridSetting& setting) {
    return std::is_permutation(setting.values.begin(), setting.values.end(), wanted.begin(), wanted.end());
  });
  if (found == plan.settings.end()) {
    parameters->fail("no setting has these values: name one value of each parameter");
  }
  plan.baseline = static_cast<std::size_t>(found - plan.settings.begin());
}

/// Setting names must be unique, also after conversion to file names.
void check_names(const Place& root, const GridPlan& plan) {
  std::set<std::string> names;
  for (const GridSetting& setting : plan.settings) {
    if (!names.insert(bench::as_file_name(setting.name)).second) {
      (root.find("setting") ? root.at("setting") : root)
          .fail(fmt::format("two settings would have the name {}", printable(setting.name)));
    }
  }
}

/// Fills in every pattern once, so that errors are found before anything runs.
void check_patterns(const Place& place, const GridPlan& plan, const GridSetting& setting) {
  const bench::Values values = placeholders(plan, setting, 0, {});
  const auto check = [&values](const Place& pattern, const std::string& text) {
    try {
      static_cast<void>(bench::fill(text, values));
    } catch (const std::invalid_argument& problem) {
      pattern.fail(problem.what());
    }
  };
  const std::vector<Place> words = place.at("command").elements();
  for (std::size_t i = 0; i < words.size(); ++i) {
    check(words[i], setting.command.words[i]);
  }
  for (const auto& [name, value] : setting.command.environment) {
    check(place.at("environment").at(name), value);
  }
}

bench::Criterion read_criterion(const Place& place, bool has_baseline) {
  place.expect_object({"name", "metric", "at_least", "at_most", "relative_to_baseline"});
  bench::Criterion criterion;
  place.expect(place.find("metric").has_value(), "\"metric\"");
  criterion.metric = place.at("metric").text();
  place.expect(place.find("at_least") || place.find("at_most"), "\"at_least\" or \"at_most\"");
  if (const auto bound = place.find("at_least")) {
    criterion.at_least = bound->number();
  }
  if (const auto bound = place.find("at_most")) {
    criterion.at_most = bound->number();
  }
  if (const auto relative = place.find("relative_to_baseline")) {
    criterion.is_relative = relative->boolean();
    relative->expect(!criterion.is_relative || has_baseline, "a plan with a \"baseline\"");
  }
  criterion.name = place.find("name") ? place.at("name").text() : criterion.metric;
  return criterion;
}

FigurePlan read_figure(const Place& place, const std::optional<Place>& parameters) {
  place.expect_object({"name", "metric", "title", "x", "series"});
  FigurePlan figure;
  place.expect(place.find("metric").has_value(), "\"metric\"");
  figure.metric = place.at("metric").text();
  figure.name = place.find("name") ? place.at("name").text() : figure.metric;
  figure.title = place.find("title") ? place.at("title").text() : figure.metric;
  for (const char* const key : {"x", "series"}) {
    if (const auto parameter = place.find(key)) {
      parameter->expect(parameters && parameters->find(parameter->text()), "the name of a parameter");
      (std::string_view(key) == "x" ? figure.x : figure.series) = parameter->text();
    }
  }
  if (!figure.x.empty()) {
    for (const Place& value : parameters->at(figure.x).elements()) {
      double number = 0;
      place.at("x").expect(bench::parse_field(value.word(), number) && std::isfinite(number),
                           "a parameter whose values are numbers");
    }
  }
  return figure;
}

TableColumn read_column(const Place& place, bool has_baseline) {
  place.expect_object({"column", "metric", "as"});
  place.expect(place.find("column") && place.find("metric"), "\"column\" and \"metric\"");
  TableColumn column;
  column.name = place.at("column").text();
  column.metric = place.at("metric").text();
  if (const auto form = place.find("as")) {
    const std::string name = form->text();
    column.form = name == "difference"  ? TableColumn::Form::difference
                  : name == "reduction" ? TableColumn::Form::reduction
                  : name == "ratio"     ? TableColumn::Form::ratio
                                        : TableColumn::Form::value;
    form->expect(name == "value" || column.form != TableColumn::Form::value, "value, difference, reduction or ratio");
    form->expect(column.form == TableColumn::Form::value || has_baseline, "a plan with a \"baseline\"");
  }
  return column;
}

void read_results(const Place& root, GridPlan& plan) {
  if (const auto criteria = root.find("criteria")) {
    for (const Place& place : criteria->elements()) {
      plan.criteria.push_back(read_criterion(place, plan.baseline.has_value()));
    }
  }
  if (const auto figures = root.find("figures")) {
    std::set<std::string> names;
    for (const Place& place : figures->elements()) {
      plan.figures.push_back(read_figure(place, root.find("parameters")));
      place.expect(names.insert(bench::as_file_name(plan.figures.back().name)).second,
                   "a \"name\" that no other figure has");
    }
  }
  if (const auto table = root.find("table")) {
    table->expect_object({"path", "columns"});
    table->expect(table->find("path") && table->find("columns"), "\"path\" and \"columns\"");
    plan.table_path = table->at("path").text();
    const fs::path path(plan.table_path);
    table->at("path").expect(!path.empty() && path.is_relative() &&
                                 std::find(path.begin(), path.end(), "..") == path.end() && path.has_filename(),
                             "a file's path inside the output directory");
    for (const Place& place : table->at("columns").elements()) {
      plan.table.push_back(read_column(place, plan.baseline.has_value()));
    }
  }
}

void read_order(const Place& root, GridPlan& plan) {
  if (const auto place = root.find("warmup")) {
    plan.order.warmups = static_cast<unsigned>(place->count(0, 1'000));
  }
  if (const auto place = root.find("repetitions")) {
    plan.order.repetitions = static_cast<unsigned>(place->count(1, 100'000));
  }
  if (const auto place = root.find("seed")) {
    plan.order.seed = place->count(0, UINT64_MAX);
  }
  if (const auto place = root.find("shuffle")) {
    plan.order.is_shuffled = place->boolean();
  }
  if (const auto place = root.find("timeout_s")) {
    plan.timeout_s = place->number(0);
  }
  if (const auto place = root.find("record")) {
    plan.is_recorded = place->boolean();
  }
}

Json parse(const std::string& path) {
  const std::string text = bench::read_file(path);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    throw Failure(fmt::format("{}: this is not JSON: {}", path, printable(problem.what())));
  }
}

}  // namespace

GridPlan read_plan(const std::string& path) {
  const Json json = parse(path);
  const Place root(json, "", path);
  root.expect_object({"name", "command", "environment", "directory", "parameters", "setting", "baseline", "warmup",
                      "repetitions", "seed", "shuffle", "timeout_s", "record", "criteria", "figures", "table"});
  root.expect(root.find("command").has_value(), "\"command\"");
  GridPlan plan;
  plan.name = root.find("name") ? root.at("name").text() : fs::path(path).stem().string();
  const fs::path home = fs::absolute(path).parent_path();
  plan.directory = (root.find("directory") ? home / root.at("directory").text() : home).lexically_normal().string();
  read_order(root, plan);
  read_settings(root, plan);
  check_patterns(root, plan, plan.settings.front());
  if (const auto baseline = root.find("baseline")) {
    read_baseline(*baseline, plan);
    if (baseline->find("command")) {
      check_patterns(*baseline, plan, plan.settings.front());
    }
  }
  check_names(root, plan);
  if (plan.settings.size() * (std::size_t{plan.order.repetitions} + plan.order.warmups) > 1'000'000) {
    root.fail("there are over 1,000,000 runs in it");
  }
  read_results(root, plan);
  plan.fingerprint = bench::sha256_hex(json.dump(-1, ' ', false, Json::error_handler_t::replace) + plan.directory);
  return plan;
}

bench::Values placeholders(const GridPlan& plan, const GridSetting& setting, unsigned repetition,
                           const RunPlaces& places) {
  bench::Values values = setting.values;
  values.emplace_back("setting", setting.name);
  values.emplace_back("repetition", std::to_string(repetition));
  values.emplace_back("seed", std::to_string(plan.order.seed));
  values.emplace_back("output", places.output);
  values.emplace_back("metrics", places.metrics);
  values.emplace_back("plan", plan.directory);
  return values;
}

}  // namespace kymo::command
