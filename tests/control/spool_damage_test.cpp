// A spool with any byte wrong: what is sound is read, the rest is left out; never a crash.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "capture/recover/spool_reader.hpp"
#include "record/pool/pool.hpp"
#include "record/recorder/recorder.hpp"
#include "support/memory_sink.hpp"
#include "support/rounds.hpp"

#include <kymo/kymo.hpp>

namespace kymo::capture {
namespace {

/// The spool of this very process, with events in it that no sink has been given.
std::vector<std::byte> make_spool() {
  record::RecorderOptions options;
  options.pool.bytes = record::smallest_pool_bytes;
  EXPECT_TRUE(record::Recorder::instance().start(options));
  auto sink = std::make_shared<test::MemorySink>();
  const std::uint64_t handle = record::Recorder::instance().add_sink(sink);
  for (int i = 0; i < 2'000; ++i) {
    KYMO_SCOPE("outer", {"i", i}, {"text", "some text"});
    KYMO_SCOPE("inner");
    record_metric("metric", i);
    message("hello");
  }
  // The file, as recovery reads it: the collector is at work in the memory.
  const record::Pool& pool = *record::Recorder::instance().pool();
  const base::FileDescriptor file(::open(pool.spool_path().c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> bytes(pool.header().total_bytes);
  EXPECT_EQ(base::read_fully_at(file.get(), bytes, 0), static_cast<std::int64_t>(bytes.size()));
  record::Recorder::instance().remove_sink(handle);
  record::Recorder::instance().shut_down();
  return bytes;
}

/// The recorder of a process runs once.
const std::vector<std::byte>& sound_spool() {
  static const std::vector<std::byte> spool = make_spool();
  return spool;
}

/// Decodes a spool that stands in memory; how many scope events came.
std::size_t decode(const std::vector<std::byte>& bytes) {
  base::FileDescriptor file(::memfd_create("spool", MFD_CLOEXEC));
  EXPECT_TRUE(base::write_fully(file.get(), bytes));
  std::size_t events = 0;
  if (const std::optional<SpoolReader> spool = SpoolReader::read(std::move(file))) {
    spool->decode({}, [&](const EventBatch& batch) {
      for (const ScopeRun& run : batch.runs) {
        events += run.events.size();
      }
    });
  }
  return events;
}

TEST(SpoolDamageTest, AnUndamagedSpoolIsReadAndADamagedOneNeverCrashes) {
  const std::vector<std::byte>& sound = sound_spool();
  EXPECT_GT(decode(sound), 0U);
  std::mt19937_64 random(11);
  std::vector<std::byte> damaged = sound;
  for (int round = 0; round < test::rounds(400); ++round) {
    // Where most of what matters is: the header, the slots, the chunks' headers and first words.
    const std::size_t area = round % 3 == 0 ? 4096 : round % 3 == 1 ? 24'000 : damaged.size();
    std::vector<std::size_t> places;
    for (int i = 0; i < 4; ++i) {
      places.push_back(random() % area);
      damaged[places.back()] = static_cast<std::byte>(random());
    }
    static_cast<void>(decode(damaged));
    for (const std::size_t place : places) {
      damaged[place] = sound[place];
    }
  }
  EXPECT_EQ(damaged, sound);
}

TEST(SpoolDamageTest, ATruncatedSpoolIsRefused) {
  const std::vector<std::byte>& sound = sound_spool();
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{4096}, std::size_t{70'000}}) {
    EXPECT_EQ(decode({sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(std::min(size, sound.size()))}), 0U);
  }
}

}  // namespace
}  // namespace kymo::capture
