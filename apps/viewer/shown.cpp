// The window's content: captures, or instructions on how to get some.
#include "shown.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include "beside.hpp"
#include "panel/data/timeline_blocks.hpp"
#include "panel/draw/text.hpp"

namespace kymo::viewer {

namespace {

std::string title_of(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return {};
  }
  const std::filesystem::path path = std::filesystem::path(paths.front()).lexically_normal();
  const std::filesystem::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  std::string title = name.empty() ? path.string() : name.string();
  if (paths.size() > 1) {
    title += " and " + std::to_string(paths.size() - 1) + " more";
  }
  return panel::clean_text(title);
}

std::int64_t add(std::int64_t time_ns, std::int64_t length_ns) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(time_ns, length_ns, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

void draw_centred(const char* text) {
  const float width = ImGui::CalcTextSize(text).x;
  ImGui::SetCursorPosX((ImGui::GetWindowWidth() - width) / 2);
  ImGui::TextUnformatted(text);
}

}  // namespace

panel::ViewOptions Shown::view_options(const std::vector<std::string>& paths) {
  panel::ViewOptions options;
  options.draw_file_menu = [this] { file_menu_.draw_menu(theme_, choice_); };
  const std::string notes = notes_path(paths);
  options.load_notes = [notes] { return read_small_file(notes); };
  options.save_notes = [this, notes](const std::string& text) {
    try {
      write_notes(notes, text);
    } catch (const std::exception& error) {
      notice_ = {std::string("the notes are not saved: ") + error.what(), {}};
    }
  };
  options.read_source = read_small_file;
  if (const char* const command = std::getenv("KYMO_EDITOR"); command != nullptr && command[0] != 0) {
    options.open_source = [this, command = std::string(command)](const std::string& file, std::uint32_t line) {
      try {
        const std::vector<std::string> words = editor_words(command, file, line);
        if (words.empty()) {
          throw std::runtime_error("the source is not on this machine: " + file);
        }
        start_program(words);
      } catch (const std::exception& error) {
        notice_ = {error.what(), {}};
      }
    };
  }
  return options;
}

void Shown::open(const std::vector<std::string>& paths) {
  auto view = std::make_unique<panel::PanelView>(std::make_shared<panel::TimelineBlocks>(Timeline(paths)),
                                                 view_options(paths), panel::DataOptions{});
  if (view_ != nullptr) {
    view->open_tab(view_->tab());
  }
  view_ = std::move(view);
  paths_ = paths;
  title_ = title_of(paths);
  notice_ = {};
  for (const std::string& path : paths) {
    file_menu_.remember(path);
  }
}

void Shown::try_to_open(const std::vector<std::string>& paths) {
  try {
    open(paths);
  } catch (const std::exception& error) {
    notice_ = {error.what(), {}};
  }
}

void Shown::take_choice() {
  const FileChoice choice = std::exchange(choice_, {});
  if (choice.changes_theme) {
    theme_ = theme_ == Theme::dark ? Theme::light : Theme::dark;
  }
  wants_to_quit_ = wants_to_quit_ || choice.quits;
  if (!choice.open.empty()) {
    try_to_open(choice.open);
  }
}

void Shown::open_dropped(const std::vector<std::string>& paths) {
  std::vector<std::string> together = paths_;
  together.insert(together.end(), paths.begin(), paths.end());
  const bool had_some = !paths_.empty();
  const std::string before = title_;
  try {
    open(paths);
    if (had_some) {
      notice_ = {"shown instead of " + before, std::move(together)};
    }
  } catch (const std::exception& error) {
    notice_ = {error.what(), {}};
  }
}

void Shown::go_to(const Options& options) {
  if (view_ == nullptr) {
    return;
  }
  panel::ViewState& state = view_->state();
  const TimeRange all = state.data().range();
  if (options.time) {
    const TimeRange range{add(all.start_ns, options.time->start_ns),
                          options.time->end_ns ? add(all.start_ns, *options.time->end_ns) : all.end_ns};
    state.overview().show(range);
    state.flame().show(range);
    state.hold();
  }
  if (options.at_ns) {
    state.pin_at(add(all.start_ns, *options.at_ns));
  }
  if (!options.tab.empty()) {
    view_->open_tab(options.tab);
  }
}

bool Shown::poll() {
  return view_ != nullptr && view_->state().data().poll();
}
bool Shown::is_busy() const {
  return view_ != nullptr && view_->state().data().is_busy();
}
bool Shown::is_live() const {
  return view_ != nullptr && view_->state().data().provider().is_live();
}
void Shown::wait() const {
  if (view_ != nullptr) {
    view_->state().data().wait();
  }
}

void Shown::draw() {
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
  ImGui::Begin("kymo", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse);
  if (!notice_.text.empty()) {
    draw_notice();
  }
  if (view_ != nullptr) {
    view_->draw();
  } else {
    draw_invitation();
  }
  file_menu_.draw_dialog(choice_);
  ImGui::End();
  take_choice();
}

void Shown::draw_notice() {
  // The text is last because it and the names in it may be long.
  bool opens_together = false;
  if (!notice_.together.empty()) {
    opens_together = ImGui::SmallButton(notice_.together.size() == 2 ? "Show both" : "Show all");
    ImGui::SameLine();
  }
  const bool is_put_away = ImGui::SmallButton("Dismiss");
  ImGui::SameLine();
  ImGui::PushTextWrapPos(0);
  panel::say("! " + panel::clean_text(notice_.text, 400));
  ImGui::PopTextWrapPos();
  ImGui::Separator();
  if (opens_together) {
    try_to_open(std::exchange(notice_.together, {}));
  } else if (is_put_away) {
    notice_ = {};
  }
}

void Shown::draw_invitation() {
  ImGui::BeginChild("invitation", ImVec2(0, 0), false, ImGuiWindowFlags_MenuBar);
  if (ImGui::BeginMenuBar()) {
    file_menu_.draw_menu(theme_, choice_);
    ImGui::EndMenuBar();
  }
  ImGui::SetCursorPosY(ImGui::GetWindowHeight() / 2 - 3 * ImGui::GetTextLineHeightWithSpacing());
  draw_centred("Drop a capture here: files *.kymo, or directories of them.");
  ImGui::NewLine();
  const char* const label = "Open a capture...";
  ImGui::SetCursorPosX((ImGui::GetWindowWidth() - ImGui::CalcTextSize(label).x) / 2);
  if (ImGui::Button(label)) {
    file_menu_.open_dialog();
  }
  ImGui::NewLine();
  draw_centred("kymo view run.kymo opens one; kymo record -- PROGRAM makes one.");
  ImGui::EndChild();
}

}  // namespace kymo::viewer
