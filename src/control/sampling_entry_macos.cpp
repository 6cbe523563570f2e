// Weak references to what nobody defines are refused by macOS's linker: the names are looked up.
#include <dlfcn.h>

#include "control/sampling_entry.hpp"

namespace kymo::control {

SamplingEntry linked_sampling() noexcept {
  SamplingEntry entry;
  entry.start = reinterpret_cast<decltype(entry.start)>(::dlsym(RTLD_DEFAULT, "kymo_start_sampling_v1"));
  entry.stop = reinterpret_cast<decltype(entry.stop)>(::dlsym(RTLD_DEFAULT, "kymo_stop_sampling_v1"));
  entry.forget = reinterpret_cast<decltype(entry.forget)>(::dlsym(RTLD_DEFAULT, "kymo_forget_sampling_v1"));
  return entry;
}

}  // namespace kymo::control
