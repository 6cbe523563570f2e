// What a test records of GPU scopes, as it comes out of the recorder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <kymo/kymo.hpp>

#include "support/memory_sink.hpp"

namespace kymo::test {

/// How far mapped times may lie outside of a fence of the CPU's around them, their bound aside.
inline constexpr std::int64_t fence_ns = 20'000;

/// A span of a GPU's track.
struct GpuSpan {
  std::string track;
  std::string name;
  std::string category;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::map<std::string, std::string> arguments;  ///< as text

  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
  [[nodiscard]] std::int64_t number(const std::string& argument) const {
    const auto found = arguments.find(argument);
    return found == arguments.end() ? -1 : std::stoll(found->second);
  }
};

/// Records into memory while it lives.
class GpuRecording {
 public:
  GpuRecording() : guard_(install(sink_)) {}

  /// Nothing is recorded from here on.
  void stop() { guard_.remove(); }

  /// Spans that were handed in, in that order.
  [[nodiscard]] std::vector<GpuSpan> spans() const {
    const std::vector<EventBatch> batches = drained();
    std::vector<GpuSpan> spans;
    for (const EventBatch& batch : batches) {
      for (const SpanEvent& event : batch.spans) {
        GpuSpan span;
        span.track = track_name(batches, event.track);
        span.name = text_name(batches, event.name);
        span.category = text_name(batches, event.category);
        span.start_ns = event.start_ns;
        span.duration_ns = event.duration_ns;
        for (std::uint32_t i = 0; i < event.argument_count; ++i) {
          const ArgumentValue& value = batch.span_arguments[event.first_argument + i];
          span.arguments[text_name(batches, value.name)] = value.type == ArgumentType::string
                                                               ? batch.text.substr(value.bits, value.text_size)
                                                               : std::to_string(static_cast<std::int64_t>(value.bits));
        }
        spans.push_back(span);
      }
    }
    return spans;
  }
  [[nodiscard]] std::vector<FlowEvent> flows() const {
    std::vector<FlowEvent> flows;
    for (const EventBatch& batch : drained()) {
      flows.insert(flows.end(), batch.flows.begin(), batch.flows.end());
    }
    return flows;
  }
  [[nodiscard]] std::vector<SeenScope> scopes() const { return closed_scopes(drained()); }
  [[nodiscard]] std::vector<EventBatch> drained() const {
    static_cast<void>(flush());
    return sink_->batches();
  }

 private:
  std::shared_ptr<MemorySink> sink_ = std::make_shared<MemorySink>();
  SinkGuard guard_;
};

inline std::vector<GpuSpan> named(const std::vector<GpuSpan>& spans, const std::string& name) {
  std::vector<GpuSpan> found;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(found),
               [&name](const GpuSpan& span) { return span.name == name; });
  return found;
}

}  // namespace kymo::test
