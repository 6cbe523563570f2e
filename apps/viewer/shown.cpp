// The window's content: captures, or instructions on how to get some.
#include "shown.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/time_math.hpp"
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

void draw_centred(const char* text) {
  const float width = ImGui::CalcTextSize(text).x;
  ImGui::SetCursorPosX((ImGui::GetWindowWidth() - width) / 2);
  ImGui::TextUnformatted(text);
}

}  // namespace

template <typename Action>
void Shown::attempt(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    notice_ = {error.what(), {}, {}};
  }
}

panel::ViewOptions Shown::view_options(const std::vector<std::string>& paths) {
  panel::ViewOptions options;
  options.draw_file_menu = [this] { file_menu_.draw_menu({theme_, true, compared_ != nullptr}, choice_); };
  const std::string notes = notes_path(paths);
  options.load_notes = [notes] { return read_small_file(notes); };
  options.save_notes = [this, notes](const std::string& text) {
    try {
      write_notes(notes, text);
    } catch (const std::exception& error) {
      notice_ = {std::string("the notes are not saved: ") + error.what(), {}, {}};
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
        notice_ = {error.what(), {}, {}};
      }
    };
  }
  return options;
}

void Shown::keep_arrangement(const Declarations& declarations, panel::ViewOptions& options) {
  const std::string command = declarations.processes.empty() ? std::string() : declarations.processes[0].command_line;
  const std::string path = arrangement_path(config_folder_, command);
  if (path.empty()) {
    return;
  }
  options.load_arrangement = [path] { return read_small_file(path); };
  options.save_arrangement = [this, path](const std::string& text) { attempt([&] { write_arrangement(path, text); }); };
}

void Shown::remember(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    file_menu_.remember(path);
  }
}

void Shown::open(const std::vector<std::string>& paths) {
  const auto provider = std::make_shared<panel::TimelineBlocks>(Timeline(paths));
  panel::ViewOptions options = view_options(paths);
  keep_arrangement(provider->declarations(), options);
  auto view = std::make_unique<panel::PanelView>(provider, options, panel::DataOptions{});
  if (view_ != nullptr) {
    view->open_tab(view_->tab());
  }
  view_ = std::move(view);
  compared_.reset();
  paths_ = paths;
  title_ = title_of(paths);
  notice_ = {};
  remember(paths);
}

void Shown::compare(const std::vector<std::string>& base, const std::vector<std::string>& changed) {
  const auto side_of = [](const std::vector<std::string>& paths) {
    panel::ComparedCapture side;
    side.provider = std::make_shared<panel::TimelineBlocks>(Timeline(paths));
    side.title = title_of(paths);
    // As for `kymo compare`, each capture of a directory is a run.
    std::vector<std::string> runs;
    const Timeline timeline(paths);
    for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
      runs.push_back(timeline.capture(i).path());
    }
    side.runs = {runs.size(), [runs](std::size_t run) { return Timeline(runs[run]); }};
    return side;
  };
  const panel::ComparedCapture before = side_of(base);
  const panel::ComparedCapture after = side_of(changed);
  compared_ = std::make_unique<panel::CompareView>(before, after, view_options(changed), panel::DataOptions{});
  view_.reset();
  paths_ = changed;
  title_ = before.title + " and " + after.title;
  notice_ = {};
  remember(base);
  remember(changed);
}

void Shown::take_choice() {
  const FileChoice choice = std::exchange(choice_, {});
  if (choice.changes_theme) {
    theme_ = theme_ == Theme::dark ? Theme::light : Theme::dark;
  }
  wants_to_quit_ = wants_to_quit_ || choice.quits;
  if (choice.ends_comparison) {
    attempt([this] { open(std::vector<std::string>(paths_)); });
  } else if (!choice.open.empty()) {
    attempt([&] { choice.compares ? compare(choice.open, std::vector<std::string>(paths_)) : open(choice.open); });
  }
}

void Shown::open_dropped(const std::vector<std::string>& paths) {
  std::vector<std::string> before = paths_;
  std::vector<std::string> together = paths_;
  together.insert(together.end(), paths.begin(), paths.end());
  const std::string title = title_of(paths_);
  attempt([&] {
    open(paths);
    if (!before.empty()) {
      notice_ = {"shown instead of " + title, std::move(together), std::move(before)};
    }
  });
}

void Shown::go_to(const Options& options) {
  if (compared_ != nullptr) {
    compared_->align_by(options.align);
  }
  panel::PanelView* const view = compared_ != nullptr ? &compared_->changed() : view_.get();
  if (view == nullptr) {
    return;
  }
  panel::ViewState& state = view->state();
  const TimeRange all = state.data().range();
  if (options.time) {
    const TimeRange range{base::add_length(all.start_ns, options.time->start_ns),
                          options.time->end_ns ? base::add_length(all.start_ns, *options.time->end_ns) : all.end_ns};
    state.overview().show(range);
    state.flame().show(range);
    state.hold();
  }
  if (options.frame) {
    state.pin_number(*options.frame);
  }
  if (options.at_ns) {
    state.pin_at(base::add_length(all.start_ns, *options.at_ns));
  }
  if (!options.tab.empty()) {
    view->open_tab(options.tab);
  }
}

bool Shown::poll() {
  return compared_ != nullptr ? compared_->poll() : view_ != nullptr && view_->state().data().poll();
}
bool Shown::is_busy() const {
  return compared_ != nullptr ? compared_->is_busy() : view_ != nullptr && view_->state().is_busy();
}
bool Shown::is_live() const {
  return compared_ != nullptr ? compared_->is_live() : view_ != nullptr && view_->state().data().provider().is_live();
}
void Shown::wait() const {
  if (compared_ != nullptr) {
    compared_->wait();
  } else if (view_ != nullptr) {
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
  if (compared_ != nullptr) {
    compared_->draw();
  } else if (view_ != nullptr) {
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
  const bool compares = !notice_.before.empty() && ImGui::SmallButton("Compare");
  if (!notice_.before.empty()) {
    ImGui::SameLine();
  }
  const bool is_put_away = ImGui::SmallButton("Dismiss");
  ImGui::SameLine();
  ImGui::PushTextWrapPos(0);
  panel::say("! " + panel::clean_text(notice_.text, 400));
  ImGui::PopTextWrapPos();
  ImGui::Separator();
  if (opens_together) {
    attempt([this] { open(std::exchange(notice_.together, {})); });
  } else if (compares) {
    attempt([this] { compare(std::exchange(notice_.before, {}), std::vector<std::string>(paths_)); });
  } else if (is_put_away) {
    notice_ = {};
  }
}

void Shown::draw_invitation() {
  ImGui::BeginChild("invitation", ImVec2(0, 0), false, ImGuiWindowFlags_MenuBar);
  if (ImGui::BeginMenuBar()) {
    file_menu_.draw_menu({theme_, false, false}, choice_);
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
