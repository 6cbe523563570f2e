#include "exchange/stacks/firefox.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/json_text.hpp"
#include "base/time_math.hpp"
#include "exchange/common/timeline_batches.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {
namespace {

struct Sample {
  std::int64_t time_ns = 0;
  std::uint32_t stack = 0;
  std::int64_t blocked_ns = 0;  // of a wait that ended at this time

  [[nodiscard]] std::int64_t begin_ns() const { return base::subtract_length(time_ns, blocked_ns); }
};

/// What was taken of one thread.
struct Taken {
  std::vector<Sample> samples;
  std::vector<Sample> waits;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();

  void sort() {
    for (std::vector<Sample>* const list : {&samples, &waits}) {
      std::sort(list->begin(), list->end(), [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
      for (const Sample& sample : *list) {
        first_ns = std::min(first_ns, sample.begin_ns());
      }
    }
  }
};

/// A column, or a table of columns, as JSON.
class JsonColumn {
 public:
  explicit JsonColumn(const char* name) : text_(std::string("\"") + name + "\":[") {}
  template <typename Integer>
  void add(Integer value) {
    next();
    base::append_json_integer(text_, value);
  }
  void add_text(std::string_view value) {
    next();
    base::append_json_string(text_, value);
  }
  void add_raw(std::string_view value) {
    next();
    text_ += value;
  }
  /// Times are milliseconds since the start of the profile.
  void add_time(std::int64_t time_ns) {
    next();
    base::append_json_integer(text_, time_ns / 1'000'000);
    std::string fraction = std::to_string(time_ns % 1'000'000 + 1'000'000);
    fraction[0] = '.';
    text_ += fraction;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void next() { text_ += size_++ == 0 ? "" : ","; }

  std::string text_;
  std::size_t size_ = 0;
};

/// The columns are texts of JsonColumn.
void append_table(std::string& out, const char* name, std::size_t length,
                  std::initializer_list<std::string_view> columns) {
  out += ",\"";
  out += name;
  out += "\":{\"length\":";
  base::append_json_integer(out, std::uint64_t{length});
  for (const std::string_view column : columns) {
    out.append(",").append(column).append("]");
  }
  out += '}';
}

/// The text of a column of which each value is the same.
std::string filled(const char* name, std::size_t length, std::string_view value) {
  JsonColumn column(name);
  for (std::size_t i = 0; i < length; ++i) {
    column.add_raw(value);
  }
  return column.text();
}

/// The tables of one thread, which hold what its samples need.
class ThreadTables {
 public:
  explicit ThreadTables(const stats::StackTree& tree) : tree_(tree) {}

  void add(const Sample& sample, std::int64_t start_ns) {
    if (sample.stack == 0) {
      sample_stacks_.add_raw("null");
    } else {
      sample_stacks_.add(std::uint64_t{stack_of(sample.stack)});
    }
    sample_times_.add_time(base::length_between(start_ns, sample.time_ns));
  }

  /// A marker, whose stack is what the format calls its cause.
  void add_wait(const Sample& wait, std::int64_t start_ns) {
    std::string data = R"({"type":"Wait")";
    if (wait.stack != 0) {
      data += R"(,"cause":{"stack":)" + std::to_string(stack_of(wait.stack)) + "}";
    }
    wait_data_.add_raw(data + "}");
    wait_names_.add(std::uint64_t{text_of("Wait")});
    wait_starts_.add_time(base::length_between(start_ns, wait.begin_ns()));
    wait_ends_.add_time(base::length_between(start_ns, wait.time_ns));
  }

  void append(std::string& out) const {
    const std::size_t samples = sample_times_.size();
    out += ",\"samples\":{\"length\":";
    base::append_json_integer(out, std::uint64_t{samples});
    out += R"(,"weightType":"samples","weight":null,)" + sample_stacks_.text() + "]," + sample_times_.text() + "]}";
    append_waits(out);
    append_stacks(out);
    append_functions(out);
    append_table(out, "resourceTable", resource_names_.size(),
                 {filled("lib", resource_names_.size(), "null"), resource_names_.text(),
                  filled("host", resource_names_.size(), "null"), filled("type", resource_names_.size(), "1")});
    out += R"(,"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]})";
    out += "," + texts_.text() + "]";
  }

 private:
  std::size_t text_of(std::string_view text) {
    const auto [place, is_new] = text_places_.try_emplace(std::string(text), texts_.size());
    if (is_new) {
      texts_.add_text(text);
    }
    return place->second;
  }

  std::size_t stack_of(std::uint32_t stack) {
    std::vector<std::uint32_t> path;  // the innermost first
    for (; stack != 0 && stacks_.count(stack) == 0 && path.size() < most_functions_of_stack;
         stack = tree_.caller_of(stack)) {
      path.push_back(stack);
    }
    std::size_t index = stack != 0 ? stacks_.at(stack) : 0;
    bool has_caller = stack != 0;
    for (auto next = path.rbegin(); next != path.rend(); ++next) {
      const std::size_t frame = frame_of(*next);
      has_caller ? stack_prefixes_.add(std::uint64_t{index}) : stack_prefixes_.add_raw("null");
      index = stack_frames_.size();
      stack_frames_.add(std::uint64_t{frame});
      stacks_[*next] = index;
      has_caller = true;
    }
    return index;
  }

  /// The frame of a stack's function and line.
  std::size_t frame_of(std::uint32_t stack) {
    const FunctionId function = tree_.function_of(stack);
    const std::uint32_t line = tree_.line_of(stack);
    const auto [place, is_new] = frames_.try_emplace({function, line}, frame_functions_.size());
    if (is_new) {
      frame_functions_.add(std::uint64_t{number_of(function)});
      frame_lines_.add_raw(line == 0 ? "null" : std::to_string(line));
    }
    return place->second;
  }

  std::size_t number_of(FunctionId function) {
    const auto [place, is_new] = functions_.try_emplace(function, function_names_.size());
    if (is_new) {
      const std::string module = tree_.module_of(function);
      const std::string source = tree_.source_of(function);
      function_resources_.add_raw(module.empty() ? "-1" : std::to_string(resource_of(module)));
      function_names_.add(std::uint64_t{text_of(tree_.name_of(function))});
      function_files_.add_raw(source.empty() ? "null" : std::to_string(text_of(source)));
    }
    return place->second;
  }

  std::size_t resource_of(const std::string& path) {
    const auto [place, is_new] = resources_.try_emplace(path, resource_names_.size());
    if (is_new) {
      resource_names_.add(std::uint64_t{text_of(path.substr(path.rfind('/') + 1))});
    }
    return place->second;
  }

  void append_waits(std::string& out) const {
    const std::size_t waits = wait_data_.size();
    const std::string_view interval = "1";
    append_table(out, "markers", waits,
                 {wait_data_.text(), wait_names_.text(), wait_starts_.text(), wait_ends_.text(),
                  filled("phase", waits, interval), filled("category", waits, "1")});
  }

  void append_stacks(std::string& out) const {
    const std::size_t stacks = stack_frames_.size();
    append_table(out, "stackTable", stacks,
                 {stack_frames_.text(), stack_prefixes_.text(), filled("category", stacks, "0"),
                  filled("subcategory", stacks, "0")});
  }

  void append_functions(std::string& out) const {
    const std::size_t frames = frame_functions_.size();
    append_table(out, "frameTable", frames,
                 {filled("address", frames, "-1"), filled("inlineDepth", frames, "0"), filled("category", frames, "0"),
                  filled("subcategory", frames, "0"), frame_functions_.text(), filled("nativeSymbol", frames, "null"),
                  filled("innerWindowID", frames, "0"), filled("implementation", frames, "null"), frame_lines_.text(),
                  filled("column", frames, "null")});
    const std::size_t functions = function_names_.size();
    append_table(out, "funcTable", functions,
                 {filled("isJS", functions, "false"), filled("relevantForJS", functions, "false"),
                  function_names_.text(), function_resources_.text(), function_files_.text(),
                  filled("lineNumber", functions, "null"), filled("columnNumber", functions, "null")});
  }

  const stats::StackTree& tree_;
  JsonColumn sample_stacks_{"stack"};
  JsonColumn sample_times_{"time"};
  JsonColumn wait_data_{"data"};
  JsonColumn wait_names_{"name"};
  JsonColumn wait_starts_{"startTime"};
  JsonColumn wait_ends_{"endTime"};
  JsonColumn stack_frames_{"frame"};
  JsonColumn stack_prefixes_{"prefix"};
  JsonColumn frame_functions_{"func"};
  JsonColumn frame_lines_{"line"};
  JsonColumn function_names_{"name"};
  JsonColumn function_resources_{"resource"};
  JsonColumn function_files_{"fileName"};
  JsonColumn resource_names_{"name"};
  JsonColumn texts_{"stringArray"};
  std::unordered_map<std::uint32_t, std::size_t> stacks_;
  std::map<std::pair<FunctionId, std::uint32_t>, std::size_t> frames_;  // by function and line
  std::unordered_map<FunctionId, std::size_t> functions_;
  std::unordered_map<std::string, std::size_t> resources_;
  std::unordered_map<std::string, std::size_t> text_places_;
};

void append_head(std::string& out, std::int64_t period_ns) {
  out += firefox_mark;
  out += R"(,"version":24,"preprocessedProfileVersion":48,"processType":0,"stackwalk":1,"debug":false,"startTime":0)";
  out += R"(,"symbolicated":true,"usesOnlyOneStackType":true,"doesNotUseFrameImplementation":true)";
  out += R"(,"sourceCodeIsNotOnSearchfox":true,"markerSchema":[{"name":"Wait","data":[],)";
  out += R"("display":["marker-chart","marker-table","timeline-overview"]}])";
  out += R"(,"categories":[{"name":"Other","color":"grey","subcategories":["Other"]},)";
  out += R"({"name":"Waiting","color":"blue","subcategories":["Other"]}],"interval":)";
  static_cast<void>(base::append_json_number(out, period_ns != 0 ? static_cast<double>(period_ns) / 1e6 : 1.0));
  out += R"(},"libs":[],"threads":[)";
}

/// `begin_ns`: when the thread was first seen.
void append_thread(std::string& out, const ThreadDeclaration& thread, std::string_view name, std::int64_t begin_ns) {
  JsonColumn times("times");
  times.add_time(begin_ns);
  out += R"({"processType":"default","processName":)";
  base::append_json_string(out, "process " + std::to_string(thread.pid));
  out += R"(,"processStartupTime":0,"processShutdownTime":null,"registerTime":)";
  out += times.text().substr(times.text().find('[') + 1);
  out += R"(,"unregisterTime":null,"pausedRanges":[],"name":)";
  base::append_json_string(out, name);
  out += thread.pid == thread.os_thread_id ? R"(,"isMainThread":true,"pid":")" : R"(,"isMainThread":false,"pid":")";
  out += std::to_string(thread.pid) + R"(","tid":)" + std::to_string(thread.os_thread_id);
}

}  // namespace

std::vector<std::string> write_firefox(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  require_samples(timeline);
  const stats::StackTree tree(timeline);
  const SampledThreads threads(timeline);
  std::map<ThreadId, Taken> taken;
  std::uint64_t unsampled_ns = 0;
  const auto take = [&](const EventBatch& batch, std::size_t /*capture*/) {
    for (const StackSample& sample : batch.stack_samples) {
      if (!sample.is_wait()) {
        taken[sample.thread].samples.push_back({sample.time_ns, tree.index_of(sample.stack)});
      } else if (sample.blocked_ns > 0) {
        taken[sample.thread].waits.push_back({sample.time_ns, tree.index_of(sample.stack), sample.blocked_ns});
      }
      unsampled_ns += static_cast<std::uint64_t>(std::max<std::int64_t>(sample.unsampled_ns, 0));
    }
  };
  visit_batches(timeline, BatchParts::stacks, request.on_progress, take);
  std::int64_t start_ns = timeline.range().start_ns;
  for (auto& [thread, of_thread] : taken) {
    of_thread.sort();
    start_ns = std::min(start_ns, of_thread.first_ns);
  }
  append_head(file.buffer(), threads.period_ns());
  const char* separator = "";
  for (auto& [thread, of_thread] : taken) {
    ThreadTables tables(tree);
    for (const Sample& sample : of_thread.samples) {
      tables.add(sample, start_ns);
    }
    for (const Sample& wait : of_thread.waits) {
      tables.add_wait(wait, start_ns);
    }
    std::string& out = file.buffer();
    out += std::exchange(separator, ",");
    append_thread(out, threads.declared(thread), threads.name_of(thread),
                  base::length_between(start_ns, of_thread.first_ns));
    tables.append(out);
    out += '}';
    file.spill();
  }
  file.buffer() += "]}";
  file.close();
  return waits_left_out(unsampled_ns);
}

}  // namespace kymo::exchange
