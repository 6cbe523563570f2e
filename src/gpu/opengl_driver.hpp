// Timer queries of OpenGL.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/gpu_opengl.hpp>

namespace kymo::gpu {

/// The functions, types and values of OpenGL that kymo uses, so that its headers are not needed.
struct OpenGlCalls {
  static constexpr unsigned version = 0x1F02;
  static constexpr unsigned extensions = 0x1F03;
  static constexpr unsigned extension_count = 0x821D;
  static constexpr unsigned timestamp = 0x8E28;
  static constexpr unsigned counter_bits = 0x8864;
  static constexpr unsigned result = 0x8866;
  static constexpr unsigned result_available = 0x8867;

  const unsigned char* (*get_string)(unsigned) = nullptr;
  const unsigned char* (*get_indexed_string)(unsigned, unsigned) = nullptr;
  void (*get_integer)(unsigned, int*) = nullptr;
  void (*get_integer64)(unsigned, std::int64_t*) = nullptr;
  void (*get_query)(unsigned, unsigned, int*) = nullptr;
  void (*make_queries)(int, unsigned*) = nullptr;
  void (*delete_queries)(int, const unsigned*) = nullptr;
  void (*query_counter)(unsigned, unsigned) = nullptr;
  void (*get_query_unsigned)(unsigned, unsigned, unsigned*) = nullptr;
  void (*get_query_unsigned64)(unsigned, unsigned, std::uint64_t*) = nullptr;
  unsigned (*get_reset_status)() = nullptr;  ///< null if the context lacks it

  /// Finds the functions of the current context. False if scopes cannot be timed; `trouble` then gives the reason.
  bool find(OpenGlContext::GetFunction get_function, std::string& trouble);
};

class OpenGlDriver final : public GpuDriver {
 public:
  [[nodiscard]] static GpuDriverOrTrouble make(OpenGlContext::GetFunction get_function);

  OpenGlDriver(const OpenGlCalls& calls, unsigned valid_bits) : calls_(calls), valid_bits_(valid_bits) {}
  ~OpenGlDriver() override;

  [[nodiscard]] GpuClockFacts clock() const noexcept override;
  [[nodiscard]] std::optional<GpuClockPair> read_clock() noexcept override;
  [[nodiscard]] std::string track_name(void* place) override;
  bool write_begin(std::uint32_t timer, void* place) noexcept override;
  bool write_end(std::uint32_t timer, void* place) noexcept override;
  [[nodiscard]] GpuAnswer ask(std::uint32_t timer, GpuTimes& times) noexcept override;
  bool recycle(std::uint32_t timer, bool has_answered) noexcept override;
  [[nodiscard]] bool is_lost() noexcept override;

 private:
  using Queries = std::array<unsigned, 2>;  ///< begin and end

  bool make_room(std::uint32_t timer);

  OpenGlCalls calls_;
  unsigned valid_bits_;
  std::vector<Queries> queries_;  ///< by timer
  bool is_lost_ = false;
};

}  // namespace kymo::gpu
