// Spans as texts, so that a set of them can be compared and a difference read.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "recording_model.hpp"

namespace kymo::test {

inline std::string text_of(const TrueSpan& span, bool with_arguments) {
  std::string text = span.track + "/" + span.name + " @" + std::to_string(span.start_ns) + ".." +
                     std::to_string(span.end_ns) + " depth " + std::to_string(span.depth) +
                     (span.is_open ? " open" : "") + (span.is_unbalanced ? " unbalanced" : "");
  if (with_arguments) {
    for (const std::string& argument : span.arguments) {
      text += " " + argument;
    }
  }
  return text;
}

inline TrueSpan to_true(const Timeline& timeline, const SpanList& list, const Span& span) {
  TrueSpan result;
  result.track = timeline.track(span.track).name;
  result.name = std::string(timeline.name_of(span));
  result.start_ns = span.start_ns;
  result.end_ns = span.end_ns();
  result.self_ns = span.self_ns;
  result.depth = span.depth;
  result.is_open = (span.flags & Span::open) != 0;
  result.is_unbalanced = (span.flags & Span::unbalanced) != 0;
  for (std::uint32_t i = 0; i < span.argument_count; ++i) {
    const ArgumentValue& value = list.arguments[span.first_argument + i];
    const std::string content =
        value.type == ArgumentType::string ? std::string(list.text_of(value)) : std::to_string(value.bits);
    result.arguments.push_back(std::string(timeline.name(value.name)) + "=" + content);
  }
  return result;
}

inline std::vector<std::string> texts_of(const std::vector<TrueSpan>& spans, bool with_arguments) {
  std::vector<std::string> texts;
  for (const TrueSpan& span : spans) {
    texts.push_back(text_of(span, with_arguments));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

inline std::vector<TrueSpan> to_true(const Timeline& timeline, const SpanList& list) {
  std::vector<TrueSpan> spans;
  for (const Span& span : list.spans) {
    spans.push_back(to_true(timeline, list, span));
  }
  return spans;
}

/// The track of that name; 0 where there is none.
inline TrackId find_track(const Timeline& timeline, const std::string& name) {
  for (const TrackDeclaration& track : timeline.tracks()) {
    if (track.name == name) {
      return track.id;
    }
  }
  return TrackId{};
}

}  // namespace kymo::test
