// A flight recorder's capture with two triggers, between which the ring let events go.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "capture/write/block_ring.hpp"
#include "capture/write/capture_writer.hpp"
#include "support/memory_destination.hpp"

namespace kymo::test {

/// Frames of 1 ms, a scope "frame" in each, a scope "run" around all of them, and a sync point every 50 ms. Async spans
/// begin before the missing part and end in it, after it and never; another begins after it and never ends. A thread
/// has a scope "load" that ends in the missing part, as does the thread.
struct FlightRecording {
  static constexpr FrameStreamId stream{1};
  static constexpr TrackId track{1};
  static constexpr std::int64_t frame_ns = 1'000'000;
  static constexpr std::int64_t frames_a_batch = 10;
  static constexpr SiteId run_site{1};
  static constexpr SiteId frame_site{2};
  static constexpr SiteId load_site{3};
  static constexpr TrackId loader{3};
  /// Marks of the batches that are in the file: 7 to 9 by the first trigger, 37 to 41 by the second and the end.
  static constexpr std::int64_t first_mark = 70;
  static constexpr std::int64_t first_lost_mark = 100;
  static constexpr std::int64_t next_mark = 370;
  static constexpr std::int64_t end_mark = 420;
  static constexpr TrackId lane{2};
  static constexpr NameId load_name{1};
  static constexpr std::uint64_t ends_in_missing_part = 1;
  static constexpr std::uint64_t ends_after_missing_part = 2;
  static constexpr std::uint64_t never_ends = 3;
  static constexpr std::uint64_t begins_after_missing_part = 4;

  /// The frames whose both marks are in the file.
  static std::vector<std::int64_t> starts_ns() {
    std::vector<std::int64_t> starts;
    for (std::int64_t mark = first_mark; mark < end_mark - 1; ++mark) {
      if (mark < first_lost_mark - 1 || mark >= next_mark) {
        starts.push_back(mark * frame_ns);
      }
    }
    return starts;
  }

  static EventBatch batch(std::int64_t number) {
    EventBatch batch;
    batch.start_ns = number * frames_a_batch * frame_ns;
    batch.end_ns = batch.start_ns + (frames_a_batch - 1) * frame_ns + 500'000;
    if (number == 0) {
      batch.declarations = declarations();
    }
    ScopeRun& run = batch.runs.emplace_back();
    run.track = track;
    run.first_sequence = static_cast<std::uint64_t>(number == 0 ? 0 : 1 + number * frames_a_batch * 2);
    run.end_sequence = static_cast<std::uint64_t>(1 + (number + 1) * frames_a_batch * 2);
    if (number == 0) {
      run.events.push_back({0, run_site, 0, 0});
    } else {
      run.open_at_start.push_back({0, run_site});
    }
    for (std::int64_t i = 0; i < frames_a_batch; ++i) {
      const std::int64_t time_ns = batch.start_ns + i * frame_ns;
      batch.frame_marks.push_back({stream, track, time_ns});
      run.events.push_back({time_ns, frame_site, 1, 0});
      run.events.push_back({time_ns + 500'000, {}, 1, 0});
    }
    if (number % 5 == 0) {
      batch.sync_points.push_back({static_cast<std::uint64_t>(number / 5 + 1), track, batch.start_ns});
    }
    put_async(number, batch);
    if (number == 9) {
      ScopeRun& load = batch.runs.emplace_back();
      load.track = loader;
      load.end_sequence = 1;
      load.events.push_back({batch.start_ns, load_site, 0, 0});
    }
    return batch;
  }

  static void put_async(std::int64_t number, EventBatch& batch) {
    constexpr std::int64_t begin_batch = 8;
    const auto begin = [&batch](std::uint64_t id) {
      batch.async_begins.push_back({lane, load_name, batch.start_ns, id});
    };
    const auto end = [&batch](std::uint64_t id) {
      SpanEvent& span = batch.spans.emplace_back();
      span.track = lane;
      span.name = load_name;
      span.async_id = id;
      span.start_ns = begin_batch * frames_a_batch * frame_ns;
      span.duration_ns = batch.end_ns - span.start_ns;
      batch.start_ns = span.start_ns;
    };
    if (number == begin_batch) {
      for (const std::uint64_t id : {ends_in_missing_part, ends_after_missing_part, never_ends}) {
        begin(id);
      }
    } else if (number == 20) {
      end(ends_in_missing_part);
    } else if (number == 37) {
      end(ends_after_missing_part);
    } else if (number == 40) {
      begin(begins_after_missing_part);
    }
  }

  static Declarations declarations() {
    Declarations declared;
    declared.processes.emplace_back().id = ProcessId{1};
    declared.tracks = {{track, TrackKind::thread, ProcessId{1}, 4711, "main"},
                       {lane, TrackKind::async, ProcessId{1}, 0, "loads"},
                       {loader, TrackKind::thread, ProcessId{1}, 4712, "loader"}};
    declared.names = {{load_name, "load"}};
    declared.frame_streams = {{stream, ProcessId{1}, ""}};
    for (const auto& [id, name] :
         {std::pair(run_site, "run"), std::pair(frame_site, "frame"), std::pair(load_site, "load")}) {
      SiteDeclaration& site = declared.sites.emplace_back();
      site.id = id;
      site.name = name;
    }
    return declared;
  }

  static capture::CaptureWriterOptions options(std::unique_ptr<capture::BlockRing> ring) {
    capture::CaptureWriterOptions options;
    options.declarations = declarations();
    options.ring = std::move(ring);
    return options;
  }

  static std::unique_ptr<capture::BlockRing> ring(const char* spool_id = "", const std::string& directory = {}) {
    capture::BlockRingOptions options;
    options.spool_id = spool_id;
    options.directory = directory;
    options.capacity_bytes = 1 << 20;
    options.duration = std::chrono::milliseconds(20);
    return std::make_unique<capture::BlockRing>(options);
  }

  static std::vector<std::byte> capture() {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), options(ring()));
    for (std::int64_t number = 0; number < 42; ++number) {
      writer.write(batch(number));
      if (number == 9 || number == 39) {
        writer.write_held();
      }
    }
    writer.finish();
    return std::move(*bytes);
  }
};

}  // namespace kymo::test
