// Chrome traces in, what is in their captures out.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <kymo/import.hpp>
#include <kymo/timeline.hpp>

#include "support/temporary_directory.hpp"

namespace kymo::test {

/// Imports a trace and opens the capture.
class Imported {
 public:
  explicit Imported(std::string_view trace, const ImportOptions& options = {})
      : report(import(directory_ / "trace.json", trace, directory_ / "trace.kymo", options)), timeline(report.output) {}

  /// "main 10+5 outer (1)": track, start, duration, name, arguments, by track and start. Times in ns.
  [[nodiscard]] std::vector<std::string> spans() const {
    std::vector<std::string> texts;
    for (const TrackDeclaration& track : timeline.tracks()) {
      const SpanList list = timeline.spans(track.id);
      for (const Span& span : list.spans) {
        texts.push_back(track.name + ' ' + std::to_string(span.start_ns) + '+' + std::to_string(span.duration_ns) +
                        ' ' + std::string(timeline.name_of(span)) + arguments(list, span));
      }
    }
    return texts;
  }
  /// How many of the trace's parts are missing for a reason.
  [[nodiscard]] std::uint64_t lost(const std::string& what) const {
    for (const ImportLoss& loss : report.losses) {
      if (loss.what == what) {
        return loss.count;
      }
    }
    return 0;
  }

 private:
  static ImportReport import(const std::string& path, std::string_view trace, const std::string& capture,
                             const ImportOptions& options) {
    std::ofstream(path, std::ios::binary) << trace;
    return import_chrome_trace(path, capture, options);
  }

  [[nodiscard]] std::string arguments(const SpanList& list, const Span& span) const {
    std::string text;
    for (std::uint32_t i = 0; i < span.argument_count; ++i) {
      const ArgumentValue& value = list.arguments[span.first_argument + i];
      text += text.empty() ? " (" : ", ";
      text += std::string(timeline.name(value.name)) + '=';
      double number = 0;
      switch (value.type) {
        case ArgumentType::string:
          text += '"' + std::string(list.text_of(value)) + (value.is_cut ? "..." : "") + '"';
          break;
        case ArgumentType::float64:
          std::memcpy(&number, &value.bits, sizeof number);
          text += std::to_string(number);
          break;
        case ArgumentType::boolean:
          text += value.bits != 0 ? "true" : "false";
          break;
        case ArgumentType::int64:
          text += std::to_string(static_cast<std::int64_t>(value.bits));
          break;
        case ArgumentType::uint64:
          text += std::to_string(value.bits);
          break;
      }
    }
    return text.empty() ? text : text + ')';
  }

  TemporaryDirectory directory_;

 public:
  ImportReport report;
  Timeline timeline;
};

}  // namespace kymo::test
