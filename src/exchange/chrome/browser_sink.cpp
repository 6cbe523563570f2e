// Sink that shows spans on the browser's timeline. Every batch becomes one JavaScript call with the spans as JSON.
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <emscripten/emscripten.h>

#include <kymo/browser_sink.hpp>
#include <kymo/sink.hpp>

#include "base/system/message.hpp"
#include "base/text/json_text.hpp"
#include "capture/summary/frame_walk.hpp"
#include "capture/summary/scope_walk.hpp"
#include "exchange/chrome/arguments.hpp"
#include "exchange/common/span_lanes.hpp"

// How many milliseconds the program's clock is ahead of performance.now(). 0 if both are the same clock.
EM_JS(double, kymo_timeline_offset, (double now_ms), {
  var offset = now_ms - performance.now();
  return Math.abs(offset) < 1000 ? 0 : offset;
});

// Returns how many spans the browser accepted. Keeps the names so that only the sink's own measures are cleared.
EM_JS(int, kymo_measure, (const char* text, int size, int most_entries, double offset_ms), {
  var spans = JSON.parse(new TextDecoder().decode(HEAPU8.slice(text, text + size)));
  var state = Module['kymoTimeline'] || (Module['kymoTimeline'] = {names : new Set(), entries : 0});
  if (state.entries + spans.length > most_entries) {
    state.names.forEach(function(name) { performance.clearMeasures(name); });
    state.names.clear();
    state.entries = 0;
  }
  var taken = 0;
  spans.forEach(function(span) {
    var given = span['args'] || {};
    var properties = Object.keys(given).map(function(key) { return [ key, String(given[key]) ]; });
    try {
      performance.measure(span['name'], {
        'start' : Math.max(0, span['start'] / 1000 - offset_ms),
        'end' : Math.max(0, span['end'] / 1000 - offset_ms),
        'detail' : {
          'track' : span['track'],
          'arguments' : given,
          'devtools' :
              {'dataType' : 'track-entry', 'track' : span['track'], 'trackGroup' : 'kymo', 'properties' : properties}
        }
      });
      state.names.add(span['name']);
      taken += 1;
    } catch (refused) {
    }
  });
  state.entries += taken;
  return taken;
});

namespace kymo {

namespace {

using Names = std::unordered_map<std::uint32_t, std::string>;  // as JSON text without quotes

template <typename AnyId>
void put_name(Names& names, AnyId id, const std::string& name) {
  std::string text;
  base::append_json_text(text, name);
  names[id.value()] = std::move(text);
}

template <typename AnyId>
const std::string& name_of(const Names& names, AnyId id) {
  static const std::string unknown = "?";
  const auto found = names.find(id.value());
  return found != names.end() ? found->second : unknown;
}

/// A span that has ended. Its texts live until the batch is written.
struct Measure {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  const std::string* name = nullptr;
  const std::string* track = nullptr;
  std::size_t arguments_begin = 0;  ///< in the batch's argument text
  std::size_t arguments_size = 0;

  [[nodiscard]] std::int64_t duration_ns() const { return end_ns - start_ns; }
};

/// The open scopes of one track.
struct OpenTrack {
  capture::ScopeWalk walk;
  exchange::OpenArguments arguments;
};

}  // namespace

class BrowserSink::Implementation final : public Sink, public std::enable_shared_from_this<Implementation> {
 public:
  explicit Implementation(const BrowserSinkOptions& options) : options_(options) {}

  [[nodiscard]] SinkGuard install_once() {
    if (is_installed_) {
      base::say("this BrowserSink is installed already");
      return SinkGuard();
    }
    offset_ms_ = kymo_timeline_offset(emscripten_get_now());
    allowance_ = options_.most_per_second;
    return Sink::install(shared_from_this());
  }

  void write(const EventBatch& batch) override {
    is_installed_ = true;
    declare(batch.declarations);
    measures_.clear();
    arguments_text_.clear();
    for (const ScopeRun& run : batch.runs) {
      take_run(run, batch);
    }
    for (const SpanEvent& span : batch.spans) {
      take_span(span, batch);
    }
    for (const FrameMark& mark : batch.frame_marks) {
      take_frame(mark);
    }
    hand_over(batch);
  }

  /// Resets the sink so that it can be installed again, which sends all declarations again.
  void finish() override {
    sites_.clear();
    names_.clear();
    tracks_.clear();
    streams_.clear();
    open_tracks_.clear();
    frames_.clear();
    last_batch_ns_ = 0;
    is_installed_ = false;
  }

  [[nodiscard]] const BrowserSinkCounts& counts() const { return counts_; }

 private:
  /// Creates a measure for each scope that a walk reports as ended.
  struct RunVisitor {
    Implementation& sink;
    OpenTrack& track;
    const ScopeRun& run;
    const EventBatch& batch;
    const std::string& track_name;
    std::size_t next_argument = 0;

    /// Arguments up to a position belong to the innermost scope there.
    void give_arguments(std::size_t position) {
      while (next_argument < run.arguments.size() && run.arguments[next_argument].position <= position) {
        const ArgumentValue& value = run.arguments[next_argument++].value;
        if (track.walk.depth() > 0) {
          track.arguments.add(track.walk.depth() - 1, name_of(sink.names_, value.name), value, batch.text);
        }
      }
    }

    void reach(std::size_t position, const ScopeEvent& /*event*/) { give_arguments(position); }
    void begin(const OpenScope& /*scope*/, std::size_t /*depth*/) {}
    void end(const OpenScope& scope, std::size_t depth, std::int64_t end_ns, capture::ScopeEnding /*how*/) {
      const std::size_t begin = sink.arguments_text_.size();
      track.arguments.take(depth, sink.arguments_text_);
      sink.measures_.push_back({scope.start_ns, end_ns, &name_of(sink.sites_, scope.site), &track_name, begin,
                                sink.arguments_text_.size() - begin});
    }
  };

  void declare(const Declarations& declarations) {
    for (const SiteDeclaration& site : declarations.sites) {
      put_name(sites_, site.id, site.name);
    }
    for (const NameDeclaration& name : declarations.names) {
      put_name(names_, name.id, name.text);
    }
    for (const TrackDeclaration& track : declarations.tracks) {
      put_name(tracks_, track.id, track.name);
    }
    for (const FrameStreamDeclaration& stream : declarations.frame_streams) {
      put_name(streams_, stream.id, stream.name.empty() ? "frames" : stream.name);
    }
  }

  void take_run(const ScopeRun& run, const EventBatch& batch) {
    OpenTrack& track = open_tracks_[run.track];
    RunVisitor visitor{*this, track, run, batch, name_of(tracks_, run.track)};
    track.walk.take(run, visitor);
    visitor.give_arguments(run.events.size());
  }

  void take_span(const SpanEvent& span, const EventBatch& batch) {
    const std::size_t begin = arguments_text_.size();
    for (const ArgumentValue& value : exchange::arguments_of(span, batch)) {
      span_arguments_.add(0, name_of(names_, value.name), value, batch.text);
    }
    span_arguments_.take(0, arguments_text_);
    measures_.push_back({span.start_ns, span.start_ns + span.duration_ns, &name_of(names_, span.name),
                         &name_of(tracks_, span.track), begin, arguments_text_.size() - begin});
  }

  void take_frame(const FrameMark& mark) {
    static const std::string name = "frame";
    capture::FrameWalk& walk = frames_[mark.stream];
    if (walk.take(mark)) {
      measures_.push_back({walk.start_ns(), walk.mark_ns(), &name, &name_of(streams_, mark.stream), 0, 0});
    }
  }

  /// How many measures may be created at this time.
  [[nodiscard]] std::size_t take_allowance(std::int64_t now_ns) {
    if (last_batch_ns_ != 0 && now_ns > last_batch_ns_) {
      allowance_ += static_cast<double>(now_ns - last_batch_ns_) * 1e-9 * options_.most_per_second;
    }
    last_batch_ns_ = std::max(last_batch_ns_, now_ns);
    allowance_ = std::min<double>(allowance_, options_.most_per_second);
    const std::size_t count = std::min({measures_.size(), static_cast<std::size_t>(allowance_), options_.most_entries});
    allowance_ -= static_cast<double>(count);
    return count;
  }

  void append(const Measure& measure) {
    json_ += json_.empty() ? "[" : ",";
    json_.append("{\"name\":\"").append(*measure.name).append("\",\"track\":\"").append(*measure.track);
    json_ += "\",\"start\":";
    base::append_microseconds(json_, measure.start_ns);
    json_ += ",\"end\":";
    base::append_microseconds(json_, measure.end_ns);
    json_.append(arguments_text_, measure.arguments_begin, measure.arguments_size).append("}");
  }

  void append_left_out(const EventBatch& batch, std::size_t count) {
    if (count != 0) {
      static const std::string name = "spans left out";
      static const std::string track = "kymo";
      const std::size_t begin = arguments_text_.size();
      arguments_text_.append(",\"args\":{\"count\":").append(std::to_string(count)).append("}");
      append({batch.start_ns, batch.end_ns, &name, &track, begin, arguments_text_.size() - begin});
    }
  }

  void hand_over(const EventBatch& batch) {
    const std::size_t count = take_allowance(batch.end_ns);
    const std::size_t left_out = measures_.size() - count;
    if (left_out != 0) {
      const auto kept_end = measures_.begin() + static_cast<std::ptrdiff_t>(count);
      std::nth_element(measures_.begin(), kept_end, measures_.end(),
                       [](const Measure& a, const Measure& b) { return a.duration_ns() > b.duration_ns(); });
      measures_.resize(count);
    }
    // Outer ones first: a timeline nests spans with equal times in this order.
    std::sort(measures_.begin(), measures_.end(), [](const Measure& a, const Measure& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    json_.clear();
    for (const Measure& measure : measures_) {
      append(measure);
    }
    append_left_out(batch, left_out);
    if (!json_.empty()) {
      json_ += "]";
      const std::size_t notes = left_out != 0 ? 1 : 0;
      const auto taken = static_cast<std::size_t>(kymo_measure(json_.data(), static_cast<int>(json_.size()),
                                                               static_cast<int>(options_.most_entries), offset_ms_));
      const std::size_t measured = std::min(count, taken > notes ? taken - notes : 0);
      counts_.measured += measured;
      counts_.dropped += left_out + count - measured;
    }
  }

  BrowserSinkOptions options_;
  BrowserSinkCounts counts_;
  bool is_installed_ = false;
  double offset_ms_ = 0;
  double allowance_ = 0;
  std::int64_t last_batch_ns_ = 0;
  Names sites_;
  Names names_;
  Names tracks_;
  Names streams_;
  std::unordered_map<TrackId, OpenTrack> open_tracks_;
  std::unordered_map<FrameStreamId, capture::FrameWalk> frames_;
  exchange::OpenArguments span_arguments_;
  std::vector<Measure> measures_;
  std::string arguments_text_;
  std::string json_;
};

BrowserSink::BrowserSink(const BrowserSinkOptions& options)
    : implementation_(std::make_shared<Implementation>(options)) {}

SinkGuard BrowserSink::install() const noexcept {
  return implementation_->install_once();
}

BrowserSinkCounts BrowserSink::counts() const noexcept {
  return implementation_->counts();
}

}  // namespace kymo
