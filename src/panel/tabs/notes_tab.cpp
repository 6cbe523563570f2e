// The notes tab: texts at times and ranges, and views to go back to.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/notes.hpp"
#include "panel/tabs/table_tab.hpp"

namespace kymo::panel {

namespace {

class NotesTab final : public TableTab {
 public:
  NotesTab() : TableTab("Notes", Table("notes", by_start, false), "note") {}

  void draw(TabContext& context) override {
    Notes& notes = context.state.notes();
    const TimeRange range = range_to_note(context);
    const std::string place = range.start_ns == range.end_ns
                                  ? "at " + duration_text(range.start_ns)
                                  : "to " + duration_text(range.start_ns) + ".." + duration_text(range.end_ns);
    if (field_.draw_entry(ImGui::GetFontSize() * 20) && field_.text()[0] != 0) {
      notes.add({range.start_ns, range.end_ns, field_.text()});
      field_.clear();
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    if (ImGui::SmallButton("Delete")) {
      if (const std::optional<std::size_t> note = chosen(context)) {
        notes.remove(*note);
      }
      chosen_.reset();
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    say("enter adds it " + place + (context.notes_are_kept ? "" : "; these notes are not saved"));
    const TableRows shown = rows(context);
    table_.update(shown, notes.version() + 1);
    draw_table(context, shown);
  }

 private:
  static constexpr std::size_t by_start = 0;

  [[nodiscard]] TableRows rows(TabContext& context) const override {
    const std::vector<Note>& notes = context.state.notes().all();
    const auto length_ns = [&notes](std::size_t row) { return length_between(notes[row].start_ns, notes[row].end_ns); };
    const auto length_text = [length_ns](std::size_t row) {
      return length_ns(row) == 0 ? "-" : duration_text(length_ns(row));
    };
    return {notes.size(),
            {duration_column("at", numbers_of(notes)(&Note::start_ns)),
             {"length", 1, length_text, length_ns},
             {"note", 6, [&notes](std::size_t row) { return notes[row].text; }}}};
  }

  /// What is measured, the selected span, else the middle of the chart; since the recording's start.
  static TimeRange range_to_note(TabContext& context) {
    ViewState& state = context.state;
    const auto& measured = state.measured();
    const auto& selected = state.selected();
    const std::int64_t middle_ns = state.flame().to_time(state.flame().width() / 2);
    const TimeRange range = measured ? *measured
                            : selected && selected->end_ns > selected->start_ns
                                ? TimeRange{selected->start_ns, selected->end_ns}
                                : TimeRange{middle_ns, middle_ns};
    const std::int64_t origin_ns = state.data().range().start_ns;
    return {length_between(origin_ns, range.start_ns), length_between(origin_ns, range.end_ns)};
  }

  /// Goes to a note.
  void choose(TabContext& context, std::size_t place) override {
    const Note& note = context.state.notes().all()[place];
    chosen_ = note;
    const std::int64_t origin_ns = context.state.data().range().start_ns;
    const std::int64_t start_ns = add_length(origin_ns, std::max<std::int64_t>(note.start_ns, 0));
    const std::int64_t end_ns = add_length(origin_ns, std::max<std::int64_t>(note.end_ns, 0));
    if (end_ns > start_ns) {
      context.state.hold();
      context.state.flame().show({start_ns, end_ns});
    } else {
      context.state.go_to(start_ns);
    }
  }
  [[nodiscard]] std::optional<std::size_t> chosen(TabContext& context) const override {
    const std::vector<Note>& notes = context.state.notes().all();
    const auto place = chosen_ ? std::find(notes.begin(), notes.end(), *chosen_) : notes.end();
    return place != notes.end() ? std::optional(static_cast<std::size_t>(place - notes.begin())) : std::nullopt;
  }

  /// Its place changes with notes that are added before it.
  std::optional<Note> chosen_;
};

}  // namespace

std::unique_ptr<Tab> make_notes_tab() {
  return std::make_unique<NotesTab>();
}

}  // namespace kymo::panel
