// A pond of boxes at sunset, drawn in passes that are timed on the GPU.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <kymo/gpu_opengl.hpp>

#include "gl.hpp"
#include "matrix.hpp"

namespace example {

/// For the thread whose OpenGL context is current. Its objects are destroyed with the context.
class Scene {
 public:
  /// Throws std::runtime_error if the context is older than OpenGL 3.3.
  Scene(int width, int height);

  /// Draws a frame into the framebuffer that was bound at construction. Waits if the GPU is two frames behind.
  void draw(const std::vector<float>& heights, float seconds, kymo::OpenGlContext& gpu);

 private:
  struct Target {
    GLuint framebuffer = 0;
    GLuint texture = 0;
    int width = 0;
    int height = 0;
  };
  struct Geometry {
    GLuint framebuffer = 0;
    GLuint albedo = 0;
    GLuint normals = 0;
    GLuint depth = 0;
  };

  [[nodiscard]] GLuint make_shader(GLenum kind, const char* source) const;
  [[nodiscard]] GLuint make_program(const char* vertices, const char* fragments) const;
  [[nodiscard]] GLuint make_texture(GLint format, int width, int height, GLint filter) const;
  [[nodiscard]] GLuint make_framebuffer(const std::vector<GLuint>& colours, GLuint depth) const;
  [[nodiscard]] Target make_target(GLint format, int width, int height) const;

  void begin(GLuint program, GLuint framebuffer, int width, int height) const;
  void bind(GLuint program, const char* name, int unit, GLuint texture) const;
  void draw_boxes(GLuint program, const Matrix& view_projection) const;
  void cover() const;
  void upload(const std::vector<float>& heights) const;
  void shade_shadows(const Matrix& to_light, kymo::OpenGlContext& gpu) const;
  void shade_geometry(const Matrix& camera, kymo::OpenGlContext& gpu) const;
  void shade_light(const Matrix& camera, const Matrix& to_light, const Vector& eye, kymo::OpenGlContext& gpu) const;
  void shade_bloom(kymo::OpenGlContext& gpu) const;
  void compose(kymo::OpenGlContext& gpu) const;
  void pace();

  Gl gl_;
  int width_;
  int height_;
  GLuint screen_ = 0;
  GLuint heights_ = 0;
  Target shadows_;
  Geometry geometry_;
  Target occlusion_;
  Target light_;
  std::array<Target, 2> glow_;
  GLuint shadow_program_ = 0;
  GLuint geometry_program_ = 0;
  GLuint occlusion_program_ = 0;
  GLuint lighting_program_ = 0;
  GLuint bright_program_ = 0;
  GLuint blur_program_ = 0;
  GLuint composite_program_ = 0;
  std::array<GLsync, 2> fences_{};
  std::size_t frames_ = 0;
};

}  // namespace example
