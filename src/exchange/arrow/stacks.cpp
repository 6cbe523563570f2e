// Sampled stacks as an Arrow table, block by block.
#include <map>
#include <unordered_map>

#include "exchange/arrow/rows.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {
namespace {

class StackRows final : public BlockRows<StackRows> {
 public:
  StackRows(const Timeline& timeline, const ArrowQuery& query)
      : choice_(timeline, query), processes_(timeline), tree_(timeline), cursor_(choice_.cursor(BatchParts::stacks)) {
    const auto names = std::make_shared<ArrowDictionary>();
    find_threads(timeline, *names);
    add_process_column(processes_, ArrowProcesses::Column::process);
    add_column({"thread", "I", false, names}, &StackRows::fill<&Row::thread>);
    add_column({"os_thread_id", "L"}, &StackRows::fill<&Row::os_thread_id>);
    add_column({"time_ns", "l"}, &StackRows::fill<&Row::time_ns>);
    add_column({"blocked_ns", "l"}, &StackRows::fill<&Row::blocked_ns>);
    add_column({"unsampled_ns", "l"}, &StackRows::fill<&Row::unsampled_ns>);
    add_column({"sampled_waits", "I"}, &StackRows::fill<&Row::sampled_waits>);
    add_column({"cpu", "I"}, &StackRows::fill<&Row::cpu>);
    add_column({"function", "I", false, functions_}, &StackRows::fill<&Row::function>);
    add_column({"file", "I", false, files_}, &StackRows::fill<&Row::file>);
    add_column({"line", "I"}, &StackRows::fill<&Row::line>);
    add_column({"stack", "I", false, stacks_}, &StackRows::fill<&Row::stack>);
    add_process_columns(processes_);
    columns_ = pick_columns(std::move(columns_), query.columns);
  }

  bool add_rows() {
    if (!cursor_.next(batch_)) {
      return false;
    }
    rows_.clear();
    for (const StackSample& sample : batch_.stack_samples) {
      const Thread& thread = value_of(known_, sample.thread);
      if (thread.is_taken && choice_.holds(sample.time_ns)) {
        const Texts& texts = texts_of(tree_.index_of(sample.stack));
        const std::uint32_t line = tree_.line_of(tree_.index_of(sample.stack));
        rows_.push_back({thread.process, thread.name, sample.cpu, texts.function, texts.file, line, texts.stack,
                         thread.os_thread_id, sample.time_ns, sample.blocked_ns, sample.unsampled_ns,
                         sample.sampled_waits});
      }
    }
    fill_columns(processes_, rows_.size(), [this](std::size_t row) { return rows_[row].process; });
    return true;
  }

 private:
  struct Thread {
    std::uint32_t process = 0;
    std::uint32_t name = 0;
    std::uint64_t os_thread_id = 0;
    bool is_taken = true;
  };
  /// Numbers of texts.
  struct Texts {
    std::uint32_t function = 0;
    std::uint32_t file = 0;
    std::uint32_t stack = 0;
  };
  struct Row {
    std::uint32_t process = 0;
    std::uint32_t thread = 0;
    std::uint32_t cpu = 0;
    std::uint32_t function = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;
    std::uint32_t stack = 0;
    std::uint64_t os_thread_id = 0;
    std::int64_t time_ns = 0;
    std::int64_t blocked_ns = 0;
    std::int64_t unsampled_ns = 0;
    std::uint32_t sampled_waits = 0;
  };

  /// A thread belongs to the process of its number, where that is in the timeline; else to its observer.
  void find_threads(const Timeline& timeline, ArrowDictionary& names) {
    std::map<std::pair<std::string, std::uint64_t>, ProcessId> by_number;
    for (const TimelineProcess& process : timeline.processes()) {
      by_number.try_emplace({process.declaration.host, process.declaration.pid}, process.declaration.id);
    }
    const SampledThreads threads(timeline);
    for (const ThreadDeclaration& thread : timeline.declarations().threads) {
      const auto owner = by_number.find({timeline.process(thread.process).declaration.host, thread.pid});
      const ProcessId process = owner != by_number.end() ? owner->second : thread.process;
      known_.push_back({ArrowProcesses::index_of(process), names.add(threads.name_of(thread.id)), thread.os_thread_id,
                        choice_.takes_process(process)});
    }
    known_.push_back({0, names.add("(undeclared)"), 0, choice_.takes_process(ProcessId{})});
  }

  const Texts& texts_of(std::uint32_t stack) {
    const auto [place, is_new] = texts_.try_emplace(stack);
    if (is_new) {
      std::vector<std::uint32_t> path;  // innermost first
      for (std::uint32_t at = stack; at != 0 && path.size() < most_functions_of_stack; at = tree_.caller_of(at)) {
        path.push_back(at);
      }
      std::string text;
      for (auto at = path.rbegin(); at != path.rend(); ++at) {
        text += (text.empty() ? "" : ";") + tree_.name_of(tree_.function_of(*at));
      }
      const FunctionId function = tree_.function_of(stack);
      place->second = {functions_->add(tree_.name_of(function)), files_->add(tree_.source_of(function)),
                       stacks_->add(text)};
    }
    return place->second;
  }

  template <auto member>
  void fill(ArrowColumn& column) {
    extend_by<member>(column, rows_);
  }

  ArrowChoice choice_;
  ArrowProcesses processes_;
  stats::StackTree tree_;
  BatchCursor cursor_;
  std::vector<Thread> known_;  // by id; the last one for undeclared ones
  std::shared_ptr<ArrowDictionary> functions_ = std::make_shared<ArrowDictionary>();
  std::shared_ptr<ArrowDictionary> files_ = std::make_shared<ArrowDictionary>();
  std::shared_ptr<ArrowDictionary> stacks_ = std::make_shared<ArrowDictionary>();
  std::unordered_map<std::uint32_t, Texts> texts_;
  EventBatch batch_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<ArrowRows> make_stack_rows(const Timeline& timeline, const ArrowQuery& query) {
  return std::make_unique<StackRows>(timeline, query);
}

}  // namespace kymo::exchange
