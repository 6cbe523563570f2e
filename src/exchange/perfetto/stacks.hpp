// Sampled stacks in a Perfetto trace: samples of threads, with interned functions and call stacks.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <kymo/timeline.hpp>

#include "exchange/perfetto/packets.hpp"
#include "exchange/stacks/sampled_threads.hpp"
#include "stats/common/stack_tree.hpp"

namespace kymo::exchange {

/// Appends to a trace that PerfettoNames::begin() began. Numbers of processes and threads are the system's.
class PerfettoStacks {
 public:
  /// Both must outlive this.
  PerfettoStacks(const Timeline& timeline, std::string& trace) : tree_(timeline), threads_(timeline), trace_(trace) {}

  void write(const EventBatch& batch);

 private:
  void write_sample(const StackSample& sample);
  void name_thread(ThreadId id);
  [[nodiscard]] std::uint64_t callstack_of(std::uint32_t stack);
  [[nodiscard]] std::uint64_t frame_of(FunctionId function);
  [[nodiscard]] std::uint64_t mapping_of(const std::string& path);

  stats::StackTree tree_;
  SampledThreads threads_;
  std::string& trace_;
  std::set<ThreadId> named_;
  std::set<std::uint32_t> stacks_;
  std::set<FunctionId> functions_;
  std::unordered_map<std::string, std::uint64_t> mappings_;  // by path
};

}  // namespace kymo::exchange
