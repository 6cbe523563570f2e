// Spans as an Arrow table: matches the ends in a block, selects spans and puts them into columns.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include <kymo/thread_states.hpp>

#include "base/text/json_text.hpp"
#include "exchange/arrow/rows.hpp"
#include "exchange/common/json_argument.hpp"
#include "timeline/source.hpp"
#include "timeline/span_builder.hpp"

namespace kymo::exchange {
namespace {

class SpanRows final : public BlockRows<SpanRows> {
 public:
  SpanRows(const Timeline& timeline, const ArrowQuery& query)
      : timeline_(timeline),
        choice_(timeline, query),
        processes_(timeline),
        cursor_(choice_.cursor_without_gaps(BatchParts::everything)),
        builders_(timeline.capture_count()) {
    note_tracks();
    note_names();
    declare_columns();
    columns_ = pick_columns(std::move(columns_), choice_.query().columns);
    for (const Column& column : columns_) {
      has_arguments_ = has_arguments_ || column.fill == &SpanRows::fill_arguments;
      has_times_ = has_times_ || column.fill == &SpanRows::fill_times<&RunTimes::running_ns> ||
                   column.fill == &SpanRows::fill_times<&RunTimes::runnable_ns> ||
                   column.fill == &SpanRows::fill_times<&RunTimes::blocked_ns>;
    }
    if (has_times_) {
      states_.emplace(timeline);
    }
  }

  bool add_rows() {
    if (!cursor_.next(batch_)) {
      add_open();
      return false;
    }
    list_.clear();
    std::map<TrackId, timeline::SpanBuilder>& builders = builders_[cursor_.capture()];
    for (ScopeRun& run : batch_.runs) {
      if (!value_of(tracks_, run.track).is_taken) {
        continue;
      }
      if (!has_arguments_) {
        run.arguments.clear();
      }
      builders.try_emplace(run.track, run.track).first->second.take(run, batch_.text, list_);
    }
    timeline::append_span_events(batch_, {}, list_);
    put_list();
    return true;
  }

 private:
  struct Track {
    std::uint32_t process = 0;  // index
    std::uint32_t name = 0;     // number of the text
    std::uint32_t kind = 0;
    bool is_taken = true;
  };

  void note_tracks() {
    for (const TrackDeclaration& track : timeline_.tracks()) {
      tracks_.push_back({ArrowProcesses::index_of(track.process), track_texts_->add(track.name),
                         std::min(static_cast<std::uint32_t>(track.kind), 2U), choice_.takes_track(track)});
    }
    TrackDeclaration undeclared;
    undeclared.name = "(undeclared)";
    undeclared.process = {};
    tracks_.push_back({0, track_texts_->add(undeclared.name), 0, choice_.takes_track(undeclared)});
  }

  void note_names() {
    const Declarations& declared = timeline_.declarations();
    sites_ = number_texts(declared.sites, *texts_, [](const SiteDeclaration& site) { return site.name; });
    names_ = number_texts(declared.names, *texts_, [](const NameDeclaration& name) { return name.text; });
    for (const NameDeclaration& name : declared.names) {
      base::append_json_string(keys_.emplace_back(), name.text);
    }
    if (!choice_.query().names.empty()) {
      for (const SiteDeclaration& site : declared.sites) {
        takes_site_.push_back(choice_.takes_name(site.name));
      }
      takes_site_.push_back(choice_.takes_name("(undeclared)"));
      for (const NameDeclaration& name : declared.names) {
        takes_name_.push_back(choice_.takes_name(name.text));
      }
      takes_name_.push_back(choice_.takes_name("(undeclared)"));
    }
  }

  void declare_columns() {
    const auto kinds = std::make_shared<ArrowDictionary>();
    for (const char* const kind : {"thread", "async", "queue"}) {
      kinds->add(kind);
    }
    add_process_column(processes_, ArrowProcesses::Column::process);
    add_column({"track", "I", false, track_texts_}, &SpanRows::fill_tracks);
    add_column({"kind", "I", false, kinds}, &SpanRows::fill_kinds);
    add_column({"name", "I", false, texts_}, &SpanRows::fill_names);
    add_column({"category", "I", true, texts_}, &SpanRows::fill_categories);
    add_column({"start_ns", "l"}, &SpanRows::fill_member<&Span::start_ns>);
    add_column({"duration_ns", "l"}, &SpanRows::fill_member<&Span::duration_ns>);
    add_column({"self_ns", "l"}, &SpanRows::fill_member<&Span::self_ns>);
    add_column({"depth", "S"}, &SpanRows::fill_member<&Span::depth>);
    add_column({"flags", "S"}, &SpanRows::fill_member<&Span::flags>);
    add_column({"async_id", "L"}, &SpanRows::fill_member<&Span::async_id>);
    add_column({"arguments", "u", true}, &SpanRows::fill_arguments);
    add_column({"running_ns", "g", true}, &SpanRows::fill_times<&RunTimes::running_ns>, false);
    add_column({"runnable_ns", "g", true}, &SpanRows::fill_times<&RunTimes::runnable_ns>, false);
    add_column({"blocked_ns", "g", true}, &SpanRows::fill_times<&RunTimes::blocked_ns>, false);
    add_column({"site", "I", true}, &SpanRows::fill_sites, false);
    add_column({"track_id", "I"}, &SpanRows::fill_member<&Span::track>, false);
    add_process_columns(processes_);
  }

  template <auto member>
  void fill_member(ArrowColumn& column) {
    extend_by<member>(column, list_.spans);
  }

  void fill_tracks(ArrowColumn& column) {
    fill_numbers(column, [this](const Span& span) { return value_of(tracks_, span.track).name; });
  }
  void fill_kinds(ArrowColumn& column) {
    fill_numbers(column, [this](const Span& span) { return value_of(tracks_, span.track).kind; });
  }
  void fill_names(ArrowColumn& column) {
    fill_numbers(column, [this](const Span& span) {
      return span.site ? value_of(sites_, span.site) : value_of(names_, span.name);
    });
  }
  void fill_categories(ArrowColumn& column) {
    fill_numbers(column, [this](const Span& span) { return span.category ? value_of(names_, span.category) : 0; });
    set_nulls(column, &Span::category);
  }
  void fill_sites(ArrowColumn& column) {
    fill_numbers(column, [](const Span& span) { return span.site.value(); });
    set_nulls(column, &Span::site);
  }

  template <std::int64_t RunTimes::*state>
  void fill_times(ArrowColumn& column) {
    const std::size_t first = column.size();
    double* const out = column.extend<double>(times_.size());
    for (std::size_t i = 0; i < times_.size(); ++i) {
      out[i] = times_[i] ? static_cast<double>((*times_[i]).*state) : std::numeric_limits<double>::quiet_NaN();
    }
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!times_[i]) {
        column.set_null(first + i);
      }
    }
  }

  /// Those of scopes whose thread's states are known throughout.
  void find_times() {
    times_.clear();
    for (const Span& span : list_.spans) {
      const bool has_end = (span.flags & (Span::open | Span::end_unknown)) == 0;
      times_.push_back(span.site && has_end ? states_->times(span.track, {span.start_ns, span.end_ns()})
                                            : std::nullopt);
    }
  }

  template <typename NumberOf>
  void fill_numbers(ArrowColumn& column, NumberOf&& number_of) {
    std::uint32_t* const out = column.extend<std::uint32_t>(list_.spans.size());
    for (std::size_t i = 0; i < list_.spans.size(); ++i) {
      out[i] = number_of(list_.spans[i]);
    }
  }

  /// Sets the rows just added to null if their id is 0.
  template <typename AnyId>
  void set_nulls(ArrowColumn& column, AnyId Span::*id) {
    const std::size_t first = column.size() - list_.spans.size();
    for (std::size_t i = 0; i < list_.spans.size(); ++i) {
      if (!(list_.spans[i].*id)) {
        column.set_null(first + i);
      }
    }
  }

  void fill_arguments(ArrowColumn& column) {
    for (const Span& span : list_.spans) {
      if (span.argument_count == 0) {
        column.add_null_text();
      } else {
        column.add_text(arguments_of(span));
      }
    }
  }

  const std::string& arguments_of(const Span& span) {
    text_ = "{";
    for (std::uint32_t i = 0; i < span.argument_count; ++i) {
      const ArgumentValue& value = list_.arguments[span.first_argument + i];
      text_ += i == 0 ? "" : ",";
      text_ += value.name.index() < keys_.size() ? keys_[value.name.index()] : "\"(undeclared)\"";
      text_ += ':';
      if (!append_json_argument(text_, value, list_.text)) {
        text_ += choice_.query().keeps_nan ? word_without_json(value) : "null";
      }
    }
    return text_ += '}';
  }

  /// A value that JSON cannot represent, as Python does.
  static std::string_view word_without_json(const ArgumentValue& value) {
    if (value.type != ArgumentType::float64) {
      return "null";
    }
    double number = 0;
    std::memcpy(&number, &value.bits, sizeof number);
    return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }

  [[nodiscard]] bool takes(const Span& span) const {
    return choice_.overlaps(span.start_ns, span.end_ns()) && value_of(tracks_, span.track).is_taken &&
           (choice_.query().names.empty() ||
            (span.site ? value_of(takes_site_, span.site) : value_of(takes_name_, span.name)));
  }

  /// Puts the selected spans of the list into the columns.
  void put_list() {
    const bool takes_all =
        choice_.query().names.empty() && choice_.query().tracks.empty() && choice_.query().processes.empty() &&
        choice_.query().range.start_ns == TimeRange{}.start_ns && choice_.query().range.end_ns == TimeRange{}.end_ns;
    if (!takes_all) {
      std::erase_if(list_.spans, [this](const Span& span) { return !takes(span); });
    }
    if (has_times_) {
      find_times();
    }
    fill_columns(processes_, list_.spans.size(),
                 [this](std::size_t row) { return value_of(tracks_, list_.spans[row].track).process; });
  }

  // Adds spans that had not ended in the blocks read: spans that never end, and scopes that end in blocks after the
  // range. If several readers share a capture, the one with the last block that begins in the range does this.
  void add_open() {
    const auto sources = timeline::sources_of(timeline_);
    std::vector<bool> is_mine(sources.size());
    std::vector<bool> goes_on(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const timeline::Source& source = *sources[i];
      const std::size_t begun = choice_.count_begun(i);
      is_mine[i] = begun > 0 && choice_.takes_block(i, begun - 1);
      goes_on[i] = source.range().end_ns >= choice_.query().range.end_ns;
    }
    if (std::find(is_mine.begin(), is_mine.end(), true) == is_mine.end()) {
      list_.clear();
      return;
    }
    list_ = timeline_.open_spans();
    std::erase_if(list_.spans, [&](const Span& span) {
      const std::size_t source = source_of(span.track);
      return source >= sources.size() || !is_mine[source] || (span.site && goes_on[source]);
    });
    put_list();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (is_mine[i] && goes_on[i]) {
        add_unfinished(i);
      }
    }
  }

  [[nodiscard]] std::size_t source_of(TrackId track) const {
    const ProcessId process = timeline_.track(track).process;
    return process ? timeline_.process(process).capture : 0;
  }

  using Key = std::tuple<TrackId, std::int64_t, std::uint16_t>;  // track, start, depth
  static Key key_of(const Span& span) { return {span.track, span.start_ns, span.depth}; }

  /// Adds a capture's scopes that are open at the end of the range and end in none of the blocks that overlap it.
  void add_unfinished(std::size_t capture) {
    const timeline::Source& source = *timeline::sources_of(timeline_)[capture];
    std::set<Key> ended;
    for (std::size_t block = 0; block < choice_.count_begun(capture); ++block) {
      if (source.end_ns(block) >= choice_.query().range.end_ns && source.read(block, BatchParts::scopes, batch_)) {
        list_.clear();
        for (const ScopeRun& run : batch_.runs) {
          timeline::SpanBuilder(run.track).take(run, batch_.text, list_);
        }
        for (const Span& span : list_.spans) {
          ended.insert(key_of(span));
        }
      }
    }
    for (const TrackDeclaration& track : timeline_.tracks()) {
      if (track.kind != TrackKind::thread || !value_of(tracks_, track.id).is_taken || source_of(track.id) != capture) {
        continue;
      }
      list_ = timeline_.spans(track.id, {choice_.query().range.end_ns - 1, choice_.query().range.end_ns});
      std::erase_if(list_.spans, [&](const Span& span) {
        return !span.site || span.end_ns() < choice_.query().range.end_ns || ended.count(key_of(span)) != 0;
      });
      for (Span& span : list_.spans) {
        constexpr unsigned of_range = Span::starts_before_range | Span::ends_after_range;
        span.flags = static_cast<std::uint16_t>(span.flags & ~of_range);
      }
      put_list();
    }
  }

  const Timeline& timeline_;
  ArrowChoice choice_;
  ArrowProcesses processes_;
  BatchCursor cursor_;
  std::vector<std::map<TrackId, timeline::SpanBuilder>> builders_;  // by capture
  std::vector<Track> tracks_;                                       // by id; the last one for undeclared ones
  std::shared_ptr<ArrowDictionary> track_texts_ = std::make_shared<ArrowDictionary>();
  std::shared_ptr<ArrowDictionary> texts_ = std::make_shared<ArrowDictionary>();
  std::vector<std::uint32_t> sites_;  // number of each name
  std::vector<std::uint32_t> names_;
  std::vector<std::uint8_t> takes_site_;  // used if the query selects names
  std::vector<std::uint8_t> takes_name_;
  std::vector<std::string> keys_;  // names as JSON
  bool has_arguments_ = false;
  bool has_times_ = false;
  std::optional<ThreadStates> states_;  // if the query asks for times
  std::vector<std::optional<RunTimes>> times_;
  EventBatch batch_;
  SpanList list_;
  std::string text_;
};

}  // namespace

std::unique_ptr<ArrowRows> make_span_rows(const Timeline& timeline, const ArrowQuery& query) {
  return std::make_unique<SpanRows>(timeline, query);
}

}  // namespace kymo::exchange
