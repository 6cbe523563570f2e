#include "scene.hpp"

#include <cmath>
#include <stdexcept>

#include <kymo/kymo.hpp>

#include "shaders.hpp"
#include "waves.hpp"

namespace example {

namespace {

constexpr int shadow_side = 1024;
constexpr int boxes = Waves::side * Waves::side;
constexpr int vertices_a_box = 36;
const Vector sun = normalise({-0.62F, 0.36F, -0.7F});

}  // namespace

Scene::Scene(int width, int height) : width_(width), height_(height) {
  GLint screen = 0;
  gl_.get_integer(GL_FRAMEBUFFER_BINDING, &screen);
  screen_ = static_cast<GLuint>(screen);
  GLuint vertices = 0;
  gl_.gen_vertex_arrays(1, &vertices);
  gl_.bind_vertex_array(vertices);
  heights_ = make_texture(GL_R32F, Waves::side, Waves::side, GL_NEAREST);
  shadows_ = {0, make_texture(GL_DEPTH_COMPONENT24, shadow_side, shadow_side, GL_NEAREST), shadow_side, shadow_side};
  shadows_.framebuffer = make_framebuffer({}, shadows_.texture);
  geometry_.albedo = make_texture(GL_RGBA8, width, height, GL_NEAREST);
  geometry_.normals = make_texture(GL_RGBA8, width, height, GL_NEAREST);
  geometry_.depth = make_texture(GL_DEPTH_COMPONENT24, width, height, GL_NEAREST);
  geometry_.framebuffer = make_framebuffer({geometry_.albedo, geometry_.normals}, geometry_.depth);
  occlusion_ = make_target(GL_R8, width, height);
  light_ = make_target(GL_RGBA16F, width, height);
  glow_ = {make_target(GL_RGBA16F, width / 2, height / 2), make_target(GL_RGBA16F, width / 2, height / 2)};
  shadow_program_ = make_program(shaders::boxes, shaders::depth_only);
  geometry_program_ = make_program(shaders::boxes, shaders::geometry);
  occlusion_program_ = make_program(shaders::screen, shaders::occlusion);
  lighting_program_ = make_program(shaders::screen, shaders::lighting);
  bright_program_ = make_program(shaders::screen, shaders::bright);
  blur_program_ = make_program(shaders::screen, shaders::blur);
  composite_program_ = make_program(shaders::screen, shaders::composite);
}

GLuint Scene::make_shader(GLenum kind, const char* source) const {
  const GLuint shader = gl_.create_shader(kind);
  gl_.shader_source(shader, 1, &source, nullptr);
  gl_.compile_shader(shader);
  GLint is_fine = 0;
  gl_.get_shader(shader, GL_COMPILE_STATUS, &is_fine);
  if (is_fine == 0) {
    std::string log(4096, '\0');
    gl_.get_shader_log(shader, static_cast<GLsizei>(log.size()), nullptr, log.data());
    throw std::runtime_error("a shader is not understood; OpenGL 3.3 is needed: " + log);
  }
  return shader;
}

GLuint Scene::make_program(const char* vertices, const char* fragments) const {
  const GLuint program = gl_.create_program();
  for (const GLuint shader : {make_shader(GL_VERTEX_SHADER, vertices), make_shader(GL_FRAGMENT_SHADER, fragments)}) {
    gl_.attach_shader(program, shader);
    gl_.delete_shader(shader);
  }
  gl_.link_program(program);
  GLint is_fine = 0;
  gl_.get_program(program, GL_LINK_STATUS, &is_fine);
  if (is_fine == 0) {
    std::string log(4096, '\0');
    gl_.get_program_log(program, static_cast<GLsizei>(log.size()), nullptr, log.data());
    throw std::runtime_error("shaders do not fit together: " + log);
  }
  return program;
}

GLuint Scene::make_texture(GLint format, int width, int height, GLint filter) const {
  const bool is_depth = format == GL_DEPTH_COMPONENT24;
  GLuint texture = 0;
  gl_.gen_textures(1, &texture);
  gl_.bind_texture(GL_TEXTURE_2D, texture);
  gl_.tex_image(GL_TEXTURE_2D, 0, format, width, height, 0, is_depth ? GL_DEPTH_COMPONENT : GL_RGBA, GL_FLOAT, nullptr);
  gl_.tex_parameter(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
  gl_.tex_parameter(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
  gl_.tex_parameter(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl_.tex_parameter(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  return texture;
}

GLuint Scene::make_framebuffer(const std::vector<GLuint>& colours, GLuint depth) const {
  GLuint framebuffer = 0;
  gl_.gen_framebuffers(1, &framebuffer);
  gl_.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
  std::vector<GLenum> buffers;
  for (const GLuint colour : colours) {
    buffers.push_back(GL_COLOR_ATTACHMENT0 + static_cast<GLenum>(buffers.size()));
    gl_.framebuffer_texture(GL_FRAMEBUFFER, buffers.back(), GL_TEXTURE_2D, colour, 0);
  }
  if (depth != 0) {
    gl_.framebuffer_texture(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, depth, 0);
  }
  gl_.draw_buffers(static_cast<GLsizei>(buffers.size()), buffers.data());
  if (gl_.check_framebuffer_status(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
    throw std::runtime_error("this machine's OpenGL cannot draw into such pictures");
  }
  return framebuffer;
}

Scene::Target Scene::make_target(GLint format, int width, int height) const {
  const GLuint texture = make_texture(format, width, height, GL_LINEAR);
  return {make_framebuffer({texture}, 0), texture, width, height};
}

void Scene::begin(GLuint program, GLuint framebuffer, int width, int height) const {
  gl_.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
  gl_.viewport(0, 0, width, height);
  gl_.use_program(program);
}

void Scene::bind(GLuint program, const char* name, int unit, GLuint texture) const {
  gl_.active_texture(GL_TEXTURE0 + static_cast<GLenum>(unit));
  gl_.bind_texture(GL_TEXTURE_2D, texture);
  gl_.uniform_int(gl_.get_uniform_location(program, name), unit);
}

void Scene::draw_boxes(GLuint program, const Matrix& view_projection) const {
  gl_.enable(GL_DEPTH_TEST);
  gl_.clear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  bind(program, "heights", 0, heights_);
  gl_.uniform_int(gl_.get_uniform_location(program, "side"), Waves::side);
  gl_.uniform_matrix(gl_.get_uniform_location(program, "view_projection"), 1, GL_FALSE, view_projection.data());
  gl_.draw_arrays_instanced(GL_TRIANGLES, 0, vertices_a_box, boxes);
}

void Scene::cover() const {
  gl_.disable(GL_DEPTH_TEST);
  gl_.draw_arrays(GL_TRIANGLES, 0, 3);
}

void Scene::upload(const std::vector<float>& heights) const {
  KYMO_SCOPE("upload", {"bytes", heights.size() * sizeof(float)});
  gl_.active_texture(GL_TEXTURE0);
  gl_.bind_texture(GL_TEXTURE_2D, heights_);
  gl_.tex_sub_image(GL_TEXTURE_2D, 0, 0, 0, Waves::side, Waves::side, GL_RED, GL_FLOAT, heights.data());
}

void Scene::shade_shadows(const Matrix& to_light, kymo::OpenGlContext& gpu) const {
  KYMO_GPU_SCOPE(gpu, "shadow pass", {"casters", boxes});
  begin(shadow_program_, shadows_.framebuffer, shadow_side, shadow_side);
  draw_boxes(shadow_program_, to_light);
}

void Scene::shade_geometry(const Matrix& camera, kymo::OpenGlContext& gpu) const {
  KYMO_GPU_SCOPE(gpu, "geometry", {"triangles", boxes * vertices_a_box / 3});
  begin(geometry_program_, geometry_.framebuffer, width_, height_);
  draw_boxes(geometry_program_, camera);
}

void Scene::shade_light(const Matrix& camera, const Matrix& to_light, const Vector& eye,
                        kymo::OpenGlContext& gpu) const {
  {
    KYMO_GPU_SCOPE(gpu, "ambient occlusion");
    begin(occlusion_program_, occlusion_.framebuffer, width_, height_);
    bind(occlusion_program_, "depth", 0, geometry_.depth);
    gl_.uniform_vec2(gl_.get_uniform_location(occlusion_program_, "texel"), 1.0F / static_cast<float>(width_),
                     1.0F / static_cast<float>(height_));
    cover();
  }
  KYMO_GPU_SCOPE(gpu, "lighting");
  const GLuint program = lighting_program_;
  begin(program, light_.framebuffer, width_, height_);
  bind(program, "albedo", 0, geometry_.albedo);
  bind(program, "normals", 1, geometry_.normals);
  bind(program, "depth", 2, geometry_.depth);
  bind(program, "occlusion", 3, occlusion_.texture);
  bind(program, "shadows", 4, shadows_.texture);
  gl_.uniform_matrix(gl_.get_uniform_location(program, "to_world"), 1, GL_FALSE, invert(camera).data());
  gl_.uniform_matrix(gl_.get_uniform_location(program, "to_light"), 1, GL_FALSE, to_light.data());
  gl_.uniform_vec3(gl_.get_uniform_location(program, "sun"), sun[0], sun[1], sun[2]);
  gl_.uniform_vec3(gl_.get_uniform_location(program, "eye"), eye[0], eye[1], eye[2]);
  cover();
}

void Scene::shade_bloom(kymo::OpenGlContext& gpu) const {
  KYMO_GPU_SCOPE(gpu, "bloom");
  {
    KYMO_GPU_SCOPE(gpu, "bright parts");
    begin(bright_program_, glow_[0].framebuffer, glow_[0].width, glow_[0].height);
    bind(bright_program_, "light", 0, light_.texture);
    cover();
  }
  KYMO_GPU_SCOPE(gpu, "blur", {"rounds", 2});
  for (std::size_t i = 0; i < 4; ++i) {
    const Target& from = glow_[i % 2];
    const Target& to = glow_[(i + 1) % 2];
    begin(blur_program_, to.framebuffer, to.width, to.height);
    bind(blur_program_, "light", 0, from.texture);
    const float reach = i < 2 ? 1.2F : 2.6F;
    gl_.uniform_vec2(gl_.get_uniform_location(blur_program_, "step"),
                     i % 2 == 0 ? reach / static_cast<float>(to.width) : 0,
                     i % 2 == 1 ? reach / static_cast<float>(to.height) : 0);
    cover();
  }
}

void Scene::compose(kymo::OpenGlContext& gpu) const {
  KYMO_GPU_SCOPE(gpu, "composite");
  begin(composite_program_, screen_, width_, height_);
  bind(composite_program_, "light", 0, light_.texture);
  bind(composite_program_, "glow", 1, glow_[0].texture);
  cover();
}

void Scene::pace() {
  GLsync& fence = fences_[frames_++ % fences_.size()];
  if (fence != nullptr) {
    KYMO_SCOPE("wait for the GPU");
    constexpr GLuint64 a_second = 1'000'000'000;
    gl_.client_wait_sync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, a_second);
    gl_.delete_sync(fence);
  }
  fence = gl_.fence_sync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
}

void Scene::draw(const std::vector<float>& heights, float seconds, kymo::OpenGlContext& gpu) {
  const float angle = 0.6F + seconds * 0.12F;
  const Vector eye{std::cos(angle) * 46, 17, std::sin(angle) * 46};
  const Matrix camera = multiply(perspective(0.85F, static_cast<float>(width_) / static_cast<float>(height_), 1, 220),
                                 look_at(eye, {0, 2, 0}));
  const Matrix to_light =
      multiply(orthographic(54, 10, 180), look_at({sun[0] * 90, sun[1] * 90, sun[2] * 90}, {0, 0, 0}));
  upload(heights);
  {
    KYMO_GPU_SCOPE(gpu, "frame");
    shade_shadows(to_light, gpu);
    shade_geometry(camera, gpu);
    shade_light(camera, to_light, eye, gpu);
    shade_bloom(gpu);
    compose(gpu);
  }
  pace();
}

}  // namespace example
