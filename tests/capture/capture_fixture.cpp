#include "capture/capture_fixture.hpp"

#include <fstream>
#include <utility>

#include "capture/sample_batches.hpp"
#include "support/memory_destination.hpp"

// What libkymo defines; the writer is tested without a recorder.
kymo::Sink::~Sink() = default;

namespace kymo::test {

capture::CaptureWriterOptions sample_options() {
  capture::CaptureWriterOptions options;
  options.header.recorder = "kymo test";
  options.header.spool_id = "0123456789abcdef";
  options.header.clock_source = "tsc";
  options.header.clock_step_ns = 0.375;
  options.header.owner_pid = 4711;
  ProcessDeclaration process;
  process.id = ProcessId{1};
  process.pid = 4711;
  process.host = "testhost";
  options.declarations.processes.push_back(process);
  options.declarations.infos.push_back({ProcessId{1}, "build_id", "abc"});
  return options;
}

Bytes write_capture(const std::vector<EventBatch>& batches, bool finish, capture::CaptureWriterOptions options) {
  auto bytes = std::make_shared<Bytes>();
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(options));
  for (const EventBatch& batch : batches) {
    writer.write(batch);
  }
  if (finish) {
    writer.finish();
  }
  return std::move(*bytes);
}

std::vector<std::string> read_events(const CaptureReader& reader) {
  std::vector<std::string> events;
  EventBatch batch;
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind == BlockKind::events && reader.read(block, batch)) {
      events.push_back(describe(batch));
    }
  }
  return events;
}

std::size_t count_blocks(const CaptureReader& reader, BlockKind kind) {
  std::size_t count = 0;
  for (const BlockInfo& block : reader.blocks()) {
    count += block.kind == kind ? 1 : 0;
  }
  return count;
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(content.data(), content.size()));
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<EventBatch> short_tracks(std::uint32_t tracks) {
  constexpr std::uint32_t a_batch = 100;
  std::vector<EventBatch> batches;
  for (std::uint32_t number = 1; number <= tracks; ++number) {
    const TrackId id{number};
    if (number % a_batch == 1) {
      batches.emplace_back();
      batches.back().start_ns = 1'000 * number;
      batches.back().end_ns = batches.back().start_ns + 100;
    }
    EventBatch& batch = batches.back();
    batch.declarations.tracks.push_back(
        {id, TrackKind::thread, ProcessId{1}, number + 5'000, "worker " + std::to_string(number)});
    ScopeRun& run = batch.runs.emplace_back();
    run.track = id;
    run.end_sequence = 4;
    run.dropped_scopes = number;
    for (int n = 0; n < 2; ++n) {
      run.events.push_back({batch.start_ns + 2 * n, SiteId{1}, 0, 0});
      run.events.push_back({batch.start_ns + 2 * n + 1, {}, 0, 0});
    }
    batch.track_ends.push_back({id, batch.start_ns + 50});
  }
  return batches;
}

}  // namespace kymo::test
