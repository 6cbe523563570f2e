// NVML's stand-in, loaded, for the tests of what is read by it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <dlfcn.h>

#include "fake_nvml.hpp"
#include "machine_tree.hpp"
#include "sense/common/sensor.hpp"
#include "sense/gpu/nvml.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {
SensorMaker make_nvml_sensors;
}

namespace kymo::test {
using sense::Sensor;
using sense::SensorList;

inline constexpr double gib = 1024.0 * 1024 * 1024;

inline constexpr int not_supported = 3;
inline constexpr int driver_not_loaded = 9;
inline constexpr int gpu_is_lost = 15;
inline constexpr int version_mismatch = 25;
inline constexpr int unknown_error = 999;

/// The stand-in, loaded and fresh.
class Fake {
 public:
  explicit Fake(const char* path) : path_(path), handle_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      throw std::runtime_error(::dlerror());
    }
    control_ = reinterpret_cast<FakeControl>(::dlsym(handle_, fake_control_name))();
    control_->reset();
  }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;
  ~Fake() { ::dlclose(handle_); }

  FakeNvml* operator->() const { return control_; }
  [[nodiscard]] SensorList make(std::uint64_t process = 1) const {
    SensorList list;
    sense::SensorContext context;
    context.process = process;
    context.nvml_library = path_;
    context.cpu_clock = [control = control_] { return control->cpu_ns.load(); };
    make_nvml_sensors(context, list);
    return list;
  }
  /// Reads at a time of the stand-in's clock.
  Readings read(const SensorList& sensors, std::int64_t now_ms) const {
    control_->now_ms = now_ms;
    return read_all(sensors, second + now_ms * ms);
  }

 private:
  const char* path_;
  void* handle_;
  FakeNvml* control_ = nullptr;
};

inline std::string on(unsigned gpu, const std::string& metric) {
  return metric + "{gpu=" + std::to_string(gpu) + ",uuid=GPU-0000000" + std::to_string(gpu) + "}";
}

inline const Sensor& sensor_of(const SensorList& list, unsigned gpu, Tier tier) {
  return *list.at(gpu * 3 + static_cast<unsigned>(tier));
}

}  // namespace kymo::test
