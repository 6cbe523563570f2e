// The spans tab: the longest scopes of the marked site.
#include <algorithm>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

namespace {

class SpanRows final : public TableRows {
 public:
  enum Column : std::size_t { start_column, duration_column, self_column, track_column };

  SpanRows(TabContext& context, const InstanceList& list)
      : context_(context), list_(list), origin_ns_(context.state.data().range().start_ns) {}

  [[nodiscard]] std::size_t count() const override { return list_.longest.size(); }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const InstanceList::Row& span = list_.longest[row];
    if (column == track_column) {
      return context_.names.title(context_.state.data().provider().track(span.key.track));
    }
    const bool is_bound = column == duration_column ? span.is_open : column == self_column && span.self_is_bound;
    const char* const bound = !is_bound ? "" : column == duration_column ? ">= " : "<= ";
    return bound + duration_text(static_cast<std::int64_t>(number(row, column)));
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const InstanceList::Row& span = list_.longest[row];
    switch (column) {
      case start_column:
        return static_cast<double>(span.key.start_ns - origin_ns_);
      case duration_column:
        return static_cast<double>(length_between(span.key.start_ns, span.key.end_ns));
      default:
        return static_cast<double>(span.self_ns);
    }
  }

 private:
  TabContext& context_;
  const InstanceList& list_;
  std::int64_t origin_ns_;
};

class SpansTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Spans"; }

  void draw(TabContext& context) override {
    const SiteId site = site_of(context);
    if (!site) {
      say("select a scope in the chart, or a site in Statistics, to list its spans");
      return;
    }
    list_.keep_fresh(context.state.data(),
                     ListKey(context.state.table_range(), site.value(), context.state.marked_lengths()));
    const InstanceList& spans = list_.list();
    const SpanRows rows(context, spans);
    table_.update(rows, list_.version());
    const std::string name = context.names.look(site, context.theme).text;
    const LengthRange lengths = context.state.marked_lengths();
    say(name + ": " + count_text(spans.count) + (spans.count == 1 ? " span" : " spans") +
        (lengths == LengthRange{} ? ""
                                  : " from " + duration_text(std::max(lengths.least_ns, std::int64_t{0})) + " to " +
                                        duration_text(lengths.most_ns)) +
        (spans.count > spans.longest.size() ? ", the longest " + count_text(spans.longest.size()) : "") +
        (list_.is_reading() ? "   reading..." : ""));
    const TableUse use = table_.draw(rows, chosen(context), 0, context.theme);
    if (use.clicked) {
      context.state.go_to(spans.longest[*use.clicked].key);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    const InstanceList& spans = list_.list();
    if (const auto next = table_.neighbour(chosen(context), down); next && *next < spans.longest.size()) {
      context.state.go_to(spans.longest[*next].key);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(SpanRows(context, list_.list()), as);
  }

 private:
  /// The site of the selected scope, else the marked one.
  static SiteId site_of(TabContext& context) {
    const auto& selected = context.state.selected();
    const SiteId site = selected ? base::site_of(selected->what) : SiteId{};
    return site ? site : context.state.marked_site();
  }

  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const {
    const auto& selected = context.state.selected();
    const auto& rows = list_.list().longest;
    const auto found = std::find_if(rows.begin(), rows.end(), [&selected](const InstanceList::Row& row) {
      return selected && row.key.track == selected->track && row.key.start_ns == selected->start_ns &&
             row.key.depth == selected->depth;
    });
    return found == rows.end() ? std::nullopt
                               : std::optional<std::size_t>(static_cast<std::size_t>(found - rows.begin()));
  }

  KeptList<InstanceList> list_;
  Table table_{"spans", {{"at"}, {"duration"}, {"self"}, {"track", 2, false}}, SpanRows::duration_column};
};

}  // namespace

std::unique_ptr<Tab> make_spans_tab() {
  return std::make_unique<SpansTab>();
}

}  // namespace kymo::panel
