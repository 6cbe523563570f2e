// Frames of made-up programs with noise and a cause.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "stats/common/random_source.hpp"
#include "stats/made_up_program.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::test {

constexpr std::int64_t us = 1'000;

/// Draws the frames of a program: how many, how noisy, how strong its cause is and in which frames. Half of the
/// programs with a cause have a lesser one beside it, in the same frames: "tidy up" takes up to 60 % as much.
class FrameSimulation {
 public:
  FrameSimulation(const std::string& path, bool has_cause, std::uint64_t seed, bool has_states)
      : program(path, has_states), main(program.thread("main")), has_cause_(has_cause), random_(seed) {
    frames_ = 150 + static_cast<std::size_t>(random_.below(450));
    noise_ = 0.02 + 0.06 * random_.uniform();
    probability_ = 0.01 + 0.14 * random_.uniform();
    strength_ns_ = static_cast<std::int64_t>((3 + 17 * random_.uniform()) * static_cast<double>(ms));
    lesser_ = has_cause && random_.below(2) == 0 ? 0.6 * random_.uniform() : 0;
  }

  /// Runs frames; each is a call with what the cause adds to it, in ns: 0 in most of them.
  template <typename Body>
  void frames(const Body& body) {
    program.frame(main);
    std::size_t caused = 0;
    for (std::size_t i = 1; i <= frames_; ++i) {
      // Some frames have the cause for sure.
      const bool is_caused = has_cause_ && (random_.uniform() < probability_ || (i > frames_ / 2 && caused < 3));
      caused += is_caused ? 1U : 0U;
      const std::int64_t extra_ns = is_caused ? noisy(strength_ns_, 0.15) : 0;
      common_ = std::exp(noise_ / 2 * random_.normal());
      slowed_ns_ = 0;
      clock = 1;
      body(extra_ns);
      work("tidy up", 200 * us + static_cast<std::int64_t>(lesser_ * static_cast<double>(extra_ns)));
      injected[i] = clock < 1 ? slowed_ns_ : extra_ns;
      // Has nothing to do with anything.
      program.sample("temperature", "C", program.now(main), 50 + random_.normal());
      program.frame(main);
    }
    program.finish();
  }
  /// One frame alone has the cause.
  template <typename Body>
  void frames_with_one(const Body& body) {
    const std::size_t one = 1 + static_cast<std::size_t>(random_.below(frames_));
    program.frame(main);
    for (std::size_t i = 1; i <= frames_; ++i) {
      const std::int64_t extra_ns = has_cause_ && i == one ? strength_ns_ : 0;
      common_ = std::exp(noise_ / 2 * random_.normal());
      body(extra_ns);
      injected[i] = extra_ns;
      program.frame(main);
    }
    program.finish();
  }

  /// A duration with the program's noise.
  std::int64_t noisy(std::int64_t duration_ns) { return noisy(duration_ns, noise_); }
  std::int64_t noisy(std::int64_t duration_ns, double noise) {
    return static_cast<std::int64_t>(static_cast<double>(duration_ns) * common_ * std::exp(noise * random_.normal()));
  }
  /// Other work of a frame.
  void work(const std::string& site, std::int64_t duration_ns) {
    const std::int64_t at_usual_clock_ns = noisy(duration_ns);
    const auto took_ns = static_cast<std::int64_t>(static_cast<double>(at_usual_clock_ns) / clock);
    slowed_ns_ += took_ns - at_usual_clock_ns;
    program.scope(main, site, took_ns);
  }
  std::uint64_t below(std::uint64_t limit) { return random_.below(limit); }

  MadeUpProgram program;
  TrackId main;
  double clock = 1;                                          // of the usual one, for what `work` does
  std::unordered_map<std::uint64_t, std::int64_t> injected;  // by frame

 private:
  bool has_cause_;
  stats::RandomSource random_;
  std::size_t frames_ = 0;
  double noise_ = 0;
  std::int64_t slowed_ns_ = 0;
  double common_ = 1;  // a slow frame slows all of it
  double lesser_ = 0;  // strength of the lesser cause, of the cause's
  double probability_ = 0;
  std::int64_t strength_ns_ = 0;
};

}  // namespace kymo::test
