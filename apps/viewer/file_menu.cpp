// The viewer's own menu.
#include "file_menu.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <imgui.h>

#include "panel/draw/canvas.hpp"
#include "panel/draw/text.hpp"
#include "panel/view/keys.hpp"

namespace kymo::viewer {

namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

/// An item with any text. Returns whether it was chosen.
bool put_item(int id, const std::string& text) {
  ImGui::PushID(id);
  const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  const ImVec2 at = ImGui::GetCursorPos();
  const bool is_chosen = ImGui::Selectable("##item", false, ImGuiSelectableFlags_None, ImVec2(width, 0));
  ImGui::SetCursorPos(at);
  panel::say(text);
  ImGui::PopID();
  return is_chosen;
}

}  // namespace

void FileMenu::remember(const std::string& path) {
  const std::string whole = absolute(path);
  recent_.erase(std::remove(recent_.begin(), recent_.end(), whole), recent_.end());
  recent_.insert(recent_.begin(), whole);
  recent_.resize(std::min(recent_.size(), most_recent));
}

void FileMenu::add_recent(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (recent_.size() < most_recent && std::find(recent_.begin(), recent_.end(), path) == recent_.end()) {
      recent_.push_back(path);
    }
  }
}

void FileMenu::list(const std::string& directory) {
  directory_ = absolute(directory);
  entries_.clear();
  std::error_code error;
  constexpr std::size_t most_entries = 2000;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end && entries_.size() < most_entries;
       at.increment(error)) {
    const fs::path& path = at->path();
    std::error_code unknown;
    const bool is_directory = at->is_directory(unknown);
    if ((is_directory && path.filename().string().front() != '.') || path.extension() == ".kymo") {
      entries_.push_back({path.filename().string(), is_directory});
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.is_directory != b.is_directory ? a.is_directory : a.name < b.name;
  });
  const std::size_t size = std::min(directory_.size(), sizeof path_ - 1);
  std::memcpy(path_, directory_.data(), size);
  path_[size] = 0;
}

void FileMenu::open_dialog(bool compares) {
  dialog_compares_ = compares;
  if (directory_.empty()) {
    list(recent_.empty() ? "." : fs::path(recent_.front()).parent_path().string());
  } else {
    list(directory_);
  }
  opens_dialog_ = true;
}

void FileMenu::draw_recent(const char* label, bool compares, bool is_enabled, FileChoice& choice) const {
  if (!ImGui::BeginMenu(label, is_enabled && !recent_.empty())) {
    return;
  }
  for (std::size_t i = 0; i < recent_.size(); ++i) {
    if (put_item(static_cast<int>(i), panel::clean_text(recent_[i], 200))) {
      choice.open = {recent_[i]};
      choice.compares = compares;
      ImGui::CloseCurrentPopup();
    }
  }
  ImGui::EndMenu();
}

void FileMenu::draw_menu(const FileMenuState& state, FileChoice& choice) {
  if (!ImGui::BeginMenu("File")) {
    return;
  }
  panel::close_by_escape();
  if (ImGui::MenuItem("Open...", "")) {
    open_dialog();
  }
  draw_recent("Open recent", false, true, choice);
  ImGui::Separator();
  if (ImGui::MenuItem("Compare with...", "", false, state.has_captures)) {
    open_dialog(true);
  }
  draw_recent("Compare with recent", true, state.has_captures, choice);
  if (ImGui::MenuItem("End the comparison", "", false, state.is_comparing)) {
    choice.ends_comparison = true;
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Light colours", "", state.theme == Theme::light)) {
    choice.changes_theme = true;
  }
  ImGui::Separator();
  if (ImGui::MenuItem("Quit", "")) {
    choice.quits = true;
  }
  ImGui::EndMenu();
}

void FileMenu::draw_dialog(FileChoice& choice) {
  const char* const title = dialog_compares_ ? "Compare with a capture" : "Open a capture";
  if (opens_dialog_) {
    ImGui::OpenPopup(title);
    opens_dialog_ = false;
  }
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float font = ImGui::GetFontSize();
  ImGui::SetNextWindowSize(ImVec2(std::min(font * 40, screen.x), std::min(font * 30, screen.y)), ImGuiCond_Appearing);
  if (!ImGui::BeginPopupModal(title, nullptr, ImGuiWindowFlags_NoSavedSettings)) {
    return;
  }
  panel::close_by_escape();
  const auto choose = [&](const std::string& path) {
    choice.open = {path};
    choice.compares = dialog_compares_;
    ImGui::CloseCurrentPopup();
  };
  ImGui::SetNextItemWidth(-font * 6);
  if (ImGui::IsWindowAppearing()) {
    ImGui::SetKeyboardFocusHere();
  }
  bool is_entered = ImGui::InputText("##path", path_, sizeof path_, ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::SameLine();
  is_entered = ImGui::Button(dialog_compares_ ? "Compare" : "Open") || is_entered;
  ImGui::TextUnformatted(dialog_compares_ ? "The recording of before: a file *.kymo, or a directory of captures."
                                          : "A file *.kymo, or a directory: all captures in it, on one axis of time.");
  ImGui::BeginChild("entries", ImVec2(0, -ImGui::GetFrameHeightWithSpacing()), true);
  std::string next;
  if (put_item(-1, "..  (up)")) {
    next = fs::path(directory_).parent_path().string();
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (put_item(static_cast<int>(i), panel::clean_text(entry.name, 200) + (entry.is_directory ? "/" : ""))) {
      const std::string path = (fs::path(directory_) / entry.name).string();
      if (entry.is_directory) {
        next = path;
      } else {
        choose(path);
      }
    }
  }
  ImGui::EndChild();
  if (!next.empty()) {
    list(next);
  }
  if (is_entered && path_[0] != 0) {
    choose(path_);
  }
  if (ImGui::Button("Cancel")) {
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

}  // namespace kymo::viewer
