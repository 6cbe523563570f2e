// Cost of the collector's steps, without recording threads: chunk words to events, events to a block's payload, to
// compressed bytes, to summaries; and all of them together.
//
// Two loads: regular calls (one site in a loop) and the generator's (generator.hpp). Both consist of words as threads
// write them.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <kymo/detail/thread_state.hpp>

#include "capture/format/batch_codec.hpp"
#include "capture/summary/builder.hpp"
#include "capture/write/capture_writer.hpp"
#include "generator.hpp"
#include "record/collector/track_decoder.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

namespace {

/// Words of a batch, as drained by the collector before it hands a batch on.
constexpr std::size_t batch_words = 131'072;

/// One thread that calls a function repeatedly: 20 ns inside, 15 ns between calls.
std::vector<std::uint64_t> regular_words() {
  std::vector<std::uint64_t> words;
  std::uint64_t count = 0;
  std::uint64_t random = 1;
  while (words.size() < batch_words) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    count += 15 + (random >> 62U);
    words.push_back(detail::word_of(detail::open_tag(1), count));
    count += 20;
    words.push_back(detail::word_of(detail::kind_tag(detail::WordKind::close, 0), count));
  }
  return words;
}

/// The generator's scopes back to back, as generator_shape.hpp records them.
std::vector<std::uint64_t> generated_words() {
  ScopeGenerator generator(1);
  EventBatch batch;
  generator.next(batch, ScopeGenerator::thread_count * batch_words);
  std::vector<std::uint64_t> words;
  std::uint64_t count = 0;
  for (const ScopeEvent& event : batch.runs.front().events) {
    const std::uint64_t tag =
        event.is_open() ? detail::open_tag(event.site.value()) : detail::kind_tag(detail::WordKind::close, event.depth);
    count += 10 + static_cast<std::uint64_t>(event.time_ns) % 8;
    words.push_back(detail::word_of(tag, count));
  }
  return words;
}

/// Repeats the words, each time at a later time.
class Load {
 public:
  explicit Load(std::vector<std::uint64_t> words) : words_(std::move(words)) {
    record::clear_batch(batch_);
    clock_.add({1'000, 1'000, 1});
    clock_.add({1'001'000, 1'001'000, 1});
  }

  /// Decodes the events of the next batch into batch().
  void decode() {
    decoder_.forget_run(batch_);
    record::clear_batch(batch_);
    samples_.forget();
    record::DecodeContext context{clock_, samples_, async_spans_};
    // Scopes open at the end stay open: the next batch continues at a later time.
    decoder_.begin_chunk(base_, sequence_);
    for (std::size_t begin = 0; begin < words_.size(); begin += chunk_words) {
      const std::size_t size = std::min(chunk_words, words_.size() - begin);
      decoder_.decode(std::span(words_).subspan(begin, size), batch_, context);
    }
    decoder_.end_track(batch_, 0);
    sequence_ += words_.size();
  }

  /// Moves the words behind those decoded last.
  void move_on() {
    const std::uint64_t by = count_of(words_.back()) + 1'000 - base_;
    base_ += by;
    // As the collector does before each drain: the map ends soon after its last pair.
    clock_.add({base_, static_cast<std::int64_t>(base_), 1});
    for (std::uint64_t& word : words_) {
      word = detail::word_of(detail::tag_of(word), count_of(word) + by);
    }
  }

  [[nodiscard]] const EventBatch& batch() const { return batch_; }
  [[nodiscard]] double scopes() const { return static_cast<double>(words_.size()) / 2; }

 private:
  static constexpr std::size_t chunk_words = 8'000;

  static std::uint64_t count_of(std::uint64_t word) { return detail::shifted_count_of(word) >> detail::tag_bits; }

  std::vector<std::uint64_t> words_;
  record::ClockMap clock_{1.0};
  record::SampleGatherer samples_;
  record::AsyncSpans async_spans_;
  record::TrackDecoder decoder_{TrackId{1}};
  EventBatch batch_;
  std::uint64_t base_ = 0;
  std::uint64_t sequence_ = 0;
};

/// A destination that discards everything.
class Nowhere final : public capture::BlockDestination {
 public:
  void append(std::span<const std::byte>) override {}
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_;
};

using Words = std::vector<std::uint64_t> (*)();

/// CPU time of `step(load)` per scope, one batch per iteration; `prepare(load)` runs before each and is not counted.
template <typename Prepare, typename Step>
void time_step(benchmark::State& state, Words words, Prepare&& prepare, Step&& step) {
  Load load(words());
  std::vector<double> costs_ns;
  for (int warm_up = 0; warm_up < 16; ++warm_up) {
    load.move_on();
    prepare(load);
    step(load);
  }
  for (auto _ : state) {
    load.move_on();
    prepare(load);
    Cost cost;
    measure(cost, 1, [&](std::size_t) { step(load); });
    costs_ns.push_back(static_cast<double>(cost.cpu_ns) / load.scopes());
    state.SetIterationTime(static_cast<double>(cost.cpu_ns) / 1e9);
  }
  std::sort(costs_ns.begin(), costs_ns.end());
  state.counters["ns/scope"] = costs_ns[costs_ns.size() / 2];
  state.counters["least"] = costs_ns.front();
}

void decode(benchmark::State& state, Words words) {
  time_step(
      state, words, [](Load&) {}, [](Load& load) { load.decode(); });
}

void encode(benchmark::State& state, Words words) {
  capture::BatchEncoder encoder(capture::Packing::bits);
  capture::ByteBuffer payload;
  time_step(
      state, words, [](Load& load) { load.decode(); }, [&](Load& load) { encoder.encode(load.batch(), payload); });
}

void compress(benchmark::State& state, Words words) {
  capture::BatchEncoder encoder(capture::Packing::bits);
  capture::ByteBuffer payload;
  capture::ByteBuffer compressed;
  const auto codec = capture::make_lz4_codec();
  time_step(
      state, words,
      [&](Load& load) {
        load.decode();
        encoder.encode(load.batch(), payload);
      },
      [&](Load&) {
        compressed.clear();
        benchmark::DoNotOptimize(codec->compress(payload.bytes(), {}, compressed));
      });
}

void summarize(benchmark::State& state, Words words) {
  capture::SummaryBuilder builder;
  std::uint32_t number = 0;
  time_step(
      state, words, [](Load& load) { load.decode(); },
      [&](Load& load) { benchmark::DoNotOptimize(builder.add(load.batch(), ++number)); });
}

void all_steps(benchmark::State& state, Words words) {
  capture::CaptureWriter writer(std::make_unique<Nowhere>(), {});
  time_step(
      state, words, [](Load&) {},
      [&](Load& load) {
        load.decode();
        writer.write(load.batch());
      });
}

using Function = void (*)(benchmark::State&, Words);

void add(const std::string& name, Function function) {
  const auto register_with = [&](const char* load, Words words) {
    benchmark::RegisterBenchmark((name + load).c_str(), [=](benchmark::State& state) { function(state, words); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  };
  register_with("/regular", regular_words);
  register_with("/generated", generated_words);
}

}  // namespace

}  // namespace kymo::benchmarks

int main(int argc, char** argv) {
  using namespace kymo::benchmarks;  // NOLINT(google-build-using-namespace)
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  add("decode", decode);
  add("encode", encode);
  add("compress", compress);
  add("summarize", summarize);
  add("all_steps", all_steps);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
