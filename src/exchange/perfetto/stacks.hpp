// Sampled stacks in a Perfetto trace: samples and waits of threads, with interned functions and call stacks.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "exchange/perfetto/packets.hpp"
#include "exchange/perfetto/trace.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {

/// Appends to a trace that was begun. Numbers of processes and threads are the system's.
class PerfettoStacks {
 public:
  /// Both must outlive this.
  PerfettoStacks(const Timeline& timeline, PerfettoTraceWriter& writer)
      : tree_(timeline), threads_(timeline), writer_(writer), trace_(writer.buffer()) {}

  void write(const EventBatch& batch);
  /// What was left out: a list of at most one line.
  [[nodiscard]] std::vector<std::string> left_out() const { return waits_left_out(unsampled_ns_); }

 private:
  void write_sample(const StackSample& sample);
  void write_wait(const StackSample& wait);
  void name_thread(ThreadId id);
  [[nodiscard]] std::uint64_t callstack_of(std::uint32_t stack);
  [[nodiscard]] std::uint64_t frame_of(FunctionId function);
  [[nodiscard]] std::uint64_t mapping_of(const std::string& path);

  stats::StackTree tree_;
  SampledThreads threads_;
  PerfettoTraceWriter& writer_;
  std::string& trace_;
  std::uint64_t unsampled_ns_ = 0;
  std::set<ThreadId> named_;
  std::set<std::uint32_t> stacks_;
  std::set<FunctionId> functions_;
  std::unordered_map<std::string, std::uint64_t> mappings_;  // by path
};

}  // namespace kymo::exchange
