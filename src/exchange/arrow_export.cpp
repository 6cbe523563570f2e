// Captures as Arrow streams: spans, frames and metrics, block after block.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <kymo/arrow.hpp>
#include <kymo/timeline.hpp>

#include "base/text.hpp"
#include "exchange/arrow_table.hpp"
#include "exchange/json_text.hpp"
#include "timeline/span_builder.hpp"
#include "timeline/timeline_implementation.hpp"

namespace kymo {
namespace {

using exchange::ArrowColumn;
using exchange::ArrowDictionary;

/// One table of a timeline, batch by batch.
class ArrowRows {
 public:
  explicit ArrowRows(const Timeline& timeline, BatchParts parts) : timeline_(timeline), cursor_(timeline, {}, parts) {}
  ArrowRows(const ArrowRows&) = delete;
  ArrowRows& operator=(const ArrowRows&) = delete;
  virtual ~ArrowRows() = default;

  [[nodiscard]] const std::vector<ArrowColumn>& columns() const { return columns_; }

  /// Fills in a batch that is not empty; false at the end.
  bool next(ArrowArray& array) {
    EventBatch batch;
    while (columns_.front().size() == 0 && !has_ended_) {
      if (cursor_.next(batch)) {
        take(batch, cursor_.source());
      } else {
        has_ended_ = true;
        end();
      }
    }
    if (columns_.front().size() == 0) {
      return false;
    }
    exchange::make_batch(columns_, array);
    return true;
  }

 protected:
  virtual void take(const EventBatch& batch, std::size_t source) = 0;
  virtual void end() {}

  /// Index into Timeline::processes().
  [[nodiscard]] static std::uint32_t index_of(ProcessId process) { return process == 0 ? 0 : process - 1; }

  const Timeline& timeline_;          // NOLINT(readability-identifier-naming)
  std::vector<ArrowColumn> columns_;  // NOLINT(readability-identifier-naming)

 private:
  timeline::BatchCursor cursor_;
  bool has_ended_ = false;
};

/// The numbers of declared things' texts; the last one is for what was not declared.
template <typename Declarations, typename TextOf>
std::vector<std::uint32_t> number_texts(const Declarations& declarations, ArrowDictionary& dictionary,
                                        TextOf&& text_of) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(declarations.size() + 1);
  for (const auto& declaration : declarations) {
    numbers.push_back(dictionary.add(text_of(declaration)));
  }
  numbers.push_back(dictionary.add("(undeclared)"));
  return numbers;
}

std::uint32_t number_of(const std::vector<std::uint32_t>& numbers, std::uint32_t id) {
  return numbers[std::min<std::size_t>(id - std::size_t{1}, numbers.size() - 1)];
}

class SpanRows final : public ArrowRows {
 public:
  explicit SpanRows(const Timeline& timeline)
      : ArrowRows(timeline, BatchParts::everything), builders_(timeline.capture_count()) {
    const Declarations& declared = timeline.declarations();
    const auto tracks = std::make_shared<ArrowDictionary>();
    const auto kinds = std::make_shared<ArrowDictionary>();
    const auto names = std::make_shared<ArrowDictionary>();
    tracks_ = number_texts(declared.tracks, *tracks, [](const TrackDeclaration& track) { return track.name; });
    for (const char* const kind : {"thread", "async", "queue"}) {
      kinds->add(kind);
    }
    sites_ = number_texts(declared.sites, *names, [](const SiteDeclaration& site) { return site.name; });
    names_ = number_texts(declared.names, *names, [](const NameDeclaration& name) { return name.text; });
    for (const NameDeclaration& name : declared.names) {
      std::string& key = keys_.emplace_back();
      exchange::append_json_string(key, name.text);
    }
    columns_.emplace_back("process", "I");
    columns_.emplace_back("track", "I", false, tracks);
    columns_.emplace_back("kind", "I", false, kinds);
    columns_.emplace_back("name", "I", false, names);
    columns_.emplace_back("category", "I", true, names);
    columns_.emplace_back("start_ns", "l");
    columns_.emplace_back("duration_ns", "l");
    columns_.emplace_back("self_ns", "l");
    columns_.emplace_back("depth", "S");
    columns_.emplace_back("flags", "S");
    columns_.emplace_back("async_id", "L");
    columns_.emplace_back("arguments", "u", true);
  }

 private:
  void take(const EventBatch& batch, std::size_t source) override {
    std::map<TrackId, timeline::SpanBuilder>& builders = builders_[source];
    list_.clear();
    for (const ScopeRun& run : batch.runs) {
      builders.try_emplace(run.track, run.track).first->second.take(run, batch.text, list_);
    }
    timeline::append_span_events(batch, 0, list_);
    add_rows();
  }

  void end() override {
    list_ = timeline_.open_spans();
    add_rows();
  }

  void add_rows() {
    for (const Span& span : list_.spans) {
      const TrackDeclaration& track = timeline_.track(span.track);
      columns_[0].add(index_of(track.process));
      columns_[1].add(number_of(tracks_, span.track));
      columns_[2].add(std::min(static_cast<std::uint32_t>(track.kind), 2U));
      columns_[3].add(span.site != 0 ? number_of(sites_, span.site) : number_of(names_, span.name));
      if (span.category != 0) {
        columns_[4].add(number_of(names_, span.category));
      } else {
        columns_[4].add_null<std::uint32_t>();
      }
      columns_[5].add(span.start_ns);
      columns_[6].add(span.duration_ns);
      columns_[7].add(span.self_ns);
      columns_[8].add(span.depth);
      columns_[9].add(span.flags);
      columns_[10].add(span.async_id);
      if (span.argument_count == 0) {
        columns_[11].add_null_text();
      } else {
        columns_[11].add_text(arguments_of(span));
      }
    }
  }

  const std::string& arguments_of(const Span& span) {
    text_ = "{";
    for (std::uint32_t i = 0; i < span.argument_count; ++i) {
      const ArgumentValue& value = list_.arguments[span.first_argument + i];
      text_ += i == 0 ? "" : ",";
      text_ += value.name != 0 && value.name <= keys_.size() ? keys_[value.name - std::size_t{1}] : "\"(undeclared)\"";
      text_ += ':';
      append_value(value);
    }
    return text_ += '}';
  }

  void append_value(const ArgumentValue& value) {
    double number = 0;
    switch (value.type) {
      case ArgumentType::int64:
        exchange::append_json_integer(text_, static_cast<std::int64_t>(value.bits));
        return;
      case ArgumentType::uint64:
        exchange::append_json_integer(text_, value.bits);
        return;
      case ArgumentType::boolean:
        text_ += value.bits != 0 ? "true" : "false";
        return;
      case ArgumentType::float64:
        std::memcpy(&number, &value.bits, sizeof number);
        if (!exchange::append_json_number(text_, number)) {
          text_ += "null";
        }
        return;
      case ArgumentType::string:
        text_ += '"';
        exchange::append_json_text(text_, list_.text_of(value));
        text_ += value.is_cut ? base::cut_mark : "";
        text_ += '"';
        return;
    }
    text_ += "null";
  }

  std::vector<std::map<TrackId, timeline::SpanBuilder>> builders_;  ///< of each capture
  SpanList list_;
  std::string text_;
  std::vector<std::uint32_t> tracks_;
  std::vector<std::uint32_t> sites_;
  std::vector<std::uint32_t> names_;
  std::vector<std::string> keys_;  ///< names as JSON
};

class FrameRows final : public ArrowRows {
 public:
  explicit FrameRows(const Timeline& timeline) : ArrowRows(timeline, BatchParts::everything) {
    const auto streams = std::make_shared<ArrowDictionary>();
    streams_ = number_texts(timeline.declarations().frame_streams, *streams,
                            [](const FrameStreamDeclaration& stream) { return stream.name; });
    columns_.emplace_back("process", "I");
    columns_.emplace_back("stream", "I", false, streams);
    columns_.emplace_back("number", "L");
    columns_.emplace_back("start_ns", "l");
    columns_.emplace_back("duration_ns", "l");
  }

 private:
  struct Running {
    std::uint64_t number = 0;
    std::int64_t start_ns = 0;
  };

  void take(const EventBatch& batch, std::size_t /*source*/) override {
    for (const FrameMark& mark : batch.frame_marks) {
      Running& running = running_[mark.stream];
      if (running.number != 0 && mark.time_ns < running.start_ns) {
        continue;
      }
      if (running.number != 0) {
        columns_[0].add(index_of(timeline_.frame_stream(mark.stream).process));
        columns_[1].add(number_of(streams_, mark.stream));
        columns_[2].add(running.number);
        columns_[3].add(running.start_ns);
        columns_[4].add(mark.time_ns - running.start_ns);
      }
      ++running.number;
      running.start_ns = mark.time_ns;
    }
  }

  std::vector<std::uint32_t> streams_;
  std::map<FrameStreamId, Running> running_;
};

class MetricRows final : public ArrowRows {
 public:
  explicit MetricRows(const Timeline& timeline) : ArrowRows(timeline, BatchParts::everything) {
    const std::vector<MetricDeclaration>& declared = timeline.declarations().metrics;
    const auto names = std::make_shared<ArrowDictionary>();
    const auto units = std::make_shared<ArrowDictionary>();
    const auto labels = std::make_shared<ArrowDictionary>();
    names_ = number_texts(declared, *names, [](const MetricDeclaration& metric) { return metric.name; });
    units_ = number_texts(declared, *units, [](const MetricDeclaration& metric) { return metric.unit; });
    labels_ = number_texts(declared, *labels, [](const MetricDeclaration& metric) {
      std::string text;
      for (const auto& [key, value] : metric.labels) {
        text.append(text.empty() ? "" : ", ").append(key).append("=").append(value);
      }
      return text;
    });
    columns_.emplace_back("process", "I");
    columns_.emplace_back("name", "I", false, names);
    columns_.emplace_back("unit", "I", false, units);
    columns_.emplace_back("labels", "I", false, labels);
    columns_.emplace_back("time_ns", "l");
    columns_.emplace_back("value", "g", true);
    columns_.emplace_back("stale", "b");
  }

 private:
  void take(const EventBatch& batch, std::size_t /*source*/) override {
    for (const SampleRun& run : batch.samples) {
      const std::uint32_t process = index_of(timeline_.metric(run.metric).process);
      for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
        columns_[0].add(process);
        columns_[1].add(number_of(names_, run.metric));
        columns_[2].add(number_of(units_, run.metric));
        columns_[3].add(number_of(labels_, run.metric));
        columns_[4].add(run.times_ns[i]);
        if (std::isnan(run.values[i])) {
          columns_[5].add_null<double>();
        } else {
          columns_[5].add(run.values[i]);
        }
        columns_[6].add_boolean(i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0);
      }
    }
  }

  std::vector<std::uint32_t> names_;
  std::vector<std::uint32_t> units_;
  std::vector<std::uint32_t> labels_;
};

/// What a stream points to.
struct StreamData {
  StreamData(const std::vector<std::string>& captures, ArrowTable table) : timeline(captures) {
    switch (table) {
      case ArrowTable::spans:
        rows = std::make_unique<SpanRows>(timeline);
        break;
      case ArrowTable::frames:
        rows = std::make_unique<FrameRows>(timeline);
        break;
      case ArrowTable::metrics:
        rows = std::make_unique<MetricRows>(timeline);
        break;
    }
    if (!rows) {
      throw std::invalid_argument("an Arrow table is spans (0), frames (1) or metrics (2)");
    }
  }

  Timeline timeline;
  std::unique_ptr<ArrowRows> rows;
  std::string error;
};

/// Runs a callback's body; what it throws becomes an errno value and the stream's last error.
template <typename Body>
int guarded(ArrowArrayStream* stream, Body&& body) noexcept {
  StreamData& data = *static_cast<StreamData*>(stream->private_data);
  try {
    data.error.clear();
    body(data);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& error) {
    data.error = error.what();
    return EIO;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
  return guarded(stream, [schema](StreamData& data) { exchange::make_batch_schema(data.rows->columns(), *schema); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* array) {
  *array = {};
  // At the end the array stays released.
  return guarded(stream, [array](StreamData& data) { data.rows->next(*array); });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = static_cast<StreamData*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamData*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

}  // namespace

void open_arrow_stream(const std::vector<std::string>& captures, ArrowTable table, ArrowArrayStream* stream) {
  auto data = std::make_unique<StreamData>(captures, table);
  *stream = {};
  stream->get_schema = get_schema;
  stream->get_next = get_next;
  stream->get_last_error = get_last_error;
  stream->release = release_stream;
  stream->private_data = data.release();
}

}  // namespace kymo

int kymo_open_arrow_stream_v1(const char* const* captures, std::size_t capture_count, int table,
                              struct ArrowArrayStream* stream, char* error, std::size_t error_size) {
  const auto fail = [error, error_size](int number, const char* what) {
    if (error != nullptr && error_size > 0) {
      const std::size_t size = kymo::base::cut_text(what, error_size - 1).size();
      std::memcpy(error, what, size);
      error[size] = '\0';
    }
    return number;
  };
  *stream = {};
  try {
    if (table < 0 || table > 2) {
      return fail(EINVAL, "an Arrow table is spans (0), frames (1) or metrics (2)");
    }
    kymo::open_arrow_stream({captures, captures + capture_count}, static_cast<kymo::ArrowTable>(table), stream);
    return 0;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM, "not enough memory");
  } catch (const std::exception& exception) {
    return fail(EIO, exception.what());
  }
}
