// The messages tab.
#include <algorithm>
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/focus.hpp"
#include "panel/tabs/site_rows.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

namespace {

class MessageRows final : public TableRows {
 public:
  enum Column : std::size_t { time_column, track_column, text_column };

  MessageRows(TabContext& context, const MessageList& list, const char* filter)
      : context_(context), list_(list), filter_(filter), origin_ns_(context.state.data().range().start_ns) {}

  [[nodiscard]] std::size_t count() const override { return list_.first.size(); }
  [[nodiscard]] bool fits(std::size_t row) const override { return contains_text(list_.first[row].text, filter_); }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const MessageList::Row& message = list_.first[row];
    switch (column) {
      case time_column:
        return duration_text(static_cast<std::int64_t>(number(row, column)));
      case track_column:
        return context_.names.title(context_.state.data().provider().track(message.track));
      default:
        return clean_text(message.text, MessageList::most_bytes);
    }
  }
  [[nodiscard]] double number(std::size_t row, std::size_t /*column*/) const override {
    return static_cast<double>(list_.first[row].time_ns - origin_ns_);
  }

 private:
  TabContext& context_;
  const MessageList& list_;
  std::string filter_;
  std::int64_t origin_ns_;
};

class MessagesTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Messages"; }

  void draw(TabContext& context) override {
    focus_.keep_fresh(context, ListKey(context.state.table_range()), list_);
    const MessageList& messages = list_.list();
    filter_.draw();
    const MessageRows rows(context, messages, filter_.text());
    ImGui::SameLine(0, ImGui::GetFontSize());
    draw_focus_button(context);
    const bool is_reading = list_.is_reading() || focus_.is_reading();
    table_.update(rows, filter_.version() + list_.version());
    say(messages.count == 0 && !is_reading
            ? std::string(context.state.focused_site() ? "no messages inside"
                                                       : "no messages: write them with kymo::message()")
            : count_text(table_.order().size()) + " of " + count_text(messages.count) + " messages" +
                  (messages.count > messages.first.size() ? ", the first " + count_text(messages.first.size()) : "") +
                  focus_.limit_text() + (is_reading ? "   reading..." : ""));
    const TableUse use = table_.draw(rows, chosen(context), 0, context.theme);
    if (use.clicked) {
      choose(context, *use.clicked);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (const auto next = table_.neighbour(chosen(context), down); next && *next < list_.list().first.size()) {
      choose(context, *next);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void focus_filter() override { filter_.focus(); }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(MessageRows(context, list_.list(), filter_.text()), as);
  }

 private:
  void choose(TabContext& context, std::size_t row) const {
    const MessageList::Row& message = list_.list().first[row];
    context.state.go_to(message.time_ns);
    context.state.choose_message({message.time_ns, message.track, 1, message.text, message.is_cut});
  }

  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const {
    const auto& message = context.state.message();
    const auto& rows = list_.list().first;
    const auto found = std::find_if(rows.begin(), rows.end(), [&message](const MessageList::Row& row) {
      return message && row.time_ns == message->time_ns && row.track == message->track;
    });
    return found == rows.end() ? std::nullopt
                               : std::optional<std::size_t>(static_cast<std::size_t>(found - rows.begin()));
  }

  Focus focus_;
  KeptList<MessageList> list_;
  Filter filter_{"filter"};
  Table table_{"messages", {{"at", 1}, {"track", 2, false}, {"text", 6, false}}, MessageRows::time_column, false};
};

}  // namespace

std::unique_ptr<Tab> make_messages_tab() {
  return std::make_unique<MessagesTab>();
}

}  // namespace kymo::panel
