#include "exchange/tables/csv.hpp"

#include <cmath>
#include <initializer_list>
#include <map>
#include <unordered_map>

#include "base/text/escapes.hpp"
#include "base/text/json_text.hpp"
#include "base/text/plain_text.hpp"
#include "exchange/common/json_argument.hpp"
#include "exchange/common/timeline_batches.hpp"

namespace kymo::exchange {
namespace {

void append_marks(std::string& out, unsigned flags) {
  const char* separator = "";
  const auto append = [&](unsigned flag, const char* mark) {
    if ((flags & flag) != 0) {
      out.append(separator).append(mark);
      separator = " ";
    }
  };
  append(Span::unbalanced, "unbalanced");
  append(Span::open, "open");
  append(Span::end_unknown, "end_unknown");
  append(Span::self_is_bound, "self_is_bound");
}

/// Appends fields, each with the comma before it.
void append_number_fields(std::string& out, std::initializer_list<std::int64_t> numbers) {
  for (const std::int64_t number : numbers) {
    out += ',';
    base::append_json_integer(out, number);
  }
}

/// Appends a field with the comma before it.
void append_text_field(std::string& out, std::string_view text) {
  out += ',';
  append_csv_field(out, text);
}

/// Writes rows of spans. Caches the fields that are the same for all spans of a track or a site.
class CsvSpans {
 public:
  CsvSpans(const Timeline& timeline, base::OutputFile& file) : timeline_(timeline), file_(file) {}

  void write(const Span& span, const SpanList& list) {
    std::string& out = file_.buffer();
    const SiteFields& site = fields_of(span);
    out += head_of(span.track);
    out += ',';
    out += site.name;
    append_text_field(out, timeline_.name(span.category));
    append_number_fields(out, {span.start_ns, span.duration_ns, span.self_ns, span.depth});
    out += ',';
    if (span.async_id != 0) {
      base::append_json_integer(out, span.async_id);
    }
    out += ',';
    append_marks(out, span.flags);
    out += ',';
    append_arguments(out, span, list);
    out += site.place;
    out += '\n';
    file_.spill();
  }

 private:
  /// process,track,kind
  [[nodiscard]] const std::string& head_of(TrackId id) {
    std::string& head = heads_[id];
    if (head.empty()) {
      const TrackDeclaration& track = timeline_.track(id);
      base::append_json_integer(head, timeline_.process(track.process).declaration.pid);
      append_text_field(head, track.name);
      head.append(",").append(kymo::name_of(track.kind, track.role));
    }
    return head;
  }

  struct SiteFields {
    std::string name;
    std::string place;  // ,function,file,line,holder
  };

  [[nodiscard]] const SiteFields& fields_of(const Span& span) {
    if (!span.site) {
      siteless_.name.clear();
      append_csv_field(siteless_.name, timeline_.name_of(span));
      return siteless_;
    }
    const auto [place, is_new] = sites_.try_emplace(span.site);
    if (is_new) {
      const SiteDeclaration& site = timeline_.site(span.site);
      const bool is_wait = site.role == SiteRole::wait;
      SiteFields& fields = place->second;
      append_csv_field(fields.name, timeline_.name_of(span));
      append_text_field(fields.place, is_wait ? std::string_view() : site.function);
      append_text_field(fields.place, site.file);
      append_text_field(fields.place, site.line != 0 ? std::to_string(site.line) : std::string());
      // The site of a wait has the holder in place of the function.
      append_text_field(fields.place, is_wait ? site.function : std::string_view());
    }
    return place->second;
  }

  void append_arguments(std::string& out, const Span& span, const SpanList& list) {
    if (span.argument_count == 0) {
      return;
    }
    object_.clear();
    object_ += '{';
    for (std::uint32_t i = 0; i < span.argument_count; ++i) {
      const ArgumentValue& value = list.arguments[std::size_t{span.first_argument} + i];
      object_ += i == 0 ? "" : ",";
      base::append_json_string(object_, timeline_.name(value.name));
      object_ += ':';
      if (!append_json_argument(object_, value, list.text)) {
        object_ += "null";
      }
    }
    object_ += '}';
    append_csv_field(out, object_);
  }

  const Timeline& timeline_;
  base::OutputFile& file_;
  std::unordered_map<TrackId, std::string> heads_;
  std::unordered_map<SiteId, SiteFields> sites_;
  SiteFields siteless_{{}, ",,,,"};
  std::string object_;
};

}  // namespace

void append_csv_field(std::string& out, std::string_view text) {
  std::string plain;
  base::append_plain_text(plain, text, "\t\r\n");
  base::append_csv_field(out, plain);
}

std::vector<std::string> write_spans_csv(const Timeline& timeline, base::OutputFile file,
                                         const ExportRequest& request) {
  file.buffer() += spans_csv_header;
  CsvSpans rows(timeline, file);
  const auto write_rows = [&rows](const SpanList& list) {
    for (const Span& span : list.spans) {
      rows.write(span, list);
    }
    return true;
  };
  timeline.visit_spans(write_rows, request.on_progress);
  file.close();
  return {};
}

std::vector<std::string> write_frames_csv(const Timeline& timeline, base::OutputFile file,
                                          const ExportRequest& request) {
  file.buffer() += frames_csv_header;
  const auto& streams = timeline.declarations().frame_streams;
  const capture::FrameCounts before = timeline::frames_before(timeline);
  double streams_done = 0;
  for (const FrameStreamDeclaration& stream : streams) {
    std::string head;
    base::append_json_integer(head, timeline.process(stream.process).declaration.pid);
    append_text_field(head, stream.name);
    auto number = static_cast<std::int64_t>(before.of(stream.id));
    for (const Frame& frame : timeline.frames(stream.id)) {
      std::string& out = file.buffer();
      out += head;
      append_number_fields(out, {++number, frame.start_ns, frame.duration_ns});
      out += '\n';
      file.spill();
    }
    if (request.on_progress) {
      request.on_progress(++streams_done / static_cast<double>(streams.size()));
    }
  }
  file.close();
  return {};
}

std::vector<std::string> write_metrics_csv(const Timeline& timeline, base::OutputFile file,
                                           const ExportRequest& request) {
  file.buffer() += metrics_csv_header;
  std::map<MetricId, std::string> heads;
  const auto head_of = [&](MetricId id) -> const std::string& {
    std::string& head = heads[id];
    if (head.empty()) {
      const MetricDeclaration& metric = timeline.metric(id);
      base::append_json_integer(head, timeline.process(metric.process).declaration.pid);
      append_text_field(head, metric.name);
      std::string labels;
      for (const auto& [key, value] : metric.labels) {
        labels.append(labels.empty() ? "" : " ").append(key).append("=").append(value);
      }
      append_text_field(head, labels);
      append_text_field(head, metric.unit);
      head += ',';
    }
    return head;
  };
  const auto write_samples = [&](const EventBatch& batch, std::size_t /*capture*/) {
    for (const SampleRun& run : batch.samples) {
      const std::string& head = head_of(run.metric);
      for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
        std::string& out = file.buffer();
        out += head;
        base::append_json_integer(out, run.times_ns[i]);
        out += ',';
        if (std::isinf(run.values[i])) {
          out += run.values[i] > 0 ? "inf" : "-inf";
        } else {
          static_cast<void>(base::append_json_number(out, run.values[i]));
        }
        const bool is_stale = i < run.flags.size() && (run.flags[i] & SampleRun::stale) != 0;
        out += is_stale ? ",1\n" : ",0\n";
        file.spill();
      }
    }
  };
  visit_batches(timeline, BatchParts::samples, request.on_progress, write_samples);
  file.close();
  return {};
}

}  // namespace kymo::exchange
