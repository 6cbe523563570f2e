// Two captures beside each other: the same stretch of both on one axis, the verdicts of `kymo compare`, and the
// distributions of what is chosen over each other.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "panel/compare/alignment.hpp"
#include "panel/compare/judged.hpp"
#include "panel/compare/verdict_table.hpp"
#include "panel/data/worker.hpp"
#include "panel/lists/lists.hpp"
#include "panel/view/panel_view.hpp"

namespace kymo::panel {

/// One of the captures that are compared.
struct ComparedCapture {
  std::shared_ptr<BlockProvider> provider;
  std::string title;  ///< on one line
  SideRuns runs;      ///< the same data once more; opened on another thread
};

/// Positions on the screen in the last frame.
struct CompareMarks {
  std::array<Area, 3> alignments;  ///< the buttons, in the order of Align
  Area arrange;
  Area table;
  Area distributions;  ///< empty: nothing is chosen
};

/// Draws two captures and handles all gestures. What is done to one side is done to the other as well, as far as it can
/// be: time, the marked site, the measured range and, if they are aligned by frames, the pinned frame. For the drawing
/// thread.
class CompareView {
 public:
  /// `options` are for both sides, but the menu; notes are not kept.
  CompareView(const ComparedCapture& base, const ComparedCapture& changed, const ViewOptions& options,
              const DataOptions& data);
  CompareView(const CompareView&) = delete;
  CompareView& operator=(const CompareView&) = delete;
  ~CompareView();

  /// Fills the rest of the current window.
  void draw();
  /// Takes data that was read. Returns whether there is something new to draw.
  bool poll();
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] bool is_live() const;
  /// Waits for data that is being read.
  void wait() const;

  [[nodiscard]] PanelView& base() { return *sides_[0].view; }
  [[nodiscard]] PanelView& changed() { return *sides_[1].view; }
  [[nodiscard]] Align alignment() const { return align_; }
  void align_by(Align align);
  /// Whether the sides stand side by side instead of one above the other.
  [[nodiscard]] bool is_beside() const { return is_beside_; }
  [[nodiscard]] const CompareMarks& marks() const { return marks_; }
  /// The text above the sides in the last frame, a line each.
  [[nodiscard]] const std::string& header() const { return header_; }
  /// Nothing while the captures are being read.
  [[nodiscard]] const Judged* judged() const { return judged_.get(); }
  [[nodiscard]] std::optional<std::size_t> chosen() const { return verdicts_.chosen(); }
  /// The text above the distributions; empty: nothing is chosen.
  [[nodiscard]] std::string distributions() const;
  /// The shown verdicts.
  [[nodiscard]] std::string copied(CopyAs as) const { return judged_ ? verdicts_.copied(*judged_, as) : std::string(); }

 private:
  /// What the other side was told last.
  struct Told {
    TimeRange flame;
    TimeRange overview;
    SiteId site;
    std::optional<TimeRange> measured;
    std::int64_t pinned_ns = 0;
    bool is_pinned = false;
    bool is_paused = false;
  };
  struct Side {
    std::unique_ptr<PanelView> view;
    const char* id = "";
    KeptList<MarkList> marks;
    Told told;
    [[nodiscard]] ViewState& state() const { return view->state(); }
  };

  void start_judging();
  /// Judges again what grew, at most every second and in a quarter of the time. Without a thread it would stop the
  /// screen.
  void judge_what_grew();
  void take(std::shared_ptr<const Judged> judged);
  /// Increases with what either side reads.
  [[nodiscard]] std::uint64_t data_version() const;
  void link();
  [[nodiscard]] Anchors anchors_from(std::size_t side) const {
    return {anchors_ns_[side], anchors_ns_[1 - side], number_};
  }
  void place_anchors(std::size_t leader);
  /// Makes room on each axis for what the other side has.
  void make_room();
  void link_ranges(std::size_t leader);
  void link_pins(std::size_t leader);
  void link_marks(std::size_t leader);
  void remember();
  [[nodiscard]] SiteId partner_of(std::size_t side, SiteId site) const;
  void choose_site_of_row();
  void choose_row_of_site();
  void draw_menus();
  void draw_header();
  bool draw_choice(const char* label, bool is_on, Area& mark);
  void draw_sides(float height);
  void draw_side(std::size_t side, float width, float height);
  void draw_table();
  void use_keyboard();
  bool use_character(unsigned character);
  [[nodiscard]] const stats::ComparedThing* chosen_thing() const;

  ViewOptions options_;
  std::array<Side, 2> sides_;
  std::size_t active_ = 1;  // the side under the pointer, or the last one
  Align align_ = Align::start;
  bool aligns_anew_ = true;
  std::uint64_t marks_version_ = 0;  // of both sides, as aligned last
  std::array<std::int64_t, 2> anchors_ns_{};
  std::uint64_t number_ = 0;
  bool is_unaligned_ = false;  // one side has no such frame or sync point
  bool is_beside_ = false;
  bool is_table_open_ = true;
  bool shows_help_ = false;
  CompareMarks marks_;
  std::string header_;
  VerdictTable verdicts_;
  std::optional<DistributionView> distributions_;
  std::optional<std::size_t> drawn_thing_;  // that distributions_ is of
  std::uint64_t judged_version_ = 0;
  std::array<SideRuns, 2> runs_;
  std::uint64_t judged_data_ = 0;  // data_version() when the last judging began
  std::chrono::steady_clock::time_point judging_since_;
  std::chrono::steady_clock::time_point judges_again_at_;
  bool is_judging_ = false;
  bool judges_again_ = false;
  std::shared_ptr<const Judged> judged_;
  std::string judging_failed_;                                                                 // why; empty: it did not
  std::shared_ptr<std::atomic<float>> progress_ = std::make_shared<std::atomic<float>>(0.0F);  // below 0: stop
  Worker worker_;                                                                              // ends first
};

}  // namespace kymo::panel
