// RAII types for Dear ImGui's context and OpenGL renderer.
#pragma once

#include <stdexcept>

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

namespace kymo::viewer {

/// A context, made the current one. It writes no settings file.
class ImGuiOwner {
 public:
  ImGuiOwner() : context_(ImGui::CreateContext()) { ImGui::GetIO().IniFilename = nullptr; }
  ImGuiOwner(const ImGuiOwner&) = delete;
  ImGuiOwner& operator=(const ImGuiOwner&) = delete;
  ~ImGuiOwner() { ImGui::DestroyContext(context_); }

 private:
  ImGuiContext* context_;
};

/// Draws with the current OpenGL context.
class GlRenderer {
 public:
  GlRenderer() {
    if (!ImGui_ImplOpenGL3_Init("#version 130")) {
      throw std::runtime_error("OpenGL cannot be used: libGL.so.1 is not here, or older than 3.0 (Debian: libgl1)");
    }
  }
  GlRenderer(const GlRenderer&) = delete;
  GlRenderer& operator=(const GlRenderer&) = delete;
  ~GlRenderer() { ImGui_ImplOpenGL3_Shutdown(); }
};

}  // namespace kymo::viewer
