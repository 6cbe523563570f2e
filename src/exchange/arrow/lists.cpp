// Short tables of a timeline, as Arrow tables: sites, tracks, metrics, phases, messages, processes.
#include <array>
#include <functional>

#include "base/text/text.hpp"
#include "exchange/arrow/rows.hpp"

namespace kymo::exchange {
namespace {

class ListRows final : public ArrowRows {
 public:
  ListRows(const Timeline& timeline, const ArrowQuery& query)
      : timeline_(timeline), choice_(timeline, query), processes_(timeline) {
    fill();
    for (std::size_t i = 1; i < ArrowProcesses::column_count; ++i) {
      add_process_column(static_cast<ArrowProcesses::Column>(i), false);
    }
    columns_ = pick_columns(std::move(columns_), choice_.query().columns);
  }

  [[nodiscard]] std::vector<const ArrowColumn*> columns() const override { return columns_of(columns_); }

  bool next(ArrowArray& array) override { return take_batch(columns_, array); }

 private:
  struct Column {
    ArrowColumn column;
    bool is_default = true;
  };

  [[nodiscard]] bool takes_lists_of(ProcessId process) const {
    const std::size_t capture = process ? timeline_.process(process).capture : 0;
    return choice_.takes_process(process) && choice_.takes_lists_of(capture);
  }

  void add_process_column(ArrowProcesses::Column of, bool is_default) {
    columns_.push_back({processes_.make_column(of), is_default});
    processes_.fill(of, columns_.back().column, rows_.size(), [this](std::size_t row) { return rows_[row]; });
  }

  /// Selects rows and adds the process column for them.
  template <typename Thing, typename ProcessOf, typename Takes>
  std::vector<const Thing*> choose(const std::vector<Thing>& things, ProcessOf process_of, Takes takes) {
    std::vector<const Thing*> chosen;
    for (const Thing& thing : things) {
      const ProcessId process = std::invoke(process_of, thing);
      if (takes_lists_of(process) && takes(thing)) {
        chosen.push_back(&thing);
        rows_.push_back(ArrowProcesses::index_of(process));
      }
    }
    add_process_column(ArrowProcesses::Column::process, true);
    return chosen;
  }

  template <typename Number, typename Thing, typename NumberOf>
  void add_numbers(const char* name, const char* format, const std::vector<const Thing*>& things,
                   NumberOf&& number_of) {
    columns_.push_back({ArrowColumn(name, format), true});
    for (const Thing* const thing : things) {
      columns_.back().column.add(static_cast<Number>(std::invoke(number_of, *thing)));
    }
  }
  template <typename Thing, typename TextOf>
  void add_texts(const char* name, const std::vector<const Thing*>& things, TextOf&& text_of) {
    const auto texts = std::make_shared<ArrowDictionary>();
    columns_.push_back({ArrowColumn(name, "I", false, texts), true});
    for (const Thing* const thing : things) {
      columns_.back().column.add(texts->add(std::invoke(text_of, *thing)));
    }
  }
  template <typename Thing, typename IsSo>
  void add_booleans(const char* name, const std::vector<const Thing*>& things, IsSo&& is_so) {
    columns_.push_back({ArrowColumn(name, "b"), true});
    for (const Thing* const thing : things) {
      columns_.back().column.add_boolean(is_so(*thing));
    }
  }

  void fill() {
    switch (choice_.query().table) {
      case ArrowTable::sites:
        return fill_sites();
      case ArrowTable::tracks:
        return fill_tracks();
      case ArrowTable::metric_declarations:
        return fill_metrics();
      case ArrowTable::phases:
        return fill_phases();
      case ArrowTable::messages:
        return fill_messages();
      default:
        return fill_processes();
    }
  }

  void fill_sites() {
    using Site = SiteDeclaration;
    const auto sites = choose(timeline_.declarations().sites, &Site::process,
                              [this](const Site& site) { return choice_.takes_name(site.name); });
    add_numbers<std::uint32_t>("site", "I", sites, [](const Site& site) { return site.id.value(); });
    add_texts("name", sites, &Site::name);
    add_texts("function", sites, &Site::function);
    add_texts("file", sites, &Site::file);
    add_numbers<std::uint32_t>("line", "I", sites, &Site::line);
    add_texts("kind", sites, [](const Site& site) {
      constexpr std::array<std::string_view, 4> kinds{"scope", "function", "dynamic", "hooked"};
      const auto kind = static_cast<std::size_t>(site.kind);
      return kind < kinds.size() ? kinds[kind] : "?";
    });
  }

  void fill_tracks() {
    using Track = TrackDeclaration;
    const auto tracks =
        choose(timeline_.tracks(), &Track::process, [this](const Track& track) { return choice_.takes_track(track); });
    add_numbers<std::uint32_t>("track_id", "I", tracks, [](const Track& track) { return track.id.value(); });
    add_texts("name", tracks, &Track::name);
    add_texts("kind", tracks, [](const Track& track) { return name_of(track.kind, track.role); });
    add_numbers<std::uint64_t>("os_thread_id", "L", tracks, &Track::os_thread_id);
  }

  void fill_metrics() {
    using Metric = MetricDeclaration;
    const auto metrics = choose(timeline_.declarations().metrics, &Metric::process,
                                [this](const Metric& metric) { return choice_.takes_name(metric.name); });
    add_numbers<std::uint32_t>("metric", "I", metrics, [](const Metric& metric) { return metric.id.value(); });
    add_texts("name", metrics, &Metric::name);
    add_texts("unit", metrics, &Metric::unit);
    add_texts("labels", metrics, labels_of);
    add_texts("kind", metrics, [](const Metric& metric) { return name_of(metric.kind); });
    add_texts("source", metrics, &Metric::source);
    add_numbers<double>("step", "g", metrics, &Metric::step);
    add_numbers<std::int64_t>("renewal_ns", "l", metrics, &Metric::renewal_ns);
    add_numbers<std::int64_t>("window_ns", "l", metrics, &Metric::window_ns);
    const auto add_trait = [this, &metrics](const char* name, std::uint32_t trait) {
      add_booleans(name, metrics, [trait](const Metric& metric) { return (metric.traits & trait) != 0; });
    };
    add_trait("estimated", Metric::estimated);
    add_trait("total", Metric::total);
    add_trait("renewal_measured", Metric::renewal_measured);
  }

  void fill_phases() {
    const std::vector<Phase> all = timeline_.phases();
    const auto phases = choose(all, &Phase::process,
                               [this](const Phase& phase) { return choice_.overlaps(phase.start_ns, phase.end_ns); });
    add_numbers<std::uint64_t>("number", "L", phases, &Phase::number);
    add_numbers<std::int64_t>("start_ns", "l", phases, &Phase::start_ns);
    add_numbers<std::int64_t>("duration_ns", "l", phases,
                              [](const Phase& phase) { return phase.end_ns - phase.start_ns; });
  }

  void fill_messages() {
    const std::vector<Message> all = timeline_.messages(choice_.query().range);
    const auto messages = choose(
        all, [this](const Message& message) { return timeline_.track(message.track).process; },
        [this](const Message& message) { return choice_.takes_track(timeline_.track(message.track)); });
    add_texts("track", messages, [this](const Message& message) { return timeline_.track(message.track).name; });
    add_numbers<std::int64_t>("time_ns", "l", messages, &Message::time_ns);
    add_texts("text", messages, [](const Message& message) {
      return message.is_cut ? message.text + std::string(base::cut_mark) : message.text;
    });
  }

  void fill_processes() {
    using Process = TimelineProcess;
    const auto processes = choose(
        timeline_.processes(), [](const Process& process) { return process.declaration.id; },
        [](const Process&) { return true; });
    add_texts("boot_id", processes, [](const Process& process) { return process.declaration.boot_id; });
    add_texts("command_line", processes, [](const Process& process) { return process.declaration.command_line; });
    add_numbers<std::int64_t>("offset_ns", "l", processes, &Process::offset_ns);
    add_numbers<std::int64_t>("bound_ns", "l", processes, &Process::bound_ns);
  }

  const Timeline& timeline_;
  ArrowChoice choice_;
  ArrowProcesses processes_;
  std::vector<std::uint32_t> rows_;  // the process of each, by index
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<ArrowRows> make_list_rows(const Timeline& timeline, const ArrowQuery& query) {
  return std::make_unique<ListRows>(timeline, query);
}

}  // namespace kymo::exchange
