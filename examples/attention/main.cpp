// Softmax attention on the CPU, plain or gated by minimum cuts: a workload, and how to measure it.
//
//     attention [--gated --lambda L --tau T --eps E] [--samples N] [--seed N] [--csv FILE] [--witness FILE]
//
// --csv writes one record per sample, a BaselineRecord if plain, a LatencyRecord if gated. --witness writes every
// decision if gated. Metrics go to the file that KYMO_BENCH_METRICS names. run_grid.sh runs it over a grid of settings.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>
#include <kymo/bench.hpp>
#include <kymo/kymo.hpp>
#include <kymo/latency_stats.hpp>
#include <kymo/memory_tracker.hpp>
#include <kymo/witness.hpp>

#include "gate.hpp"
#include "measurement.hpp"
#include "options.hpp"
#include "softmax.hpp"
#include "workload.hpp"

namespace attention {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::int64_t wall_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

kymo::WitnessHeader header_of(const Options& options) {
  // There is no trained model, so the inputs represent its weights.
  const Tokens inputs = make_sample(options.seed, 0);
  kymo::BenchConfig config;
  config.model_commit = "softmax-attention-1";
  config.weights_hash = kymo::tensor_hash(inputs.queries.data(), inputs.queries.size());
  config.lambda = options.gate.lambda;
  config.tau = options.gate.tau;
  config.eps = options.gate.eps;
  config.compiler_flags = ATTENTION_FLAGS;
  return {kymo::config_hash(config), config.model_commit, config.weights_hash};
}

/// A run over all samples.
class Run {
 public:
  explicit Run(const Options& options) : options_(options), header_(header_of(options)) {
    if (!options.witness.empty()) {
      witness_ = std::make_unique<kymo::WitnessWriter>(options.witness + ".part", header_);
    }
  }

  void measure() {
    for (std::uint64_t sample = 0; sample < options_.samples; ++sample) {
      measure(sample);
      kymo::frame_mark();
    }
  }

  void write() {
    double reproduced = kymo::no_value;
    if (witness_) {
      witness_->finish();
      reproduced = replace_witness();
    }
    if (!options_.csv.empty()) {
      write_csv();
    }
    if (!options_.metrics.empty()) {
      write_metrics(options_.metrics, metrics(reproduced));
    }
  }

  void print() const {
    const kymo::LatencyStats stats = latency();
    const auto samples = static_cast<unsigned long long>(options_.samples);
    std::printf("%llu samples, p50 %.1f us, p95 %.1f us, coherence %.6f, accuracy %.4f, %llu logits dropped\n", samples,
                stats.p50, stats.p95, coherence(), accuracy(), static_cast<unsigned long long>(dropped_));
    std::printf("energy: %s\n",
                energy_.has_source() ? energy_.source().c_str() : "there is no power source here, so it is left empty");
    std::printf("configuration %s\n", header_.config_hash.c_str());
  }

 private:
  void measure(std::uint64_t sample) {
    KYMO_SCOPE("sample", {"id", sample});
    Tokens tokens = make_sample(options_.seed, sample);
    Gate gate(options_.is_gated ? tokens.count : 0, options_.gate);
    SampleFigures figures;
    figures.sample = sample;
    figures.tokens = tokens.count;
    std::vector<Tokens> inputs;
    inputs.reserve(steps);
    for (unsigned step = 0; step < steps; ++step) {
      if (step > 0) {
        drift(tokens, options_.seed, sample, step);
      }
      inputs.push_back(tokens);
    }
    std::vector<Matrix> outputs;
    outputs.reserve(steps);
    std::vector<Decision> decisions;
    energy_.start();
    const Clock::time_point start = Clock::now();
    for (const Tokens& input : inputs) {
      outputs.push_back(attend_once(input, gate, decisions, figures));
    }
    figures.wall_us = microseconds_since(start);
    figures.energy_j = energy_.stop();
    // The size of the cache after the last step.
    std::uint64_t keys = tokens.count;
    if (options_.is_gated) {
      keys = 0;
      for (const bool is_kept : decisions.back().kept_keys) {
        keys += is_kept ? 1U : 0U;
      }
    }
    const std::uint64_t cache = keys * 2 * dimension * sizeof(float);
    cache_bytes_ += cache;
    const std::uint64_t logits = tokens.count * tokens.count * sizeof(float);
    const kymo::MemorySnapshot memory = memory_.snapshot({cache, outputs.back().size() * sizeof(float), logits});
    figures.peak_memory_bytes = memory.process_peak_bytes;
    figures_.push_back(figures);
    if (options_.is_gated) {
      judge(inputs, outputs, decisions);
    }
  }

  Matrix attend_once(const Tokens& input, Gate& gate, std::vector<Decision>& decisions, SampleFigures& figures) {
    KYMO_SCOPE("step");
    const Clock::time_point start = Clock::now();
    const Matrix logits = logits_of(input);
    figures.kernel_us += microseconds_since(start);
    if (options_.is_gated) {
      KYMO_SCOPE("gate");
      decisions.push_back(gate.decide(logits));
      dropped_ += decisions.back().dropped;
    }
    KYMO_SCOPE("attend");
    const Clock::time_point again = Clock::now();
    Matrix output = attend(input, logits, options_.is_gated ? &decisions.back().kept : nullptr);
    figures.kernel_us += microseconds_since(again);
    return output;
  }

  /// Not measured: the similarity to the plain output, and the witness.
  void judge(const std::vector<Tokens>& inputs, const std::vector<Matrix>& outputs,
             const std::vector<Decision>& decisions) {
    for (std::size_t step = 0; step < inputs.size(); ++step) {
      const Tokens& input = inputs[step];
      if (decisions[step].dropped > 0) {
        likeness_.add(outputs[step], attend(input, logits_of(input), nullptr));
      } else {
        likeness_.add(outputs[step], outputs[step]);
      }
      if (witness_) {
        kymo::WitnessEntry entry;
        entry.q_hash = kymo::tensor_hash(input.queries.data(), input.queries.size());
        entry.k_hash = kymo::tensor_hash(input.keys.data(), input.keys.size());
        entry.keep_mask = decisions[step].kept_keys;
        entry.mask_hash = kymo::mask_hash(decisions[step].kept.data(), decisions[step].kept.size());
        entry.cut_cost = decisions[step].cut_cost;
        entry.lambda = options_.gate.lambda;
        entry.tau = options_.gate.tau;
        entry.eps = options_.gate.eps;
        entry.timestamp = wall_clock_ns();
        witness_->add(entry);
      }
    }
  }

  /// Replaces the old bundle by the new one. Returns 1 if both hold the same decisions, 0 if not, NaN if there was no
  /// old one of the same configuration.
  double replace_witness() {
    double reproduced = kymo::no_value;
    if (::access(options_.witness.c_str(), F_OK) == 0) {
      try {
        const kymo::WitnessDifference difference =
            kymo::compare_witnesses(options_.witness, options_.witness + ".part");
        reproduced = !difference.is_same_header ? kymo::no_value : difference.is_none() ? 1 : 0;
      } catch (const kymo::BenchFileError&) {
        reproduced = 0;
      }
    }
    if (std::rename((options_.witness + ".part").c_str(), options_.witness.c_str()) != 0) {
      throw std::runtime_error("cannot write " + options_.witness);
    }
    return reproduced;
  }

  void write_csv() const {
    if (options_.is_gated) {
      std::vector<kymo::LatencyRecord> records;
      for (const SampleFigures& figures : figures_) {
        records.push_back({figures.sample, figures.wall_us, figures.kernel_us, figures.tokens});
      }
      kymo::write_csv(options_.csv, records);
    } else {
      std::vector<kymo::BaselineRecord> records;
      for (const SampleFigures& figures : figures_) {
        records.push_back(
            {figures.sample, figures.tokens, figures.wall_us, figures.peak_memory_bytes, figures.energy_j});
      }
      kymo::write_csv(options_.csv, records);
    }
  }

  [[nodiscard]] kymo::LatencyStats latency() const {
    std::vector<double> times;
    for (const SampleFigures& figures : figures_) {
      times.push_back(figures.wall_us);
    }
    return kymo::LatencyStats::of(std::move(times));
  }

  /// The plain output is its own baseline.
  [[nodiscard]] double coherence() const {
    return likeness_.positions == 0 ? 1 : likeness_.cosines / static_cast<double>(likeness_.positions);
  }
  [[nodiscard]] double accuracy() const {
    return likeness_.positions == 0
               ? 1
               : static_cast<double>(likeness_.agreements) / static_cast<double>(likeness_.positions);
  }

  [[nodiscard]] std::vector<std::pair<std::string, double>> metrics(double reproduced) const {
    double energy_j = 0;
    for (const SampleFigures& figures : figures_) {
      energy_j += figures.energy_j;
    }
    const auto samples = static_cast<double>(options_.samples);
    return {{"coherence", coherence()},
            {"accuracy", accuracy()},
            {"kv_cache_bytes", static_cast<double>(cache_bytes_) / samples},
            {"peak_mem_bytes", static_cast<double>(memory_.report().process_peak)},
            {"energy_per_sample_j", energy_j / samples},
            {"p95_latency_us", latency().p95},
            {"dropped_logits", static_cast<double>(dropped_) / samples},
            {"witness_reproduced", reproduced}};
  }

  const Options& options_;
  kymo::WitnessHeader header_;
  std::unique_ptr<kymo::WitnessWriter> witness_;
  EnergyMeter energy_;
  kymo::MemoryTracker memory_{"attention"};
  std::vector<SampleFigures> figures_;
  Likeness likeness_;
  std::uint64_t cache_bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  kymo::enable();
  Run measured(options);
  measured.measure();
  measured.write();
  measured.print();
  return 0;
}

}  // namespace
}  // namespace attention

int main(int argc, char** argv) {
  try {
    return attention::run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "attention: %s\n", failure.what());
    return 1;
  }
}
