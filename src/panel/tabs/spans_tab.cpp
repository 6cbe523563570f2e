// The spans tab: the longest scopes of the marked site.
#include <algorithm>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

namespace {

class SpansTab final : public TableTab {
 public:
  SpansTab() : TableTab("Spans", Table("spans", by_duration)) {}

  void draw(TabContext& context) override {
    const SiteId site = site_of(context);
    if (!site) {
      say("select a scope in the chart, or a site in Statistics, to list its spans");
      return;
    }
    const LengthRange lengths = context.state.marked_lengths();
    list_.keep_fresh(context.state.data(), ListKey(context.state.table_range(), site.value(), lengths));
    const InstanceList& spans = list_.list();
    const TableRows shown = rows(context);
    table_.update(shown, list_.version());
    const std::string name = context.names.look(site, context.theme).text;
    say(name + ": " + count_text(spans.count) + (spans.count == 1 ? " span" : " spans") +
        (lengths == LengthRange{} ? ""
                                  : " from " + duration_text(std::max(lengths.least_ns, std::int64_t{0})) + " to " +
                                        duration_text(lengths.most_ns)) +
        (spans.count > spans.longest.size() ? ", the longest " + count_text(spans.longest.size()) : "") +
        (list_.is_reading() ? "   reading..." : ""));
    draw_table(context, shown);
  }

 private:
  static constexpr std::size_t by_duration = 1;

  /// The site of the selected scope, else the marked one.
  static SiteId site_of(TabContext& context) {
    const auto& selected = context.state.selected();
    const SiteId site = selected ? base::site_of(selected->what) : SiteId{};
    return site ? site : context.state.marked_site();
  }

  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const std::vector<InstanceList::Row>& spans = list_.list().longest;
    const auto length_ns = [&](std::size_t row) {
      return length_between(spans[row].key.start_ns, spans[row].key.end_ns);
    };
    const auto length_text = [&, length_ns](std::size_t row) {
      return (spans[row].is_open ? ">= " : "") + duration_text(length_ns(row));
    };
    const auto self_text = [&](std::size_t row) {
      return (spans[row].self_is_bound ? "<= " : "") + duration_text(spans[row].self_ns);
    };
    const auto track = [&](std::size_t row) {
      return context.names.title(context.state.data().provider().track(spans[row].key.track));
    };
    return {site_of(context) ? spans.size() : 0,
            {time_column(context, [&](std::size_t row) { return spans[row].key.start_ns; }),
             {"duration", 1, length_text, length_ns},
             {"self", 1, self_text, numbers_of(spans)(&InstanceList::Row::self_ns)},
             {"track", 2, track}}};
  }

  void choose(TabContext& context, std::size_t row) override { context.state.go_to(list_.list().longest[row].key); }
  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const override {
    const auto& selected = context.state.selected();
    return place_where(list_.list().longest, [&selected](const InstanceList::Row& row) {
      return selected && row.key.track == selected->track && row.key.start_ns == selected->start_ns &&
             row.key.depth == selected->depth;
    });
  }

  KeptList<InstanceList> list_;
};

}  // namespace

std::unique_ptr<Tab> make_spans_tab() {
  return std::make_unique<SpansTab>();
}

}  // namespace kymo::panel
