#include "stats/explained_programs.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "stats/frame_simulation.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {

namespace {

/// Workers hold the lock one after the other; main comes last.
void lock_convoy(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  std::vector<TrackId> workers;
  for (const char* name : {"worker 1", "worker 2", "worker 3"}) {
    workers.push_back(program.thread(name));
  }
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    program.open(at.main, "draw");
    std::int64_t free_ns = program.now(at.main) - 100 * us;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const std::string name = "worker " + std::to_string(i + 1);
      program.idle_until(workers[i], program.now(at.main) - 200 * us);
      program.wait_for_lock(workers[i], "cache", "worker 1", free_ns);
      program.idle_until(workers[i], free_ns);
      program.scope(workers[i], "insert", at.noisy(120 * us) + extra_ns / 3);
      program.hold("cache", name, free_ns, program.now(workers[i]));
      free_ns = program.now(workers[i]);
    }
    program.wait_for_lock(at.main, "cache", "worker 1", free_ns);
    program.run(at.main, at.noisy(5 * ms));
    program.close(at.main);
  });
}

/// main waits for a lock whose holder waits for a lock whose holder computes.
void chain_over_three_threads(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  const TrackId loader = program.thread("loader");
  const TrackId decoder = program.thread("decoder");
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 3 * ms);
    const std::int64_t start_ns = program.now(at.main);
    program.idle_until(decoder, start_ns - 300 * us);
    program.scope(decoder, "decode", at.noisy(400 * us) + extra_ns);
    program.hold("images", "decoder", start_ns - 300 * us, program.now(decoder));
    program.idle_until(loader, start_ns - 200 * us);
    program.open(loader, "load");
    program.wait_for_lock(loader, "images", "decoder", program.now(decoder));
    program.run(loader, at.noisy(100 * us));
    program.close(loader);
    program.hold("assets", "loader", start_ns - 200 * us, program.now(loader));
    program.open(at.main, "draw");
    program.wait_for_lock(at.main, "assets", "loader", program.now(loader));
    program.run(at.main, at.noisy(6 * ms));
    program.close(at.main);
  });
}

/// A thread of another program takes main's CPU.
void outside_hog(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  const ThreadId hog = program.observed("hog", 4711);
  at.frames([&](std::int64_t extra_ns) {
    program.open(at.main, "update");
    program.run(at.main, at.noisy(2 * ms));
    if (extra_ns != 0) {
      program.run_observed(hog, program.now(at.main), extra_ns);
      program.push_off(at.main, extra_ns);
    }
    program.run(at.main, at.noisy(2 * ms));
    program.close(at.main);
    at.work("draw", 5 * ms);
  });
}

/// kymo's own thread takes main's CPU.
void own_collector(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  const ThreadId collector = program.observed("kymo-collector", 1);
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    program.open(at.main, "draw");
    program.run(at.main, at.noisy(2 * ms));
    if (extra_ns != 0) {
      program.run_observed(collector, program.now(at.main), extra_ns);
      program.push_off(at.main, extra_ns);
    }
    program.run(at.main, at.noisy(3 * ms));
    program.close(at.main);
  });
}

/// The holder of a lock loses its CPU to a hog.
void priority_inversion(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  const TrackId low = program.thread("low");
  const ThreadId hog = program.observed("hog", 4711);
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 3 * ms);
    const std::int64_t start_ns = program.now(at.main) - 100 * us;
    program.idle_until(low, start_ns);
    program.open(low, "log line");
    program.run(low, at.noisy(150 * us));
    if (extra_ns != 0) {
      program.run_observed(hog, program.now(low), extra_ns);
      program.push_off(low, extra_ns);
    }
    program.run(low, at.noisy(50 * us));
    program.close(low);
    program.hold("log", "low", start_ns, program.now(low));
    program.open(at.main, "draw");
    program.wait_for_lock(at.main, "log", "low", program.now(low));
    program.run(at.main, at.noisy(5 * ms));
    program.close(at.main);
  });
}

void fsync_blocks(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 5 * ms);
    program.open(at.main, "save");
    program.run(at.main, at.noisy(100 * us));
    program.block(at.main, at.noisy(300 * us) + extra_ns);
    program.close(at.main);
    at.work("draw", 4 * ms);
  });
}

/// Files that are not in memory: blocked, and the program says how long its reads took.
void cold_files(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    const std::int64_t read_ns = at.noisy(200 * us) + extra_ns;
    program.open(at.main, "read level");
    program.block(at.main, read_ns);
    program.close(at.main);
    at.work("draw", 5 * ms);
    program.sample("io_ms", "ms", program.now(at.main), static_cast<double>(read_ns) / 1e6);
  });
}

void growing_argument(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    const std::int64_t sort_ns = at.noisy(2 * ms) + extra_ns;
    program.open(at.main, "sort");
    program.argument(at.main, "count", at.noisy(sort_ns / 100, 0.02));
    program.run(at.main, sort_ns);
    program.close(at.main);
    at.work("draw", 4 * ms);
  });
}

/// Inputs of one kind take longer.
void slow_category(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    for (std::uint64_t i = 0; i < 5; ++i) {
      const bool is_slow = extra_ns != 0 && i % 2 == 0;
      const char* const others[] = {"png", "jpeg", "avif"};
      program.open(at.main, "decode");
      program.argument(at.main, "format", std::string(is_slow ? "webp" : others[at.below(3)]));
      program.argument(at.main, "is_cached", at.below(2) == 0);
      program.run(at.main, at.noisy(500 * us) + (is_slow ? extra_ns / 3 : 0));
      program.close(at.main);
    }
    at.work("draw", 3 * ms);
  });
}

void more_calls(FrameSimulation& at) {
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    at.program.open(at.main, "draw");
    for (std::int64_t left_ns = 4 * ms + extra_ns; left_ns > 0; left_ns -= 200 * us) {
      at.work("tile", std::min(left_ns, 200 * us));
    }
    at.program.close(at.main);
  });
}

void first_time(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  at.frames_with_one([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    program.open(at.main, "draw");
    program.run(at.main, at.noisy(5 * ms));
    if (extra_ns != 0) {
      program.scope(at.main, "compile shader", extra_ns);
    }
    program.close(at.main);
  });
}

/// One of three workers gets more than its part; main waits for all.
void imbalance(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  std::vector<TrackId> workers;
  for (const char* name : {"worker 1", "worker 2", "worker 3"}) {
    workers.push_back(program.thread(name));
  }
  std::uint64_t id = 0;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 2 * ms);
    const std::size_t unlucky = static_cast<std::size_t>(at.below(workers.size()));
    std::vector<std::pair<std::int64_t, std::uint64_t>> ends;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      program.idle_until(workers[i], program.now(at.main));
      program.open(workers[i], "cull part");
      program.run(workers[i], at.noisy(3 * ms) + (i == unlucky ? extra_ns : 0));
      program.flow(workers[i], ++id, FlowPhase::begin);
      ends.emplace_back(program.now(workers[i]), id);
      program.run(workers[i], us);
      program.close(workers[i]);
    }
    std::sort(ends.begin(), ends.end());
    program.open(at.main, "join");
    for (const auto& [end_ns, flow] : ends) {
      program.idle_until(at.main, end_ns + 10 * us);
      program.flow(at.main, flow, FlowPhase::end);
    }
    program.close(at.main);
    at.work("draw", 5 * ms);
  });
}

void logging(FrameSimulation& at) {
  at.frames([&](std::int64_t extra_ns) {
    at.program.open(at.main, "update");
    at.program.run(at.main, at.noisy(4 * ms));
    for (std::int64_t left_ns = 40 * us + extra_ns; left_ns > 0; left_ns -= 20 * us) {
      at.work("log line", std::min(left_ns, 20 * us));
    }
    at.program.close(at.main);
    at.work("draw", 5 * ms);
  });
}

/// First touches of memory cost time in the scope that touches; the metric goes along.
void page_faults(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    const std::int64_t fill_ns = at.noisy(1 * ms) + extra_ns;
    program.scope(at.main, "fill buffer", fill_ns);
    at.work("draw", 4 * ms);
    program.sample("page_faults", "1", program.now(at.main), static_cast<double>(at.noisy(fill_ns / 1000, 0.1)));
  });
}

/// The GPU works longer on one pass; main waits for it without saying so, blocked or by polling it.
void wait_for_gpu(FrameSimulation& at, bool is_polled) {
  MadeUpProgram& program = at.program;
  const TrackId queue = program.queue("GPU 0");
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 3 * ms);
    at.work("submit", 1 * ms);
    const std::int64_t start_ns = program.now(at.main);
    const std::int64_t shadows_ns = start_ns + at.noisy(3 * ms) + extra_ns;
    const std::int64_t colours_ns = shadows_ns + at.noisy(2 * ms);
    program.hand_in(at.main, queue, "shadow pass", start_ns, shadows_ns);
    program.hand_in(at.main, queue, "colour pass", shadows_ns, colours_ns);
    at.work("animate", 1 * ms);
    program.open(at.main, "present");
    const std::int64_t end_ns = colours_ns + at.noisy(15 * us);
    if (is_polled) {
      program.run(at.main, end_ns - program.now(at.main));
    } else {
      program.idle_until(at.main, end_ns);
    }
    program.close(at.main);
  });
}

void gpu_busy(FrameSimulation& at) {
  wait_for_gpu(at, false);
}

void gpu_polled(FrameSimulation& at) {
  wait_for_gpu(at, true);
}

/// Heat, or a limit of power: everything computes at a lower clock.
void throttle(FrameSimulation& at, const std::string& metric, double usual, double slow) {
  MadeUpProgram& program = at.program;
  at.frames([&](std::int64_t extra_ns) {
    at.clock = 9e6 / (9e6 + static_cast<double>(extra_ns));
    for (const char* site : {"update", "animate", "draw"}) {
      at.work(site, 3 * ms);
    }
    program.sample("cpu_clock", "MHz", program.now(at.main),
                   static_cast<double>(at.noisy(3 * ms, 0.003)) / 1e3 * at.clock);
    program.sample(metric, "1", program.now(at.main),
                   (extra_ns != 0 ? slow : usual) + static_cast<double>(at.below(100)) / 50);
  });
}

void thermal_throttle(FrameSimulation& at) {
  throttle(at, "cpu_temperature", 80, 98);
}

void power_throttle(FrameSimulation& at) {
  throttle(at, "cpu_power", 45, 15);
}

/// Threads allocate at the same time: many short waits for the heap.
void allocator_contention(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  const TrackId worker = program.thread("worker 1");
  constexpr int allocations = 20;
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    program.open(at.main, "build list");
    for (int i = 0; i < allocations; ++i) {
      const std::int64_t start_ns = program.now(at.main);
      program.idle_until(worker, start_ns - 2 * us);
      program.scope(worker, "allocate", at.noisy(12 * us) + extra_ns / allocations);
      program.hold("heap", "worker 1", start_ns - 2 * us, program.now(worker));
      program.wait_for_lock(at.main, "heap", "worker 1", program.now(worker));
      program.run(at.main, at.noisy(50 * us));
    }
    program.close(at.main);
    at.work("draw", 4 * ms);
  });
}

/// Another thread writes beside a counter: calls take longer, and nothing says why.
void false_sharing(FrameSimulation& at) {
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    for (int i = 0; i < 10; ++i) {
      at.work("count", 100 * us + extra_ns / 10);
    }
    at.work("draw", 4 * ms);
  });
}

/// A collector stops main, which says so by a scope.
void gc_pause(FrameSimulation& at) {
  at.frames([&](std::int64_t extra_ns) {
    at.program.open(at.main, "update");
    at.program.run(at.main, at.noisy(5 * ms));
    if (extra_ns != 0) {
      at.work("collect garbage", extra_ns);
    }
    at.program.close(at.main);
    at.work("draw", 4 * ms);
  });
}

/// Allocations take longer, as stacks tell: there is no scope for them.
void allocator_by_stacks(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  program.sample_stacks(999);
  const std::vector<std::string> main{"main@/opt/game", "build_list@/opt/game"};
  const std::vector<std::string> allocator{"main@/opt/game", "build_list@/opt/game", "malloc@/usr/lib/libc.so.6"};
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 4 * ms);
    program.open(at.main, "build list");
    for (int i = 0; i < 5; ++i) {
      program.in_functions(at.main, main);
      program.run(at.main, at.noisy(600 * us));
      program.in_functions(at.main, allocator);
      program.run(at.main, at.noisy(200 * us) + extra_ns / 5);
    }
    program.in_functions(at.main, main);
    program.close(at.main);
    at.work("draw", 2 * ms);
  });
}

/// A collector of garbage spends its time in many functions that it calls, and has no scope.
void collector_by_stacks(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  program.sample_stacks(999);
  const std::vector<std::string> main{"main@/opt/app", "update@/opt/app"};
  constexpr int visits = 15;
  at.frames([&](std::int64_t extra_ns) {
    program.open(at.main, "update");
    program.in_functions(at.main, main);
    program.run(at.main, at.noisy(4 * ms));
    for (int i = 0; extra_ns != 0 && i < visits; ++i) {
      program.in_functions(at.main, {"main@/opt/app", "update@/opt/app", "allocate@/opt/app", "collect@/opt/app",
                                     "visit_" + std::to_string(i) + "@/opt/app"});
      program.run(at.main, at.noisy(extra_ns / visits));
    }
    program.in_functions(at.main, main);
    program.run(at.main, at.noisy(1 * ms));
    program.close(at.main);
    at.work("draw", 4 * ms);
  });
}

/// A call that writes to a disk waits, as stacks of waits and the disk's bytes tell.
void disk_by_stacks(FrameSimulation& at) {
  MadeUpProgram& program = at.program;
  program.sample_stacks(999);
  at.frames([&](std::int64_t extra_ns) {
    at.work("update", 5 * ms);
    const std::int64_t wait_ns = at.noisy(300 * us) + extra_ns;
    program.open(at.main, "save");
    program.in_functions(at.main, {"main@/opt/game", "save@/opt/game", "fdatasync@/usr/lib/libc.so.6", "[kernel]"});
    program.block(at.main, wait_ns);
    program.in_functions(at.main, {"main@/opt/game"});
    program.close(at.main);
    program.sample("disk_write", "B/s", program.now(at.main), static_cast<double>(at.noisy(wait_ns, 0.1)));
    at.work("draw", 4 * ms);
  });
}

bool has_all(const std::string& text, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(),
                     [&text](const std::string& word) { return text.find(word) != std::string::npos; });
}

bool needs_states(const ExplainedProgram& program) {
  const auto is_one_of = [&](auto... run) { return ((program.run == run) || ...); };
  return is_one_of(outside_hog, own_collector, priority_inversion, gpu_polled, fsync_blocks, cold_files,
                   allocator_by_stacks, collector_by_stacks, disk_by_stacks);
}

/// The injected share of what is between kymo's slow and usual frames.
double true_share(const FrameSimulation& simulation, const Explanation& found) {
  std::unordered_map<std::uint64_t, bool> is_slow;
  for (const FindingInstance& slow : found.findings.front().slow) {
    is_slow[slow.instance.number] = true;
  }
  double slow_ns = 0;
  double usual_ns = 0;
  for (const auto& [frame, injected_ns] : simulation.injected) {
    (is_slow.count(frame) != 0 ? slow_ns : usual_ns) += static_cast<double>(injected_ns);
  }
  const auto slow = static_cast<double>(is_slow.size());
  return (slow_ns / slow - usual_ns / (static_cast<double>(simulation.injected.size()) - slow)) / found.excess_ns();
}

}  // namespace

const std::vector<ExplainedProgram>& explained_programs() {
  static const std::vector<ExplainedProgram> programs{
      {"lock convoy", {"\"wait for cache\"", "held by worker", "\"insert\""}, lock_convoy},
      {"chain over three threads",
       {"\"wait for assets\", then \"wait for images\"", "held by decoder in \"decode\""},
       chain_over_three_threads},
      {"outside hog", {"pushed off the CPU by hog", "\"update\""}, outside_hog},
      {"priority inversion", {"\"wait for log\"", "held by low", "pushed off the CPU by hog"}, priority_inversion},
      {"fsync", {"blocked in \"save\""}, fsync_blocks},
      {"cold files", {"blocked in \"read level\""}, cold_files},
      {"growing argument", {"computing in \"sort\"", "longer calls", "with count"}, growing_argument},
      {"slow category", {"computing in \"decode\"", "longer calls", "format = webp"}, slow_category},
      {"more calls", {"computing in \"tile\"", "more calls"}, more_calls},
      {"first time", {"computing in \"compile shader\"", "for the first time"}, first_time},
      {"imbalance among workers", {"waiting in \"join\"", "for worker", "\"cull part\""}, imbalance},
      {"logging", {"computing in \"log line\"", "more calls"}, logging},
      {"page faults", {"computing in \"fill buffer\"", "longer calls"}, page_faults},
      {"allocator contention", {"\"wait for heap\"", "held by worker 1", "\"allocate\""}, allocator_contention},
      {"false sharing", {"computing in \"count\"", "longer calls"}, false_sharing},
      {"garbage collection", {"computing in \"collect garbage\""}, gc_pause},
      {"allocator, by stacks", {"computing in \"build list\"", " in malloc (libc.so.6)"}, allocator_by_stacks},
      {"garbage collection, by stacks", {"computing in \"update\"", " under collect (app)"}, collector_by_stacks},
      {"disk, by stacks",
       {"blocked in \"save\"", " in fdatasync (libc.so.6)", "goes along: disk_write"},
       disk_by_stacks},
      {"thermal throttle", {"computing at a lower clock", "against"}, thermal_throttle},
      {"power throttle", {"computing at a lower clock", "against"}, power_throttle},
      {"profiler's own collector", {"pushed off the CPU by kymo's own kymo-collector"}, own_collector},
      {"GPU busy", {"waiting in \"present\"", "GPU 0", "\"shadow pass\""}, gpu_busy},
      {"GPU busy, polled", {"waiting in \"present\"", "GPU 0", "\"shadow pass\""}, gpu_polled}};
  return programs;
}

ExplainedRun explain_program(const ExplainedProgram& program, bool has_cause, std::uint64_t seed) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  FrameSimulation simulation(path, has_cause, seed, needs_states(program));
  program.run(simulation);
  const Timeline timeline(path);
  const Explanation found = explain(timeline, {}).front();
  ExplainedRun run;
  run.is_slow_found = found.slow != 0;
  run.findings = found.findings.size();
  for (const Companion& companion : found.companions) {
    run.companions.push_back(timeline.metric(companion.metric).name);
  }
  if (!found.findings.empty()) {
    run.first = found.findings.front().text;
    run.is_cause_first = has_all(run.first, program.words);
    run.found_share = found.findings.front().share;
    run.true_share = true_share(simulation, found);
  }
  return run;
}

}  // namespace kymo::test
