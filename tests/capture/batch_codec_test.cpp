#include "capture/format/batch_codec.hpp"
#include "base/append.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "../../benchmarks/generator.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/sample_batches.hpp"
#include "support/rounds.hpp"

namespace kymo::capture {
namespace {

using test::BatchSource;
using test::describe;

void load_payload(const ByteBuffer& raw, BlockPayload& payload) {
  std::copy(raw.bytes().begin(), raw.bytes().end(), payload.resize(raw.size()));
}

EventBatch decode(const ByteBuffer& raw, const EventBatch& original, BatchParts parts = BatchParts::everything) {
  BlockPayload payload;
  load_payload(raw, payload);
  EventBatch decoded;
  decode_batch({payload.data(), payload.size()}, original.start_ns, original.end_ns, parts, decoded);
  return decoded;
}

TEST(BatchCodec, EveryFieldOfEveryTableComesBack) {
  for (const Packing packing : {Packing::bits, Packing::planes}) {
    BatchSource source(5);
    BatchEncoder encoder(packing);
    ByteBuffer raw;
    for (int round = 0; round < 300; ++round) {
      const EventBatch batch = source.wild(round % 10 == 0 ? 700 : 20);
      encoder.encode(batch, raw);
      ASSERT_EQ(describe(decode(raw, batch)), describe(batch)) << round;
    }
  }
}

TEST(BatchCodec, ScopesWithNoneInsideComeBackAmongOthers) {
  std::mt19937_64 random(9);
  for (int round = 0; round < test::rounds(300); ++round) {
    EventBatch batch;
    batch.start_ns = 1'000;
    ScopeRun& run = batch.runs.emplace_back();
    const std::uint64_t leaves = random() % 101;
    std::int64_t time_ns = batch.start_ns;
    std::uint16_t depth = 0;
    // A run may begin within a call, whose close then comes first; it may be forced, or say another depth.
    for (std::uint64_t open = random() % 3; open > 0; --open) {
      run.open_at_start.push_back({500, SiteId{static_cast<std::uint32_t>(open)}});
      ++depth;
    }
    const auto put = [&](SiteId site, std::uint16_t at_depth, std::uint16_t flags) {
      run.events.push_back({time_ns += static_cast<std::int64_t>(random() % 100), site, at_depth, flags});
    };
    if (depth != 0 && random() % 2 == 0) {
      depth = static_cast<std::uint16_t>(random() % depth);
      put(SiteId{}, depth, random() % 4 == 0 ? ScopeEvent::forced : 0);
    }
    for (std::uint64_t left = random() % 300; left > 0; --left) {
      const auto site = SiteId{static_cast<std::uint32_t>(random() % 50 == 0 ? UINT32_MAX : 1 + random() % 3)};
      if (random() % 100 < leaves) {
        put(site, depth, 0);
        put(SiteId{}, depth, random() % 100 == 0 ? ScopeEvent::forced : 0);
      } else if (depth == 0 || random() % 2 == 0) {
        put(site, depth++, 0);
      } else {
        put(SiteId{}, --depth, 0);
      }
    }
    batch.end_ns = time_ns;
    BatchEncoder encoder(Packing::bits);
    ByteBuffer raw;
    encoder.encode(batch, raw);
    ASSERT_EQ(describe(decode(raw, batch)), describe(batch)) << round;
  }
}

TEST(BatchCodec, DeclarationsComeBack) {
  BatchSource source(6);
  for (int round = 0; round < 100; ++round) {
    const Declarations declarations = source.wild_declarations(round % 10 == 0 ? 400 : 10);
    ByteBuffer raw;
    TableWriter table(raw, Packing::bits);
    encode_declarations(declarations, table);
    BlockPayload payload;
    load_payload(raw, payload);
    Declarations decoded;
    TableReader reader({payload.data(), payload.size()});
    TableView view;
    while (reader.next(view)) {
      EXPECT_TRUE(decode_declarations(view, decoded));
    }
    ASSERT_EQ(describe(decoded), describe(declarations));
  }
}

TEST(BatchCodec, ManyDeclarationsComeInPiecesThatFitIntoBlocks) {
  BatchSource source(7);
  const Declarations all = source.wild_declarations(20'000);
  Declarations together;
  int pieces = 0;
  for_each_piece(all, [&](RowRange piece) {
    ++pieces;
    ByteBuffer raw;
    TableWriter table(raw, Packing::bits);
    EXPECT_NO_THROW(encode_declarations(all, table, piece));
    BlockPayload payload;
    load_payload(raw, payload);
    Declarations decoded;
    TableReader reader({payload.data(), payload.size()});
    TableView view;
    while (reader.next(view)) {
      decode_declarations(view, decoded);
    }
    base::append(together, decoded);
  });
  EXPECT_GT(pieces, 1);
  EXPECT_EQ(describe(together), describe(all));
}

TEST(BatchCodec, OneBatchObjectServesManyBlocks) {
  BatchSource source(8);
  BatchEncoder encoder(Packing::bits);
  ByteBuffer raw;
  BlockPayload payload;
  EventBatch decoded;
  for (int round = 0; round < 100; ++round) {
    const EventBatch batch = source.wild(30);
    encoder.encode(batch, raw);
    load_payload(raw, payload);
    decode_batch({payload.data(), payload.size()}, batch.start_ns, batch.end_ns, BatchParts::everything, decoded);
    ASSERT_EQ(describe(decoded), describe(batch)) << round;
  }
}

TEST(BatchCodec, SamplesAndFrameMarksComeInOrderOfTimeWithWhatBelongsToThem) {
  EventBatch batch;
  // Two threads recorded one metric and marked one stream. Another metric shares the times.
  batch.samples = {{MetricId{1}, {10, 30, 50, 20, 30}, {1, 3, 5, 2, 4}, {0, SampleRun::stale, 0, SampleRun::stale, 0}},
                   {MetricId{2}, {10, 30, 50, 20, 30}, {-1, -3, -5, -2, -4}, {}}};
  batch.frame_marks = {
      {FrameStreamId{1}, TrackId{1}, 10}, {FrameStreamId{1}, TrackId{1}, 30}, {FrameStreamId{1}, TrackId{2}, 20}};
  ByteBuffer raw;
  BatchEncoder(Packing::bits).encode(batch, raw);
  const EventBatch decoded = decode(raw, batch);
  const std::vector<std::int64_t> times{10, 20, 30, 30, 50};
  ASSERT_EQ(decoded.samples.size(), 2U);
  EXPECT_EQ(decoded.samples[0].times_ns, times);
  EXPECT_EQ(decoded.samples[0].values, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(decoded.samples[0].flags, (std::vector<std::uint8_t>{0, SampleRun::stale, SampleRun::stale, 0, 0}));
  EXPECT_EQ(decoded.samples[1].times_ns, times);
  EXPECT_EQ(decoded.samples[1].values, (std::vector<double>{-1, -2, -3, -4, -5}));
  EXPECT_TRUE(decoded.samples[1].flags.empty());
  ASSERT_EQ(decoded.frame_marks.size(), 3U);
  EXPECT_EQ(decoded.frame_marks[1].track, TrackId{2});
  EXPECT_EQ(decoded.frame_marks[1].time_ns, 20);
  EXPECT_EQ(decoded.frame_marks[2].time_ns, 30);
}

TEST(BatchCodec, PartsLeaveTheRestEmpty) {
  BatchSource source(9);
  EventBatch batch;
  do {
    batch = source.wild(20);
  } while (batch.runs.empty() || batch.samples.empty() || batch.spans.empty() || batch.runs[0].events.empty());
  BatchEncoder encoder(Packing::bits);
  ByteBuffer raw;
  encoder.encode(batch, raw);

  const EventBatch sequences = decode(raw, batch, BatchParts::sequences);
  ASSERT_EQ(sequences.runs.size(), batch.runs.size());
  EXPECT_EQ(sequences.runs[0].end_sequence, batch.runs[0].end_sequence);
  EXPECT_EQ(sequences.runs[0].open_at_start.size(), batch.runs[0].open_at_start.size());
  EXPECT_TRUE(sequences.runs[0].events.empty());
  EXPECT_TRUE(sequences.spans.empty());

  EventBatch scopes_only;
  scopes_only.start_ns = batch.start_ns;
  scopes_only.end_ns = batch.end_ns;
  scopes_only.runs = batch.runs;
  scopes_only.text = batch.text;
  EXPECT_EQ(describe(decode(raw, batch, BatchParts::scopes)), describe(scopes_only));

  EventBatch others = batch;
  others.runs.clear();
  EXPECT_EQ(describe(decode(raw, batch, BatchParts::others)), describe(others));

  EventBatch samples;
  samples.start_ns = batch.start_ns;
  samples.end_ns = batch.end_ns;
  samples.samples = batch.samples;
  EXPECT_EQ(describe(decode(raw, batch, BatchParts::samples)), describe(samples));
}

TEST(BatchCodec, DamagedPayloadsAreRefusedOrDecodeToSomethingBounded) {
  BatchSource source(10);
  BatchEncoder encoder(Packing::bits);
  std::mt19937_64 random(11);
  ByteBuffer raw;
  BlockPayload payload;
  EventBatch decoded;
  int refused = 0;
  constexpr int rounds = test::rounds(5000);
  for (int round = 0; round < rounds; ++round) {
    const EventBatch batch = source.wild(10);
    encoder.encode(batch, raw);
    for (std::uint64_t damages = 1 + random() % 3; damages > 0 && raw.size() > 0; --damages) {
      raw.data()[random() % raw.size()] = static_cast<std::byte>(random());
    }
    load_payload(raw, payload);
    try {
      decode_batch({payload.data(), payload.size()}, batch.start_ns, batch.end_ns, BatchParts::everything, decoded);
    } catch (const DecodeError&) {
      ++refused;
    }
    ASSERT_LE(decoded.spans.size() + decoded.messages.size() + decoded.flows.size(), max_payload_cost);
  }
  EXPECT_GT(refused, rounds / 5);
}

TEST(BatchCodec, SamplesThatShareTimesAreNotMoreThanTheirValues) {
  const std::vector<double> two{1, 2};
  const std::vector<double> three{1, 2, 3};
  const auto decoded_size = [](const std::vector<double>& first, const std::vector<double>& second) {
    ByteBuffer raw;
    TableWriter table(raw, Packing::bits);
    table.begin(TableId::samples, 1);
    table.field(1, {}, first, [](double value) { return static_cast<std::uint64_t>(value); });
    table.floats(2, first);
    table.end();
    table.begin(TableId::samples, 2);
    if (!second.empty()) {
      table.floats(2, second, true);
    }
    table.end();
    return decode(raw, EventBatch()).samples.at(1).times_ns.size();
  };
  EXPECT_EQ(decoded_size(three, three), 3U);
  EXPECT_THROW(decoded_size(three, two), DecodeError);
  EXPECT_THROW(decoded_size(three, {}), DecodeError) << "nothing stands there for the memory that this would take";
}

TEST(BatchCodec, SamplesOfFewDecimalsTakeFewBytesAndComeBackExactly) {
  EventBatch batch;
  SampleRun percentages{MetricId{1}, {}, {}, {}};
  SampleRun noise{MetricId{1}, {}, {}, {}};
  std::mt19937 random(4);
  for (std::int64_t i = 0; i < 1000; ++i) {
    percentages.times_ns.push_back(i * 1'000'000);
    percentages.values.push_back(static_cast<double>(random() % 10'001) / 100);
    noise.times_ns.push_back(i * 1'000'000);
    noise.values.push_back(std::ldexp(static_cast<double>(random()), -20));
  }
  BatchEncoder encoder(Packing::bits);
  ByteBuffer raw;
  batch.samples = {percentages};
  encoder.encode(batch, raw);
  EXPECT_LT(raw.size(), 1000U * 5) << "a float alone takes eight";
  EXPECT_EQ(decode(raw, batch).samples.at(0).values, percentages.values);
  batch.samples = {noise};
  encoder.encode(batch, raw);
  EXPECT_EQ(decode(raw, batch).samples.at(0).values, noise.values);
}

// As a sampler has them: 1 kHz, the CPU time of a process that works now and then.
TEST(BatchCodec, NanosecondsInSecondsTakeFewBytesAndComeBackExactly) {
  SampleRun cpu_time{MetricId{1}, {}, {}, {}};
  std::mt19937_64 random(7);
  std::uint64_t used_ns = 3'599'987'654'321;
  for (std::int64_t i = 0; i < 1000; ++i) {
    used_ns += random() % 100'000;
    cpu_time.times_ns.push_back(i * 1'000'000);
    cpu_time.values.push_back(static_cast<double>(used_ns) / 1e9);
  }
  EventBatch batch;
  SampleRun memory = cpu_time;
  memory.values.assign(memory.values.size(), 4096);
  batch.samples = {memory};
  BatchEncoder encoder(Packing::bits);
  ByteBuffer raw;
  encoder.encode(batch, raw);
  const std::size_t times = raw.size();
  batch.samples = {memory, cpu_time};
  encoder.encode(batch, raw);
  EXPECT_LT(raw.size() - times, 1000U * 5 / 2) << "a float alone takes eight";
  EXPECT_EQ(decode(raw, batch).samples.at(1).values, cpu_time.values);
}

TEST(BatchCodec, TheBenchmarksScopesTakeFewBytes) {
  benchmarks::ScopeGenerator generator(1);
  EventBatch batch;
  generator.next(batch);
  BatchEncoder encoder(Packing::bits);
  ByteBuffer raw;
  encoder.encode(batch, raw);
  EXPECT_LE(static_cast<double>(raw.size()), 4.5 * static_cast<double>(generator.scopes()));
  EXPECT_EQ(describe(decode(raw, batch)), describe(batch));
}

}  // namespace
}  // namespace kymo::capture
