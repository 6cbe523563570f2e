#include "generator.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace kymo::benchmarks {
namespace {

constexpr double median_duration_ns = 700;
constexpr double median_gap_ns = 60;
constexpr double sigma = 1;
constexpr std::int64_t start_ns = 1'000'000'000;

// splitmix64: short, and the same everywhere, unlike the distributions of the C++ library.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// In (0, 1].
double uniform(std::uint64_t& state) {
  return (static_cast<double>(next_random(state) >> 11U) + 1) * 0x1p-53;
}

std::int64_t log_normal(std::uint64_t& state, double median) {
  constexpr double two_pi = 6.283185307179586;
  const double normal = std::sqrt(-2 * std::log(uniform(state))) * std::cos(two_pi * uniform(state));
  return static_cast<std::int64_t>(std::lround(median * std::exp(sigma * normal)));
}

}  // namespace

ScopeGenerator::ScopeGenerator(std::uint64_t seed) : threads_(thread_count) {
  for (Thread& thread : threads_) {
    thread.random = next_random(seed);
    thread.time_ns = start_ns;
  }
}

Declarations ScopeGenerator::declare() {
  Declarations declarations;
  for (std::uint32_t id = 1; id <= site_count; ++id) {
    SiteDeclaration site;
    site.id = SiteId{id};
    site.line = 10 * id;
    site.name = "stage " + std::to_string(id);
    site.function = "void stage_" + std::to_string(id) + "()";
    site.file = "benchmarks/generator.cpp";
    declarations.sites.push_back(site);
  }
  for (std::uint32_t id = 1; id <= thread_count; ++id) {
    TrackDeclaration track;
    track.id = TrackId{id};
    track.os_thread_id = 1000 + id;
    track.name = "worker " + std::to_string(id);
    declarations.tracks.push_back(track);
  }
  return declarations;
}

void ScopeGenerator::step(Thread& thread, ScopeRun& run) {
  auto& stack = thread.stack;
  if (stack.empty() || stack.back().children_left > 0) {
    if (!stack.empty()) {
      --stack.back().children_left;
    }
    thread.time_ns += log_normal(thread.random, median_gap_ns);
    Frame frame;
    frame.start_ns = thread.time_ns;
    frame.own_ns = log_normal(thread.random, median_duration_ns);
    frame.site = SiteId{static_cast<std::uint32_t>(1 + next_random(thread.random) % site_count)};
    frame.children_left = stack.size() + 1 < max_depth ? static_cast<unsigned>(next_random(thread.random) % 4) : 0;
    run.events.push_back({thread.time_ns, frame.site, static_cast<std::uint16_t>(stack.size()), 0});
    stack.push_back(frame);
    ++scopes_;
  } else {
    thread.time_ns += stack.back().own_ns;
    stack.pop_back();
    run.events.push_back({thread.time_ns, {}, static_cast<std::uint16_t>(stack.size()), 0});
  }
}

void ScopeGenerator::next(EventBatch& batch, std::size_t events) {
  batch.declarations.clear();
  if (!declared_) {
    batch.declarations = declare();
    declared_ = true;
  }
  batch.runs.resize(thread_count);
  batch.start_ns = INT64_MAX;
  batch.end_ns = INT64_MIN;
  for (std::size_t i = 0; i < thread_count; ++i) {
    Thread& thread = threads_[i];
    ScopeRun& run = batch.runs[i];
    run.track = TrackId::from_index(i);
    run.first_sequence = thread.sequence;
    run.open_at_start.clear();
    for (const Frame& frame : thread.stack) {
      run.open_at_start.push_back({frame.start_ns, frame.site});
    }
    run.events.clear();
    const std::size_t share = events / thread_count + (i < events % thread_count ? 1 : 0);
    for (std::size_t k = 0; k < share; ++k) {
      step(thread, run);
    }
    thread.sequence += share;
    run.end_sequence = thread.sequence;
    if (!run.events.empty()) {
      batch.start_ns = std::min(batch.start_ns, run.events.front().time_ns);
      batch.end_ns = std::max(batch.end_ns, run.events.back().time_ns);
    }
  }
}

}  // namespace kymo::benchmarks
