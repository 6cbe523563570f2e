#include "apps/kymo/bench/bench_run.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <unistd.h>
#include <kymo/capture.hpp>
#include <nlohmann/json.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/units.hpp"
#include "bench/csv.hpp"
#include "bench/grid_process.hpp"

namespace kymo::command {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A bar with the runs done and the time left. On terminals only.
class GridProgress {
 public:
  GridProgress(std::size_t done, std::size_t all)
      : is_terminal_(::isatty(STDERR_FILENO) == 1), first_(done), done_(done), all_(all), start_(Clock::now()) {}
  GridProgress(const GridProgress&) = delete;
  GridProgress& operator=(const GridProgress&) = delete;
  ~GridProgress() {
    if (is_drawn_) {
      std::fputs("\r\x1b[K", stderr);
    }
  }

  void begin(const std::string& name) {
    name_ = name;
    draw();
  }
  void end() { ++done_; }

  void draw() {
    if (!is_terminal_) {
      return;
    }
    constexpr std::size_t width = 30;
    const std::size_t filled = all_ == 0 ? width : done_ * width / all_;
    say("\r\x1b[K[{:#<{}}{:.<{}}] {} of {}{}  {}", "", filled, "", width - filled, done_, all_, time_left(),
        printable(name_, 30));
    std::fflush(stderr);
    is_drawn_ = true;
  }

 private:
  /// Estimated from the runs so far.
  [[nodiscard]] std::string time_left() const {
    if (done_ == first_) {
      return "";
    }
    const double passed_ns = std::chrono::duration<double, std::nano>(Clock::now() - start_).count();
    const double each_ns = passed_ns / static_cast<double>(done_ - first_);
    return fmt::format(", {} left", format_duration(each_ns * static_cast<double>(all_ - done_)));
  }

  bool is_terminal_;
  bool is_drawn_ = false;
  std::size_t first_;
  std::size_t done_;
  std::size_t all_;
  Clock::time_point start_;
  std::string name_;
};

/// The files of one run.
struct RunFiles {
  std::string name;
  std::string capture;
  std::string log;
  std::string metrics;
};

RunFiles files_of(const std::string& output, const GridSetting& setting, const bench::GridRun& run) {
  RunFiles files;
  files.name = fmt::format("{}-{}{}", bench::as_file_name(setting.name), run.is_warmup ? "warmup" : "", run.repetition);
  files.capture = output + "/runs/" + files.name + ".kymo";
  files.log = output + "/logs/" + files.name + ".log";
  files.metrics = output + "/metrics/" + files.name + ".json";
  return files;
}

std::string describe(const bench::ProcessResult& result, const GridPlan& plan) {
  using End = bench::ProcessResult::End;
  switch (result.end) {
    case End::exited:
      return result.code == 0 ? "" : fmt::format("it ended with status {}", result.code);
    case End::signalled:
      return fmt::format("signal {} ({}) ended it", result.code, ::strsignal(result.code));
    case End::timed_out:
      return fmt::format("it was killed after {} s", plan.timeout_s);
    case End::interrupted:
      return "it was interrupted";
    case End::not_started:
      return fmt::format("it could not be started: {}", std::strerror(result.code));
  }
  return {};
}

/// Takes the values that `kymo record` has for the command alone, excluding its own sampling and merging.
void take_facts(const std::string& capture, std::map<std::string, double>& metrics) {
  std::map<std::string, double> facts;
  const CaptureReader reader(capture);
  for (const InfoDeclaration& info : reader.declarations().infos) {
    double value = 0;
    if (info.key.rfind("record.", 0) == 0 && bench::parse_field(info.value, value)) {
      facts[info.key] = value;
    }
  }
  if (facts.count("record.wall_ns") != 0) {
    metrics["wall_time_s"] = facts["record.wall_ns"] / 1e9;
    metrics["cpu_time_s"] = (facts["record.user_cpu_ns"] + facts["record.system_cpu_ns"]) / 1e9;
    metrics["peak_memory_bytes"] = facts["record.max_resident_bytes"];
  }
}

/// Reads the metrics that the command wrote. They take precedence over kymo's.
void take_metrics(const std::string& path, std::map<std::string, double>& metrics) {
  if (::access(path.c_str(), F_OK) != 0) {
    return;
  }
  try {
    const auto json = nlohmann::json::parse(bench::read_file(path));
    if (!json.is_object()) {
      throw Failure(fmt::format("{}: an object of numbers is expected", path));
    }
    for (const auto& metric : json.items()) {
      if (!metric.value().is_number() && !metric.value().is_null()) {
        throw Failure(fmt::format("{}: {} is neither a number nor null", path, printable(metric.key())));
      }
      metrics[metric.key()] =
          metric.value().is_null() ? std::numeric_limits<double>::quiet_NaN() : metric.value().get<double>();
    }
  } catch (const nlohmann::json::exception& problem) {
    throw Failure(fmt::format("{}: this is not JSON: {}", path, printable(problem.what())));
  }
}

class GridRunner {
 public:
  GridRunner(const GridPlan& plan, std::string output) : plan_(plan), output_(std::move(output)) {
    for (const char* const folder : {"runs", "logs", "metrics"}) {
      fs::create_directories(fs::path(output_) / folder);
    }
  }

  /// Does one run. `is_interrupted` is set if this process was asked to end.
  JournalEntry run(const bench::GridRun& run, GridProgress& progress, bool& is_interrupted) {
    const GridSetting& setting = plan_.settings[run.setting];
    const RunFiles files = files_of(output_, setting, run);
    progress.begin(files.name);
    for (const std::string& old : {files.capture, files.metrics}) {
      fs::remove(old);
    }
    const bench::ProcessResult result =
        bench::run_process(request(setting, run, files), signals_, [&progress] { progress.draw(); });
    is_interrupted = result.end == bench::ProcessResult::End::interrupted;
    JournalEntry entry;
    entry.setting = setting.name;
    entry.repetition = run.repetition;
    entry.is_warmup = run.is_warmup;
    entry.problem = describe(result, plan_);
    if (entry.problem.empty()) {
      entry.metrics = {{"wall_time_s", result.wall_s},
                       {"cpu_time_s", result.cpu_s},
                       {"peak_memory_bytes", result.peak_memory_bytes}};
      try {
        if (plan_.is_recorded) {
          take_facts(files.capture, entry.metrics);
        }
        take_metrics(files.metrics, entry.metrics);
      } catch (const std::exception& problem) {
        entry.problem = problem.what();
      }
    }
    if (!entry.problem.empty()) {
      entry.metrics.clear();
      entry.problem = fmt::format("{}: {}; its output is in {}", files.name, entry.problem, files.log);
    }
    return entry;
  }

 private:
  [[nodiscard]] bench::ProcessRequest request(const GridSetting& setting, const bench::GridRun& run,
                                              const RunFiles& files) const {
    const bench::Values values = placeholders(plan_, setting, run.repetition, {output_, files.metrics});
    bench::ProcessRequest request;
    if (plan_.is_recorded) {
      request.command = {fs::read_symlink("/proc/self/exe").string(), "record", "-q", "-o", files.capture, "--"};
    }
    for (const std::string& word : setting.command.words) {
      request.command.push_back(bench::fill(word, values));
    }
    for (const auto& [name, value] : setting.command.environment) {
      request.environment.emplace_back(name, bench::fill(value, values));
    }
    request.environment.emplace_back("KYMO_BENCH_METRICS", files.metrics);
    request.directory = plan_.directory;
    request.log_path = files.log;
    request.timeout_s = plan_.timeout_s;
    return request;
  }

  const GridPlan& plan_;
  std::string output_;
  bench::SignalsBlocked signals_;
};

using RunKey = std::tuple<std::string, unsigned, bool>;

std::map<RunKey, const JournalEntry*> done_runs(const Journal& journal) {
  std::map<RunKey, const JournalEntry*> done;
  for (const JournalEntry& entry : journal.entries()) {
    if (entry.problem.empty()) {
      done[{entry.setting, entry.repetition, entry.is_warmup}] = &entry;
    }
  }
  return done;
}

}  // namespace

GridOutcome run_grid(const GridPlan& plan, const std::string& output, Journal& journal) {
  const std::vector<bench::GridRun> runs = bench::order_runs(plan.settings.size(), plan.order);
  std::vector<bench::GridRun> open;
  const auto done = done_runs(journal);
  for (const bench::GridRun& run : runs) {
    if (done.count({plan.settings[run.setting].name, run.repetition, run.is_warmup}) == 0) {
      open.push_back(run);
    }
  }
  GridOutcome outcome;
  outcome.done_before = runs.size() - open.size();
  if (open.empty()) {
    return outcome;
  }
  GridRunner runner(plan, output);
  GridProgress progress(outcome.done_before, runs.size());
  for (const bench::GridRun& run : open) {
    JournalEntry entry = runner.run(run, progress, outcome.is_interrupted);
    if (outcome.is_interrupted) {
      return outcome;
    }
    journal.add(entry);
    progress.end();
    if (entry.problem.empty()) {
      ++outcome.done;
    } else {
      outcome.problems.push_back(std::move(entry.problem));
    }
  }
  return outcome;
}

std::vector<bench::Measurements> collect(const GridPlan& plan, const Journal& journal) {
  const auto done = done_runs(journal);
  std::vector<bench::Measurements> all;
  for (const GridSetting& setting : plan.settings) {
    bench::Measurements& measurements = all.emplace_back();
    for (unsigned repetition = 0; repetition < plan.order.repetitions; ++repetition) {
      const auto found = done.find({setting.name, repetition, false});
      if (found == done.end()) {
        continue;
      }
      for (const auto& [name, value] : found->second->metrics) {
        measurements[name].push_back(value);
      }
    }
  }
  return all;
}

}  // namespace kymo::command
