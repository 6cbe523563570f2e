#include "gpu/cuda_driver.hpp"

#include <cmath>
#include <new>
#include <utility>

#include "base/system/clock.hpp"

namespace kymo::gpu {

namespace {

/// Limits of waiting for an event on an idle stream: usually, and the first time, when the GPU may have to wake up.
constexpr std::int64_t longest_wait_ns = 100'000;
constexpr std::int64_t longest_first_wait_ns = 2'000'000;
constexpr std::size_t most_streams = 4096;

}  // namespace

/// Makes the context current temporarily.
class CudaDriver::Current {
 public:
  explicit Current(const CudaDriver& driver) noexcept : cuda_(*driver.cuda_) {
    CudaContextHandle now = nullptr;
    cuda_.get_current(&now);
    has_pushed_ = now != driver.context_ && cuda_.push_current(driver.context_) == CudaResult::success;
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    if (has_pushed_) {
      CudaContextHandle ours = nullptr;
      cuda_.pop_current(&ours);
    }
  }

 private:
  const CudaLibrary& cuda_;
  bool has_pushed_ = false;
};

/// Allows calls that would spoil a graph while a thread captures one: all but recording an event on another stream.
class CudaDriver::Relaxed {
 public:
  explicit Relaxed(const CudaDriver& driver) noexcept : current_(driver), cuda_(*driver.cuda_) {
    cuda_.exchange_capture_mode(&mode_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { cuda_.exchange_capture_mode(&mode_); }

 private:
  Current current_;
  const CudaLibrary& cuda_;
  int mode_ = CudaLibrary::relaxed_capture;
};

GpuDriverOrTrouble CudaDriver::make(const std::string& library) {
  std::string trouble;
  std::unique_ptr<const CudaLibrary> cuda = CudaLibrary::open(library, trouble);
  if (cuda == nullptr) {
    return {nullptr, std::move(trouble)};
  }
  auto driver = std::make_unique<CudaDriver>(std::move(cuda));
  trouble = driver->set_up();
  if (!trouble.empty()) {
    return {nullptr, std::move(trouble)};
  }
  return {std::move(driver), {}};
}

std::string CudaDriver::set_up() {
  if (cuda_->get_current(&context_) != CudaResult::success || context_ == nullptr) {
    has_retained_ = cuda_->get_device(&device_, 0) == CudaResult::success &&
                    cuda_->retain_primary(&context_, device_) == CudaResult::success;
    if (!has_retained_) {
      return "CUDA finds no GPU";
    }
  }
  const Relaxed relaxed(*this);
  if (cuda_->get_context_device(&device_) != CudaResult::success ||
      cuda_->create_stream(&side_, CudaLibrary::non_blocking_stream) != CudaResult::success ||
      cuda_->create_event(&anchor_, 0) != CudaResult::success ||
      cuda_->create_event(&next_, 0) != CudaResult::success) {
    return "CUDA makes no streams and events";
  }
  return {};
}

CudaDriver::~CudaDriver() {
  if (context_ == nullptr) {
    return;
  }
  {
    const Relaxed relaxed(*this);
    for (Events& events : events_) {
      destroy(events);
    }
    Events anchors{anchor_, next_};
    destroy(anchors);
    if (side_ != nullptr) {
      cuda_->destroy_stream(side_);
    }
  }
  if (has_retained_) {
    cuda_->release_primary(device_);
  }
}

void CudaDriver::destroy(Events& events) noexcept {
  for (const CudaEvent event : {events.begin, events.end}) {
    if (event != nullptr) {
      cuda_->destroy_event(event);
    }
  }
  events = {};
}

GpuClockFacts CudaDriver::clock() const noexcept {
  return {1, 64};
}

bool CudaDriver::is_fine(CudaResult result) noexcept {
  switch (result) {
    case CudaResult::success:
      return true;
    case CudaResult::invalid_value:
    case CudaResult::invalid_handle:
    case CudaResult::not_ready:
      return false;
    default:
      // Errors of graph captures pass; all others stay until the context is recreated.
      is_lost_ = is_lost_ || result < CudaResult::first_of_captures || result > CudaResult::last_of_captures;
      return false;
  }
}

bool CudaDriver::elapsed_ns(CudaEvent from, CudaEvent to, std::int64_t& ns) noexcept {
  float ms = 0;
  if (!is_fine(cuda_->elapsed_ms(&ms, from, to)) || !(std::fabs(ms) < 1e9F)) {
    return false;
  }
  ns = std::llround(double{ms} * 1e6);
  return true;
}

std::optional<GpuClockPair> CudaDriver::read_clock() noexcept {
  const Relaxed relaxed(*this);
  const std::int64_t longest_ns = has_anchor_ ? longest_wait_ns : longest_first_wait_ns;
  const std::int64_t before = base::monotonic_now_ns();
  if (!is_fine(cuda_->record_event(next_, side_))) {
    return std::nullopt;
  }
  CudaResult told = CudaResult::not_ready;
  std::int64_t after = before;
  while (told == CudaResult::not_ready && after - before < longest_ns) {
    told = cuda_->query_event(next_);
    after = base::monotonic_now_ns();
  }
  std::int64_t since_ns = 0;
  if (!is_fine(told) || (has_anchor_ && !elapsed_ns(anchor_, next_, since_ns))) {
    return std::nullopt;
  }
  anchor_ticks_ += static_cast<std::uint64_t>(since_ns);
  has_anchor_ = true;
  std::swap(anchor_, next_);
  return GpuClockPair{anchor_ticks_, before + (after - before) / 2, (after - before + 1) / 2};
}

std::string CudaDriver::track_name(void* place) {
  std::string gpu = "GPU " + std::to_string(device_);
  if (place == nullptr) {
    return gpu;
  }
  const auto known = streams_.find(place);
  if (known == streams_.end() && streams_.size() >= most_streams) {
    return gpu + " other streams";
  }
  const auto number = static_cast<std::uint32_t>(streams_.size() + 1);
  return gpu + " stream " + std::to_string(streams_.try_emplace(place, number).first->second);
}

bool CudaDriver::is_timed(void* place) noexcept {
  int is_capturing = 0;
  const Current current(*this);
  return cuda_->is_capturing(static_cast<CudaStream>(place), &is_capturing) == CudaResult::success && is_capturing == 0;
}

bool CudaDriver::make_room(std::uint32_t timer) {
  try {
    if (timer >= events_.size()) {
      events_.resize(timer + 1);
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  Events& events = events_[timer];
  if (events.end != nullptr) {
    return true;
  }
  const Relaxed relaxed(*this);
  return (events.begin != nullptr || is_fine(cuda_->create_event(&events.begin, 0))) &&
         is_fine(cuda_->create_event(&events.end, 0));
}

bool CudaDriver::write_begin(std::uint32_t timer, void* place) noexcept {
  const Current current(*this);
  return make_room(timer) && is_fine(cuda_->record_event(events_[timer].begin, static_cast<CudaStream>(place)));
}

bool CudaDriver::write_end(std::uint32_t timer, void* place) noexcept {
  const Current current(*this);
  return is_fine(cuda_->record_event(events_[timer].end, static_cast<CudaStream>(place)));
}

GpuAnswer CudaDriver::ask(std::uint32_t timer, GpuTimes& times) noexcept {
  const Relaxed relaxed(*this);
  const Events& events = events_[timer];
  const CudaResult told = cuda_->query_event(events.end);
  if (told == CudaResult::not_ready) {
    return GpuAnswer::pending;
  }
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  if (!is_fine(told) || !elapsed_ns(anchor_, events.begin, begin_ns) ||
      !elapsed_ns(events.begin, events.end, duration_ns)) {
    return GpuAnswer::failed;
  }
  times.begin_ticks = anchor_ticks_ + static_cast<std::uint64_t>(begin_ns);
  times.end_ticks = times.begin_ticks + static_cast<std::uint64_t>(duration_ns);
  return GpuAnswer::ready;
}

bool CudaDriver::recycle(std::uint32_t timer, bool has_answered) noexcept {
  if (!has_answered) {
    // The driver keeps events that a stream still refers to; the timer gets new ones.
    const Relaxed relaxed(*this);
    destroy(events_[timer]);
  }
  return true;
}

}  // namespace kymo::gpu

namespace kymo {

CudaContext::CudaContext(const std::string& library, const GpuOptions& options)
    : GpuContext(gpu::CudaDriver::make(library), options) {}

}  // namespace kymo
