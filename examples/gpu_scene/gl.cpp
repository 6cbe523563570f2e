#include "gl.hpp"

#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace example {

Gl::Function Gl::find(const char* name) {
  static void* const library = ::dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  static const auto get =
      reinterpret_cast<Function (*)(const char*)>(library != nullptr ? ::dlsym(library, "eglGetProcAddress") : nullptr);
  return get != nullptr ? get(name) : nullptr;
}

Gl::Gl() {
  const auto take = [](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(name));
    if (function == nullptr) {
      throw std::runtime_error(std::string("this machine's OpenGL lacks ") + name);
    }
  };
  take("glActiveTexture", active_texture);
  take("glAttachShader", attach_shader);
  take("glBindFramebuffer", bind_framebuffer);
  take("glBindTexture", bind_texture);
  take("glBindVertexArray", bind_vertex_array);
  take("glCheckFramebufferStatus", check_framebuffer_status);
  take("glClear", clear);
  take("glClientWaitSync", client_wait_sync);
  take("glCompileShader", compile_shader);
  take("glCreateProgram", create_program);
  take("glCreateShader", create_shader);
  take("glDeleteShader", delete_shader);
  take("glDeleteSync", delete_sync);
  take("glDisable", disable);
  take("glDrawArrays", draw_arrays);
  take("glDrawArraysInstanced", draw_arrays_instanced);
  take("glDrawBuffers", draw_buffers);
  take("glEnable", enable);
  take("glFenceSync", fence_sync);
  take("glFramebufferTexture2D", framebuffer_texture);
  take("glGenFramebuffers", gen_framebuffers);
  take("glGenTextures", gen_textures);
  take("glGenVertexArrays", gen_vertex_arrays);
  take("glGetIntegerv", get_integer);
  take("glGetProgramInfoLog", get_program_log);
  take("glGetProgramiv", get_program);
  take("glGetShaderInfoLog", get_shader_log);
  take("glGetShaderiv", get_shader);
  take("glGetString", get_string);
  take("glGetUniformLocation", get_uniform_location);
  take("glLinkProgram", link_program);
  take("glShaderSource", shader_source);
  take("glTexImage2D", tex_image);
  take("glTexParameteri", tex_parameter);
  take("glTexSubImage2D", tex_sub_image);
  take("glUniform1f", uniform_float);
  take("glUniform1i", uniform_int);
  take("glUniform2f", uniform_vec2);
  take("glUniform3f", uniform_vec3);
  take("glUniformMatrix4fv", uniform_matrix);
  take("glUseProgram", use_program);
  take("glViewport", viewport);
}

}  // namespace example
