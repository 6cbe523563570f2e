// Draws two captures, and the table of verdicts below them.
#include "panel/compare/compare_view.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "panel/draw/text.hpp"
#include "panel/view/help.hpp"
#include "panel/view/keys.hpp"

namespace kymo::panel {

namespace {

/// Thrown to end reading early.
struct Stopped final : std::exception {};

/// Whether the distributions have room beside the table.
bool is_wide() {
  return ImGui::GetContentRegionAvail().x > ImGui::GetFontSize() * 60;
}

constexpr std::array<Align, 3> alignments = {Align::start, Align::frame, Align::sync_point};

}  // namespace

CompareView::CompareView(const ComparedCapture& base, const ComparedCapture& changed, const ViewOptions& options,
                         const DataOptions& data)
    : options_(options),
      judges_again_(data.has_thread),
      worker_(data.has_thread, [](Worker::Key) { return Worker::Delivery(); }) {
  const auto palette = std::make_shared<base::NamePalette>();
  std::vector<std::string_view> names;
  for (const ComparedCapture* const capture : {&base, &changed}) {
    for (const SiteDeclaration& site : capture->provider->declarations().sites) {
      names.push_back(site.name);
    }
  }
  palette->add_all(std::move(names));
  DataOptions half = data;
  half.cache_bytes /= 2;  // both together take what one view does
  const auto make = [&](Side& side, const ComparedCapture& capture, const char* id) {
    ViewOptions its = options;
    its.side = SideOptions{std::string(id) + ": " + capture.title, palette};
    its.draw_file_menu = nullptr;
    its.load_notes = nullptr;
    its.save_notes = nullptr;
    side.id = id;
    side.view = std::make_unique<PanelView>(capture.provider, its, half);
  };
  make(sides_[0], base, "base");
  make(sides_[1], changed, "new");
  runs_ = {base.runs, changed.runs};
  start_judging();
}

CompareView::~CompareView() {
  progress_->store(-1);
}

void CompareView::start_judging() {
  is_judging_ = true;
  judged_data_ = data_version();
  judging_since_ = std::chrono::steady_clock::now();
  worker_.ask([this, base = runs_[0], changed = runs_[1], progress = progress_]() -> Worker::Delivery {
    try {
      auto judged = judge(base, changed, [&progress](double share) {
        float known = progress->load();
        if (known < 0 || !progress->compare_exchange_strong(known, static_cast<float>(share))) {
          throw Stopped();
        }
      });
      return [this, judged = std::move(judged)] { take(judged); };
    } catch (const Stopped&) {
      return nullptr;
    } catch (const std::exception& error) {
      return [this, why = std::string(error.what())] {
        judging_failed_ = why;
        take(nullptr);
      };
    }
  });
}

void CompareView::take(std::shared_ptr<const Judged> judged) {
  const auto now = std::chrono::steady_clock::now();
  is_judging_ = false;
  judges_again_at_ =
      now + std::max<std::chrono::steady_clock::duration>(std::chrono::seconds(1), 3 * (now - judging_since_));
  if (judged == nullptr) {
    return;
  }
  judging_failed_.clear();
  const auto& things = judged->comparison.things;
  std::optional<std::size_t> chosen;
  if (const stats::ComparedThing* const before = chosen_thing(); before != nullptr) {
    chosen = place_where(things, [before](const stats::ComparedThing& thing) { return thing.name == before->name; });
  } else if (!things.empty() && (judged_ == nullptr || judged_->comparison.things.empty())) {
    chosen = 0;  // the clearest difference comes first
  }
  judged_ = std::move(judged);
  ++judged_version_;
  drawn_thing_.reset();
  verdicts_.choose(chosen);
  if (judged_version_ == 1) {
    choose_row_of_site();
  }
}

std::uint64_t CompareView::data_version() const {
  return sides_[0].state().data().data_version() + sides_[1].state().data().data_version();
}

void CompareView::judge_what_grew() {
  if (judges_again_ && !is_judging_ && judged_data_ != data_version() &&
      std::chrono::steady_clock::now() >= judges_again_at_) {
    start_judging();
  }
}

bool CompareView::poll() {
  bool is_new = worker_.deliver(std::chrono::milliseconds(3));
  for (const Side& side : sides_) {
    is_new = side.state().data().poll() || is_new;
  }
  judge_what_grew();
  return is_new;
}

bool CompareView::is_busy() const {
  return worker_.is_busy() || sides_[0].state().is_busy() || sides_[1].state().is_busy();
}

bool CompareView::is_live() const {
  return std::any_of(sides_.begin(), sides_.end(),
                     [](const Side& side) { return side.state().data().provider().is_live(); });
}

void CompareView::wait() const {
  for (const Side& side : sides_) {
    if (side.state().data().is_busy()) {
      side.state().data().wait();
      return;
    }
  }
  worker_.wait();
}

void CompareView::align_by(Align align) {
  align_ = align;
  aligns_anew_ = true;
  for (Side& side : sides_) {
    side.told.is_pinned = false;
  }
}

std::string CompareView::distributions() const {
  return chosen_thing() != nullptr && distributions_ ? distributions_->text() : std::string();
}

const stats::ComparedThing* CompareView::chosen_thing() const {
  const auto chosen = verdicts_.chosen();
  return judged_ && chosen && *chosen < judged_->comparison.things.size() ? &judged_->comparison.things[*chosen]
                                                                          : nullptr;
}

void CompareView::draw() {
  static_cast<void>(worker_.deliver(std::chrono::milliseconds(3)));
  judge_what_grew();
  ImGui::PushID(this);
  ImGui::BeginChild("compare", ImVec2(0, 0), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_MenuBar);
  use_keyboard();
  link();
  draw_menus();
  draw_header();
  const float room = ImGui::GetContentRegionAvail().y;
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const float wanted = is_wide() ? std::max(room * 0.3F, line * 7) : std::max(room * 0.4F, line * 14);
  const float table = is_table_open_ ? std::min(wanted, room / 2) : 0;
  draw_sides(room - table);
  marks_.table = {};
  marks_.distributions = {};
  if (is_table_open_) {
    draw_table();
  }
  if (shows_help_) {
    draw_help(current_theme());
  }
  ImGui::EndChild();
  ImGui::PopID();
}

void CompareView::draw_menus() {
  if (ImGui::BeginMenuBar()) {
    if (options_.draw_file_menu) {
      options_.draw_file_menu();
    }
    if (ImGui::BeginMenu("Compare")) {
      close_by_escape();
      for (const Align align : alignments) {
        const std::string label = std::string("Align by ") + name_of(align);
        if (ImGui::MenuItem(label.c_str(), align_ == align ? "" : "y", align_ == align)) {
          align_by(align);
        }
      }
      ImGui::Separator();
      if (ImGui::MenuItem("Side by side", "Y", is_beside_)) {
        is_beside_ = !is_beside_;
      }
      if (ImGui::MenuItem("Verdicts", "t", is_table_open_)) {
        is_table_open_ = !is_table_open_;
      }
      ImGui::EndMenu();
    }
    ImGui::EndMenuBar();
  }
  sides_[active_].view->draw_menus();
}

bool CompareView::draw_choice(const char* label, bool is_on, Area& mark) {
  ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetColorU32(is_on ? ImGuiCol_ButtonActive : ImGuiCol_Button));
  const bool is_pressed = ImGui::SmallButton(label);
  ImGui::PopStyleColor();
  mark = last_item();
  return is_pressed;
}

void CompareView::draw_header() {
  const float gap = ImGui::GetFontSize() * 0.4F;
  say("Align by");
  for (std::size_t i = 0; i < alignments.size(); ++i) {
    ImGui::SameLine(0, gap);
    if (draw_choice(name_of(alignments[i]), align_ == alignments[i], marks_.alignments[i])) {
      align_by(alignments[i]);
    }
  }
  ImGui::SameLine(0, 3 * gap);
  if (draw_choice("side by side", is_beside_, marks_.arrange)) {
    is_beside_ = !is_beside_;
  }
  header_.clear();
  if (judged_ && !judging_failed_.empty()) {
    header_ = "! verdicts are of earlier: " + clean_text(judging_failed_, 300);
  } else if (is_unaligned_) {
    header_ = "! not aligned: one of the two has no such " + std::string(name_of(align_));
  } else if (align_ != Align::start && number_ != 0) {
    header_ = std::string(name_of(align_)) + " " + count_text(number_) + " of both begins at the same place";
  }
  if (!header_.empty()) {
    ImGui::SameLine(0, 3 * gap);
    say(header_);
  }
}

void CompareView::draw_side(std::size_t side, float width, float height) {
  const Theme theme = current_theme();
  ImGui::BeginChild(sides_[side].id, ImVec2(width, height), false,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoScrollbar);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  Canvas(ImGui::GetWindowDrawList())
      .fill(at.x, at.y, at.x + ImGui::GetContentRegionAvail().x, at.y + 2,
            side == 0 ? base_colour(theme) : new_colour(theme));
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + 4));
  if (ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows)) {
    active_ = side;
  }
  sides_[side].view->draw();
  ImGui::EndChild();
}

void CompareView::draw_sides(float height) {
  std::int64_t longest_ns = 0;
  for (Side& side : sides_) {
    longest_ns = std::max(longest_ns, side.state().frame_bars(ViewState::least_bar_pixels).longest_ns);
  }
  for (Side& side : sides_) {
    side.view->share_scale(longest_ns);
  }
  const ImVec2 spacing = ImGui::GetStyle().ItemSpacing;
  if (is_beside_) {
    const float width = (ImGui::GetContentRegionAvail().x - spacing.x) / 2;
    draw_side(0, width, height - spacing.y);
    ImGui::SameLine();
    draw_side(1, width, height - spacing.y);
  } else {
    draw_side(0, 0, height / 2 - spacing.y);
    draw_side(1, 0, height / 2 - spacing.y);
  }
}

void CompareView::draw_table() {
  const Theme theme = current_theme();
  const Area room = rest_of_window();
  marks_.table = room;
  if (!judged_) {
    const auto percent = static_cast<std::uint64_t>(std::max(100 * progress_->load(), 0.0F));
    say(judging_failed_.empty() ? "comparing: " + count_text(percent) + " % read"
                                : "! not compared: " + clean_text(judging_failed_, 300));
    return;
  }
  if (judged_->comparison.things.empty()) {
    say("no scope, span, frame stream or metric of both has the same name");
    return;
  }
  const stats::ComparedThing* thing = chosen_thing();
  if (thing != nullptr && drawn_thing_ != verdicts_.chosen()) {
    drawn_thing_ = verdicts_.chosen();
    distributions_.emplace(*thing);
  }
  // Beside the table, or below it.
  const ImVec2 part(thing != nullptr && is_wide() ? room.width() * 0.68F : 0,
                    thing != nullptr && !is_wide() ? room.height() * 0.55F : 0);
  ImGui::BeginChild("verdicts", part, false, ImGuiWindowFlags_NoScrollbar);
  if (verdicts_.draw(*judged_, judged_version_, theme)) {
    choose_site_of_row();
  }
  ImGui::EndChild();
  marks_.table.right = part.x > 0 ? room.left + part.x : room.right;
  if (part.x > 0) {
    ImGui::SameLine();
  }
  if (thing != nullptr) {
    ImGui::BeginChild("distributions", ImVec2(0, 0), false, ImGuiWindowFlags_NoScrollbar);
    marks_.distributions = rest_of_window();
    distributions_->draw(theme);
    ImGui::EndChild();
  }
}

void CompareView::use_keyboard() {
  if (!ImGui::IsWindowFocused(ImGuiFocusedFlags_RootWindow | ImGuiFocusedFlags_ChildWindows)) {
    return;
  }
  ImGuiIO& io = ImGui::GetIO();
  if (is_pressed(ImGuiKey_Escape)) {
    shows_help_ = false;
    verdicts_.choose(std::nullopt);
  } else if (io.WantTextInput) {
    return;
  }
  const bool up = is_pressed(ImGuiKey_UpArrow);
  if (!io.KeyShift && is_table_open_ && (up || is_pressed(ImGuiKey_DownArrow))) {
    if (verdicts_.choose_next(!up)) {
      choose_site_of_row();
    }
    return;
  }
  // What is left is for the side under the pointer.
  ImVector<ImWchar>& typed = io.InputQueueCharacters;
  int kept = 0;
  for (const ImWchar character : typed) {
    if (!use_character(character)) {
      typed[kept++] = character;
    }
  }
  typed.resize(kept);
  sides_[active_].view->use_keys();
}

bool CompareView::use_character(unsigned character) {
  switch (character) {
    case 'y':
      align_by(alignments[(static_cast<std::size_t>(align_) + 1) % alignments.size()]);
      return true;
    case 'Y':
      is_beside_ = !is_beside_;
      return true;
    case 't':
      is_table_open_ = !is_table_open_;
      return true;
    case 'F':
      verdicts_.focus_filter();
      return true;
    case '?':
      shows_help_ = !shows_help_;
      return true;
    default:
      if (character >= '1' && character <= '9') {
        verdicts_.sort_by(character - '1');
        return true;
      }
      // No tabs here.
      return character == '/' || character == 'N' || character == 'B' || character == 'T' || character == 'b';
  }
}

}  // namespace kymo::panel
