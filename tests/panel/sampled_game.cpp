#include "sampled_game.hpp"

#include <algorithm>
#include <string>

namespace kymo::test {

namespace {

void declare_stacks(Declarations& declared) {
  declared.processes = {{ProcessId{1}, 1, "host", "boot", "", "game"}};
  declared.threads = {{SampledGame::main_thread, ProcessId{1}, 1, 100, "main"},
                      {SampledGame::worker_thread, ProcessId{1}, 1, 101, "worker"}};
  declared.modules = {{ModuleId{1}, ProcessId{1}, 0, 0, "/opt/game", ""}};
  const char* const names[] = {"main", "step", "simulate", "paint", "pool", "sleep"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    declared.functions.push_back(
        {FunctionId::from_index(i), ModuleId{1}, 16 * i, names[i], i == 3 ? "/src/paint.cpp" : ""});
  }
  // Stack, its caller, its function, in one its line.
  declared.stacks = {{StackId{1}, {}, FunctionId{1}},         {StackId{2}, StackId{1}, FunctionId{2}},
                     {StackId{3}, StackId{2}, FunctionId{3}}, {StackId{4}, StackId{2}, FunctionId{4}, 31},
                     {StackId{5}, {}, FunctionId{5}},         {StackId{6}, StackId{5}, FunctionId{3}},
                     {StackId{7}, StackId{5}, FunctionId{6}}};
}

}  // namespace

std::vector<EventBatch> SampledGame::batches() {
  std::vector<EventBatch> all = Game().batches();
  declare_stacks(all.front().declarations);
  for (unsigned frame = 0; frame < Game().frames; ++frame) {
    const std::int64_t start = Game::start_of(frame);
    const std::int64_t length = Game::start_of(frame + 1) - start;
    std::vector<StackSample>& samples = all[frame / Game().frames_in_block].stack_samples;
    const auto add = [&](ThreadId thread, StackId stack, int percent, std::int64_t blocked_ns) {
      samples.push_back({thread, stack, 0, start + length * percent / 100, blocked_ns});
    };
    add(worker_thread, pool_simulate, 15, 0);
    add(main_thread, simulate, 20, 0);
    add(main_thread, simulate, 30, 0);
    add(main_thread, paint, 70, 0);
    add(worker_thread, sleep, 90, length * 6 / 10);
    if (frame == 5) {
      add(main_thread, StackId{}, 95, 0);
    }
  }
  return all;
}

}  // namespace kymo::test
