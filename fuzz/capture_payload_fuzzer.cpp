// Payloads of all kinds of blocks, without the block around them. A decoded payload must encode, and decode to the same
// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include <kymo/capture.hpp>

#include "capture/format/batch_codec.hpp"
#include "capture/format/declarations_codec.hpp"
#include "capture/format/facts_codec.hpp"

namespace {

using namespace kymo;
using namespace kymo::capture;

constexpr std::int64_t start_ns = 1'000'000;
constexpr std::int64_t end_ns = 2'000'000;

void load_payload(std::span<const std::byte> bytes, BlockPayload& payload) {
  std::copy(bytes.begin(), bytes.end(), payload.resize(bytes.size()));
}

// A few numbers that characterize a batch, enough to detect a lost value.
std::uint64_t digest(const EventBatch& batch) {
  std::uint64_t sum = batch.text.size();
  const auto add = [&sum](std::uint64_t value) { sum = (sum ^ value) * 0x9E3779B97F4A7C15U; };
  for (const ScopeRun& run : batch.runs) {
    add(run.track.value());
    add(run.end_sequence);
    for (const ScopeEvent& event : run.events) {
      add(static_cast<std::uint64_t>(event.time_ns));
      add((std::uint64_t{event.site.value()} << 32U) | (std::uint64_t{event.depth} << 16U) | event.flags);
    }
    for (const ScopeArgument& argument : run.arguments) {
      add(argument.position);
      add(argument.value.bits);
    }
  }
  for (const SpanEvent& span : batch.spans) {
    add(static_cast<std::uint64_t>(span.start_ns));
    add(static_cast<std::uint64_t>(span.duration_ns));
    add(span.async_id);
  }
  for (const SampleRun& run : batch.samples) {
    for (const double value : run.values) {
      add(bits_of(value));
    }
  }
  for (const Message& message : batch.messages) {
    add(message.text.size());
    add(static_cast<std::uint64_t>(message.time_ns));
  }
  return sum;
}

void decode_as_events(const BlockPayload& payload) {
  EventBatch batch;
  try {
    decode_batch({payload.data(), payload.size()}, start_ns, end_ns, BatchParts::everything, batch);
  } catch (const DecodeError&) {
    return;
  }
  for (const Packing packing : {Packing::bits, Packing::planes}) {
    ByteBuffer raw;
    try {
      BatchEncoder(packing).encode(batch, raw);
    } catch (const std::length_error&) {
      return;
    }
    BlockPayload again;
    load_payload(raw.bytes(), again);
    EventBatch decoded;
    decode_batch({again.data(), again.size()}, start_ns, end_ns, BatchParts::everything, decoded);
    if (digest(decoded) != digest(batch)) {
      std::abort();
    }
  }
}

void decode_as_facts(const BlockPayload& payload) {
  Declarations declarations;
  CaptureHeader header;
  CaptureEnd end;
  IndexPage page;
  try {
    TableReader reader({payload.data(), payload.size()});
    TableView table;
    while (reader.next(table)) {
      static_cast<void>(decode_declarations(table, declarations) || decode_capture_header(table, header) ||
                        decode_capture_end(table, end) || decode_index(table, page));
    }
  } catch (const DecodeError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  BlockPayload payload;
  load_payload(std::as_bytes(std::span(data, size)), payload);
  decode_as_events(payload);
  decode_as_facts(payload);
  return 0;
}
