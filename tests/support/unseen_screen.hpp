// Dear ImGui without a renderer.
#pragma once

#include <imgui.h>

namespace kymo::test {

/// An ImGui context with a screen size and a font but no renderer. One thread at a time.
class UnseenScreen {
 public:
  explicit UnseenScreen(ImVec2 size) : context_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = size;
    io.DeltaTime = 1.0F / 60;
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }
  UnseenScreen(const UnseenScreen&) = delete;
  UnseenScreen& operator=(const UnseenScreen&) = delete;
  ~UnseenScreen() { ImGui::DestroyContext(context_); }

  /// Draws a frame of one window over the whole screen; `content` is called inside it.
  template <typename Content>
  void frame(Content&& content) const {
    ImGui::NewFrame();
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("window", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
    content();
    ImGui::End();
    ImGui::Render();
  }

 private:
  ImGuiContext* context_;
};

}  // namespace kymo::test
