// The OpenGL 3.3 functions that the scene calls, looked up at run time.
#pragma once

#include <GL/gl.h>
#include <GL/glext.h>

namespace example {

struct Gl {
  using Function = void (*)();

  /// Looks them up for the current context. Throws std::runtime_error if one is missing.
  Gl();

  /// Looks up an OpenGL function through this process's EGL.
  static Function find(const char* name);

  PFNGLACTIVETEXTUREPROC active_texture = nullptr;
  PFNGLATTACHSHADERPROC attach_shader = nullptr;
  PFNGLBINDFRAMEBUFFERPROC bind_framebuffer = nullptr;
  PFNGLBINDVERTEXARRAYPROC bind_vertex_array = nullptr;
  PFNGLCHECKFRAMEBUFFERSTATUSPROC check_framebuffer_status = nullptr;
  PFNGLCLIENTWAITSYNCPROC client_wait_sync = nullptr;
  PFNGLCOMPILESHADERPROC compile_shader = nullptr;
  PFNGLCREATEPROGRAMPROC create_program = nullptr;
  PFNGLCREATESHADERPROC create_shader = nullptr;
  PFNGLDELETESHADERPROC delete_shader = nullptr;
  PFNGLDELETESYNCPROC delete_sync = nullptr;
  PFNGLDRAWARRAYSINSTANCEDPROC draw_arrays_instanced = nullptr;
  PFNGLDRAWBUFFERSPROC draw_buffers = nullptr;
  PFNGLFENCESYNCPROC fence_sync = nullptr;
  PFNGLFRAMEBUFFERTEXTURE2DPROC framebuffer_texture = nullptr;
  PFNGLGENFRAMEBUFFERSPROC gen_framebuffers = nullptr;
  PFNGLGENVERTEXARRAYSPROC gen_vertex_arrays = nullptr;
  PFNGLGETPROGRAMINFOLOGPROC get_program_log = nullptr;
  PFNGLGETPROGRAMIVPROC get_program = nullptr;
  PFNGLGETSHADERINFOLOGPROC get_shader_log = nullptr;
  PFNGLGETSHADERIVPROC get_shader = nullptr;
  PFNGLGETUNIFORMLOCATIONPROC get_uniform_location = nullptr;
  PFNGLLINKPROGRAMPROC link_program = nullptr;
  PFNGLSHADERSOURCEPROC shader_source = nullptr;
  PFNGLUNIFORM1FPROC uniform_float = nullptr;
  PFNGLUNIFORM1IPROC uniform_int = nullptr;
  PFNGLUNIFORM2FPROC uniform_vec2 = nullptr;
  PFNGLUNIFORM3FPROC uniform_vec3 = nullptr;
  PFNGLUNIFORMMATRIX4FVPROC uniform_matrix = nullptr;
  PFNGLUSEPROGRAMPROC use_program = nullptr;

  // Functions of OpenGL 1.1, which headers declare.
  decltype(&glBindTexture) bind_texture = nullptr;
  decltype(&glClear) clear = nullptr;
  decltype(&glDisable) disable = nullptr;
  decltype(&glDrawArrays) draw_arrays = nullptr;
  decltype(&glEnable) enable = nullptr;
  decltype(&glGenTextures) gen_textures = nullptr;
  decltype(&glGetIntegerv) get_integer = nullptr;
  decltype(&glGetString) get_string = nullptr;
  decltype(&glTexImage2D) tex_image = nullptr;
  decltype(&glTexParameteri) tex_parameter = nullptr;
  decltype(&glTexSubImage2D) tex_sub_image = nullptr;
  decltype(&glViewport) viewport = nullptr;
};

}  // namespace example
