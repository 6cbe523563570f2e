// The search tab: sites, tracks, metrics and messages that hold a text.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

namespace {

/// A thing that was found.
struct Hit {
  enum class Kind : std::uint8_t { site, span, track, metric, message };
  Kind kind = Kind::site;
  std::uint32_t id = 0;  ///< of the site, track or metric; the place of the message or the span in its list
  std::string name;
  std::string where;
};

constexpr std::array<const char*, 5> kind_words = {"scope", "span", "track", "metric", "message"};

class SearchTab final : public TableTab {
 public:
  SearchTab() : TableTab("Search", Table("hits", Table::unsorted), "search") {}

  void draw(TabContext& context) override {
    field_.draw();
    if (context.state.search() != field_.text()) {
      context.state.search_for(field_.text());
      last_.reset();
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    if (field_.text()[0] == 0) {
      hits_.clear();
      say("text in the name of a scope, its function or file, a span, an argument, a track, a metric or a message");
      return;
    }
    messages_.keep_fresh(context.state.data(), ListKey());
    spans_.keep_fresh(context.state.data(), ListKey({}, 0, {}, 0, field_.text()));
    const Declarations& declared = context.state.data().provider().declarations();
    const std::uint64_t version = field_.version() + messages_.version() + spans_.version() + declared.sites.size() +
                                  declared.tracks.size() + declared.metrics.size();
    if (version != version_) {
      version_ = version;
      find(context);
    }
    say(counts_text());
    const TableRows shown = rows(context);
    table_.update(shown, version_);
    if (const auto clicked = table_.draw(shown, chosen(context), 0, context.theme)) {
      choose(context, *clicked);
      if (hits_[*clicked].kind == Hit::Kind::site) {
        context.state.jump(true);
      }
    }
  }

  [[nodiscard]] bool is_search() const override { return true; }
  [[nodiscard]] bool chose_no_site(TabContext& context) const override {
    return last_ && is_chosen(context, *last_) && hits_[*last_].kind != Hit::Kind::site;
  }

 private:
  [[nodiscard]] TableRows rows(TabContext& /*context*/) const override {
    const auto kind = [this](std::size_t row) { return kind_words[static_cast<std::size_t>(hits_[row].kind)]; };
    return {hits_.size(),
            {{"kind", 1, kind},
             {"name", 4, [this](std::size_t row) { return hits_[row].name; }},
             {"where", 3, [this](std::size_t row) { return hits_[row].where; }}}};
  }

  void find(TabContext& context) {
    hits_.clear();
    const BlockProvider& provider = context.state.data().provider();
    const char* const text = field_.text();
    for (const SiteDeclaration& site : provider.declarations().sites) {
      if (contains_text(site.name, text) || contains_text(site.function, text) || contains_text(site.file, text)) {
        hits_.push_back(
            {Hit::Kind::site, site.id.value(), context.names.look(site.id, context.theme).text, Names::place(site)});
      }
    }
    const std::vector<FoundList::Row>& spans = spans_.list().first;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const SpanKey& key = spans[i].key;
      std::string name = context.names.look(key.what, context.theme).text;
      if (spans[i].name) {
        name += "   " + clean_text(provider.name(spans[i].name), 60) + "=" + clean_text(spans[i].value, 120);
      }
      hits_.push_back({Hit::Kind::span, static_cast<std::uint32_t>(i), std::move(name),
                       duration_text(length_between(context.state.data().range().start_ns, key.start_ns)) + "  " +
                           context.names.title(provider.track(key.track))});
    }
    for (const TrackDeclaration& track : provider.declarations().tracks) {
      if (const std::string title = context.names.title(track); contains_text(title, text)) {
        hits_.push_back({Hit::Kind::track, track.id.value(), title, {}});
      }
    }
    for (const MetricDeclaration& metric : provider.declarations().metrics) {
      std::string name = metric.name;
      for (const auto& [key, value] : metric.labels) {
        name += ' ' + value;
      }
      if (contains_text(name, text)) {
        hits_.push_back({Hit::Kind::metric, metric.id.value(), clean_text(name), clean_text(metric.source)});
      }
    }
    const std::vector<MessageList::Row>& messages = messages_.list().first;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (contains_text(messages[i].text, text)) {
        hits_.push_back({Hit::Kind::message, static_cast<std::uint32_t>(i),
                         clean_text(messages[i].text, MessageList::most_bytes),
                         context.names.title(provider.track(messages[i].track))});
      }
    }
  }

  [[nodiscard]] std::string counts_text() const {
    std::string text;
    for (std::size_t kind = 0; kind < kind_words.size(); ++kind) {
      const auto listed = static_cast<std::uint64_t>(std::count_if(
          hits_.begin(), hits_.end(), [kind](const Hit& hit) { return static_cast<std::size_t>(hit.kind) == kind; }));
      const bool is_span = kind == static_cast<std::size_t>(Hit::Kind::span);
      const std::uint64_t count = is_span ? spans_.list().count : listed;
      text += (kind == 0 ? "" : ", ") + count_text(count) + " " + kind_words[kind] + (count == 1 ? "" : "s") +
              (count > listed ? " (the first " + count_text(listed) + ")" : "");
    }
    return text + (messages_.is_reading() || spans_.is_reading() ? "   reading..." : "");
  }

  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const override {
    if (last_ && is_chosen(context, *last_)) {
      return last_;  // a span that was gone to marks its site too
    }
    const SiteId marked = context.state.marked_site();
    return place_where(hits_,
                       [marked](const Hit& hit) { return hit.kind == Hit::Kind::site && SiteId{hit.id} == marked; });
  }

  [[nodiscard]] bool is_chosen(TabContext& context, std::size_t place) const {
    if (place >= hits_.size()) {
      return false;
    }
    const Hit& hit = hits_[place];
    switch (hit.kind) {
      case Hit::Kind::site:
        return SiteId{hit.id} == context.state.marked_site();
      case Hit::Kind::span: {
        const auto& spans = spans_.list().first;
        const auto& selected = context.state.selected();
        return selected && hit.id < spans.size() && spans[hit.id].key.start_ns == selected->start_ns &&
               spans[hit.id].key.track == selected->track && spans[hit.id].key.depth == selected->depth;
      }
      case Hit::Kind::message: {
        const auto& message = context.state.message();
        return message && message_of(hit) != nullptr && message_of(hit)->time_ns == message->time_ns;
      }
      case Hit::Kind::track:
      case Hit::Kind::metric:
        break;
    }
    return last_ == place;
  }

  /// nullptr if the messages were read anew.
  [[nodiscard]] const MessageList::Row* message_of(const Hit& hit) const {
    const auto& messages = messages_.list().first;
    return hit.id < messages.size() ? &messages[hit.id] : nullptr;
  }

  void choose(TabContext& context, std::size_t place) override {
    last_ = place;
    const Hit& hit = hits_[place];
    switch (hit.kind) {
      case Hit::Kind::site:
        context.state.mark_site(SiteId{hit.id});
        break;
      case Hit::Kind::span:
        if (hit.id < spans_.list().first.size()) {
          context.state.go_to(spans_.list().first[hit.id].key);
        }
        break;
      case Hit::Kind::track:
        context.state.show_track(TrackId{hit.id});
        break;
      case Hit::Kind::metric:
        context.state.show_metric(MetricId{hit.id});
        break;
      case Hit::Kind::message:
        if (const MessageList::Row* const message = message_of(hit); message != nullptr) {
          context.state.go_to(message->time_ns);
          context.state.show_track(message->track);
          context.state.choose_message({message->time_ns, message->track, 1, message->text, message->is_cut});
        }
        break;
    }
  }

  KeptList<MessageList> messages_;
  KeptList<FoundList> spans_;
  std::uint64_t version_ = 0;
  std::vector<Hit> hits_;
  std::optional<std::size_t> last_;
};

}  // namespace

std::unique_ptr<Tab> make_search_tab() {
  return std::make_unique<SearchTab>();
}

}  // namespace kymo::panel
