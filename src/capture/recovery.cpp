#include "capture/recovery.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/file.hpp"
#include "capture/block_ring.hpp"
#include "capture/capture_writer.hpp"
#include "capture/codec.hpp"
#include "capture/scope_matcher.hpp"

namespace kymo::capture {

namespace {

/// Takes the scope events of a run, of which only what stays open matters.
void follow(const ScopeRun& run, TrackResume& resume) {
  resume.end_sequence = std::max(resume.end_sequence, run.end_sequence);
  resume.open = run.open_at_start;
  for (const ScopeEvent& event : run.events) {
    resume.last_ns = event.time_ns;
    if (event.is_open()) {
      resume.open.push_back({event.time_ns, event.site});
    } else if (event.depth < resume.open.size()) {
      resume.open.resize(event.depth);
    }
  }
}

void follow_async(const EventBatch& batch, record::OpenAsyncSpans& open) {
  for (const AsyncBegin& begin : batch.async_begins) {
    open[begin.async_id] = {begin.track, begin.name, begin.time_ns, {}, {}};
  }
  for (const SpanEvent& span : batch.spans) {
    open.erase(span.async_id);
  }
}

/// Takes the events of a capture into account, and hands each batch on.
void extend(CaptureCoverage& coverage, const CaptureReader& capture,
            const std::function<void(const EventBatch&)>& on_batch) {
  EventBatch batch;
  for (const BlockInfo& block : capture.blocks()) {
    if (block.kind != BlockKind::events || !capture.read(block, batch)) {
      continue;
    }
    // A batch names every track with open scopes: one that is not in it has none.
    for (auto& [track, resume] : coverage.tracks) {
      resume.open.clear();
    }
    for (const ScopeRun& run : batch.runs) {
      follow(run, coverage.tracks[run.track]);
    }
    follow_async(batch, coverage.open_async);
    on_batch(batch);
  }
}

/// A flight recorder's blocks, as a capture of their own.
std::vector<std::byte> read_ring_as_capture(const std::string& spool_id, const std::string& directory) {
  std::vector<std::byte> bytes;
  const auto preamble = encode_preamble();
  bytes.assign(preamble.begin(), preamble.end());
  for (const std::vector<std::byte>& block : read_block_ring(spool_id, directory)) {
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  return bytes;
}

std::optional<SpoolReader> open_spool(const CaptureReader& capture, const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::optional<SpoolReader> spool = file ? SpoolReader::read(file.get()) : std::nullopt;
  if (spool && spool->id() != capture.header().spool_id) {
    return std::nullopt;
  }
  return spool;
}

}  // namespace

CaptureCoverage cover_capture(const CaptureReader& capture) {
  CaptureCoverage coverage;
  extend(coverage, capture, [](const EventBatch&) {});
  return coverage;
}

std::vector<std::string> read_unwritten(const CaptureReader& capture,
                                        const std::function<void(const EventBatch&)>& on_batch,
                                        const std::string& spool_directory) {
  const std::string path = capture.is_closed() ? std::string() : find_spool(capture.header().spool_id, spool_directory);
  if (path.empty() || has_living_owner(path)) {
    return {};
  }
  const std::optional<SpoolReader> spool = open_spool(capture, path);
  if (!spool) {
    return {"the spool " + path + " cannot be read or belongs to another capture"};
  }
  CaptureCoverage coverage = cover_capture(capture);
  const std::vector<std::byte> ring = read_ring_as_capture(capture.header().spool_id, spool_directory);
  extend(coverage, CaptureReader(ring.data(), ring.size(), "flight recorder"), on_batch);
  return spool->decode(std::move(coverage), on_batch);
}

RecoveryReport recover(const std::string& capture_path, const RecoverOptions& options) {
  const CaptureReader capture(capture_path);
  RecoveryReport report;
  report.output = options.output.empty() ? capture_path : options.output;
  report.was_closed = capture.is_closed();
  const std::string spool_path = find_spool(capture.header().spool_id, options.spool_directory);
  if (!report.was_closed && !spool_path.empty() && has_living_owner(spool_path)) {
    throw RecoveryError(capture_path + ": its process (" + std::to_string(capture.header().owner_pid) +
                        ") is still running and goes on writing it; wait for its end");
  }
  if (report.was_closed && options.output.empty()) {
    // Killed after the capture was closed and before its spool was deleted.
    if (!spool_path.empty() && !has_living_owner(spool_path) && !options.keeps_spool) {
      ::unlink(spool_path.c_str());
    }
    return report;
  }
  CaptureWriterOptions writer_options;
  writer_options.header = capture.header();
  writer_options.header.owner_pid = 0;
  writer_options.header.spool_id.clear();
  writer_options.declarations = capture.declarations();
  writer_options.codec = make_zstd_codec(options.compression_level);
  const std::string partial = report.output + ".recovering";
  ::unlink(partial.c_str());
  CaptureWriter writer(partial, std::move(writer_options));
  bool has_gaps = false;
  try {
    EventBatch batch;
    std::uint64_t done = 0;
    for (const BlockInfo& block : capture.blocks()) {
      if (block.kind == BlockKind::events && capture.read(block, batch)) {
        writer.write(batch);
      }
      if (options.on_progress) {
        options.on_progress(++done, capture.blocks().size());
      }
    }
    const auto take = [&](const EventBatch& unwritten) {
      writer.write(unwritten);
      ++report.recovered_batches;
      for (const ScopeRun& run : unwritten.runs) {
        report.recovered_scope_events += run.events.size();
      }
    };
    report.notes = read_unwritten(capture, take, options.spool_directory);
    has_gaps = !report.notes.empty();
    writer.finish();
    writer.sync();
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  for (const Damage& damage : capture.damages()) {
    // A block that the kill cut off: its chunks were not given back, so that the spool has all of it.
    const bool is_torn_end = damage.offset + damage.size >= capture.size_bytes();
    if (is_torn_end && report.recovered_batches != 0 && !has_gaps) {
      continue;
    }
    report.notes.push_back(capture_path + ": bytes " + std::to_string(damage.offset) + " to " +
                           std::to_string(damage.offset + damage.size) + ": " + damage.what);
  }
  if (std::rename(partial.c_str(), report.output.c_str()) != 0) {
    const int error = errno;
    ::unlink(partial.c_str());
    throw WriteError(base::describe_errno("cannot rename the recovered capture to", report.output, error));
  }
  if (!spool_path.empty() && !options.keeps_spool) {
    ::unlink(spool_path.c_str());
    ::unlink(block_ring_path(capture.header().spool_id, options.spool_directory).c_str());
  }
  return report;
}

}  // namespace kymo::capture
