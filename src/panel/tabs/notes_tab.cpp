// The notes tab: texts at times and ranges, and views to go back to.
#include <algorithm>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/canvas.hpp"
#include "panel/draw/filter.hpp"
#include "panel/draw/text.hpp"
#include "panel/lists/notes.hpp"
#include "panel/tabs/tab.hpp"
#include "panel/tabs/table.hpp"

namespace kymo::panel {

namespace {

class NoteRows final : public TableRows {
 public:
  enum Column : std::size_t { start_column, length_column, text_column };

  explicit NoteRows(const std::vector<Note>& notes) : notes_(notes) {}

  [[nodiscard]] std::size_t count() const override { return notes_.size(); }
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const override {
    const bool is_moment = column == length_column && notes_[row].start_ns == notes_[row].end_ns;
    return column == text_column ? notes_[row].text
           : is_moment           ? std::string("-")
                                 : duration_text(static_cast<std::int64_t>(number(row, column)));
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const override {
    const Note& note = notes_[row];
    return static_cast<double>(column == start_column ? note.start_ns : length_between(note.start_ns, note.end_ns));
  }

 private:
  const std::vector<Note>& notes_;
};

class NotesTab final : public Tab {
 public:
  [[nodiscard]] const char* title() const override { return "Notes"; }

  void draw(TabContext& context) override {
    Notes& notes = context.state.notes();
    const TimeRange range = range_to_note(context);
    const std::string place = range.start_ns == range.end_ns
                                  ? "at " + duration_text(range.start_ns)
                                  : "to " + duration_text(range.start_ns) + ".." + duration_text(range.end_ns);
    if (text_.draw_entry(ImGui::GetFontSize() * 20) && text_.text()[0] != 0) {
      notes.add({range.start_ns, range.end_ns, text_.text()});
      text_.clear();
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    if (ImGui::SmallButton("Delete") && chosen_) {
      notes.remove(*chosen_);
      chosen_.reset();
    }
    ImGui::SameLine(0, ImGui::GetFontSize());
    say("enter adds it " + place + (context.notes_are_kept ? "" : "; these notes are not saved"));
    const NoteRows rows(notes.all());
    table_.update(rows, notes.version() + 1);
    const TableUse use = table_.draw(rows, chosen_, 0, context.theme);
    if (use.clicked) {
      go_to(context, *use.clicked);
    }
  }

  void choose_row(TabContext& context, bool down) override {
    if (const auto next = table_.neighbour(chosen_, down); next && *next < context.state.notes().all().size()) {
      go_to(context, *next);
    }
  }
  void sort_by(std::size_t column) override { table_.sort_by(column); }
  void focus_filter() override { text_.focus(); }
  [[nodiscard]] bool is_of_notes() const override { return true; }
  [[nodiscard]] std::string copied(TabContext& context, CopyAs as) const override {
    return table_.copied(NoteRows(context.state.notes().all()), as);
  }

 private:
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

  void go_to(TabContext& context, std::size_t place) {
    chosen_ = place;
    const Note& note = context.state.notes().all()[place];
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

  Filter text_{"note"};
  std::optional<std::size_t> chosen_;
  Table table_{"notes", {{"at"}, {"length"}, {"note", 6, false}}, NoteRows::start_column, false};
};

}  // namespace

std::unique_ptr<Tab> make_notes_tab() {
  return std::make_unique<NotesTab>();
}

}  // namespace kymo::panel
