// The messages tab.
#include <string>
#include <vector>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/lists.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

namespace {

class MessagesTab final : public TableTab {
 public:
  MessagesTab() : TableTab("Messages", Table("messages", by_time, false)) {}

  void draw(TabContext& context) override {
    focus_.keep_fresh(context, ListKey(context.state.table_range()), list_);
    const MessageList& messages = list_.list();
    draw_filter(context);
    const TableRows shown = rows(context);
    const bool is_reading = list_.is_reading() || focus_.is_reading();
    table_.update(shown, field_.version() + list_.version());
    say(messages.count == 0 && !is_reading
            ? std::string(context.state.focused_site() ? "no messages inside"
                                                       : "no messages: write them with kymo::message()")
            : count_text(table_.order().size()) + " of " + count_text(messages.count) + " messages" +
                  (messages.count > messages.first.size() ? ", the first " + count_text(messages.first.size()) : "") +
                  focus_.limit_text() + (is_reading ? "   reading..." : ""));
    draw_table(context, shown);
  }

 private:
  static constexpr std::size_t by_time = 0;

  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const std::vector<MessageList::Row>& messages = list_.list().first;
    const auto track = [&](std::size_t row) {
      return context.names.title(context.state.data().provider().track(messages[row].track));
    };
    const auto text = [&](std::size_t row) { return clean_text(messages[row].text, MessageList::most_bytes); };
    return {messages.size(),
            {time_column(context, [&](std::size_t row) { return messages[row].time_ns; }),
             {"track", 2, track},
             {"text", 6, text}},
            [&, this](std::size_t row) { return contains_text(messages[row].text, field_.text()); }};
  }

  void choose(TabContext& context, std::size_t row) override {
    const MessageList::Row& message = list_.list().first[row];
    context.state.go_to(message.time_ns);
    context.state.show_track(message.track);
    context.state.choose_message({message.time_ns, message.track, 1, message.text, message.is_cut});
  }

  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const override {
    const auto& message = context.state.message();
    return place_where(list_.list().first, [&message](const MessageList::Row& row) {
      return message && row.time_ns == message->time_ns && row.track == message->track;
    });
  }

  Focus focus_;
  KeptList<MessageList> list_;
};

}  // namespace

std::unique_ptr<Tab> make_messages_tab() {
  return std::make_unique<MessagesTab>();
}

}  // namespace kymo::panel
