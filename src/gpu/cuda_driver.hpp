// Timing by CUDA events.
//
// An event's time can only be measured relative to another event. So from time to time one, the anchor, is recorded on
// an idle stream between two readings of the processor's clock. Ticks are nanoseconds since the first anchor, summed up
// from anchor to anchor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <kymo/gpu_cuda.hpp>

#include "gpu/cuda_library.hpp"

namespace kymo::gpu {

class CudaDriver final : public GpuDriver {
 public:
  [[nodiscard]] static GpuDriverOrTrouble make(const std::string& library);

  explicit CudaDriver(std::unique_ptr<const CudaLibrary> cuda) : cuda_(std::move(cuda)) {}
  ~CudaDriver() override;

  [[nodiscard]] GpuClockFacts clock() const noexcept override;
  [[nodiscard]] std::optional<GpuClockPair> read_clock() noexcept override;
  [[nodiscard]] std::string track_name(void* place) override;
  [[nodiscard]] bool is_timed(void* place) noexcept override;
  bool write_begin(std::uint32_t timer, void* place) noexcept override;
  bool write_end(std::uint32_t timer, void* place) noexcept override;
  [[nodiscard]] GpuAnswer ask(std::uint32_t timer, GpuTimes& times) noexcept override;
  bool recycle(std::uint32_t timer, bool has_answered) noexcept override;
  [[nodiscard]] bool is_lost() noexcept override { return is_lost_; }

 private:
  struct Events {
    CudaEvent begin = nullptr;
    CudaEvent end = nullptr;
  };
  class Current;
  class Relaxed;

  /// A description of the problem; empty if there is none.
  [[nodiscard]] std::string set_up();
  [[nodiscard]] bool make_room(std::uint32_t timer);
  /// Whether a call succeeded. Remembers results that mean a broken context.
  bool is_fine(CudaResult result) noexcept;
  [[nodiscard]] bool elapsed_ns(CudaEvent from, CudaEvent to, std::int64_t& ns) noexcept;
  void destroy(Events& events) noexcept;

  std::unique_ptr<const CudaLibrary> cuda_;
  CudaContextHandle context_ = nullptr;
  int device_ = 0;
  bool has_retained_ = false;
  bool is_lost_ = false;
  CudaStream side_ = nullptr;   // an idle stream
  CudaEvent anchor_ = nullptr;  // its ticks are known
  CudaEvent next_ = nullptr;    // the next anchor
  std::uint64_t anchor_ticks_ = 0;
  bool has_anchor_ = false;
  std::vector<Events> events_;                        // by timer
  std::unordered_map<void*, std::uint32_t> streams_;  // numbers of streams
};

}  // namespace kymo::gpu
