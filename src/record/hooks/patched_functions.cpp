#include "record/hooks/patched_functions.hpp"

#include <optional>
#include <string_view>

#include <sys/mman.h>

#include "base/system/message.hpp"

namespace kymo::record {

namespace {

base::SayOnce say_no_runtime;

/// Whether the handler itself may call such a function.
bool is_called_by_kymo(std::string_view name) noexcept {
  for (const std::string_view prefix : {"std::", "__gnu_cxx::", "kymo::", "kymo_", "operator new", "operator delete"}) {
    if (name.substr(0, prefix.size()) == prefix) {
      return true;
    }
  }
  return false;
}

}  // namespace

void PatchedFunctions::set_runtime(const kymo_function_patches_v1& runtime) noexcept {
  if (runtime.set_handler == nullptr || runtime.patch_function == nullptr || runtime.address_of == nullptr ||
      runtime.largest_number == nullptr) {
    lacks_runtime_.store(true, std::memory_order_relaxed);
  } else if (!has_runtime_.load(std::memory_order_relaxed)) {
    runtime_ = runtime;
    has_runtime_.store(true, std::memory_order_release);
  }
}

void PatchedFunctions::patch(FunctionTable& table, const SiteFilter& sites, Handler handler) noexcept {
  if (lacks_runtime_.load(std::memory_order_relaxed)) {
    say_no_runtime(
        "PATCHABLE functions are not recorded: they are in a shared library, or were linked without -fxray-instrument");
  }
  if (!has_runtime_.load(std::memory_order_acquire) || is_done_.exchange(true, std::memory_order_acq_rel)) {
    return;
  }
  const std::size_t count = runtime_.largest_number() + 1;
  const std::size_t bytes = sizeof(Entries) + count * sizeof(void*);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    base::say("functions are not recorded: there is no memory for the list of those to patch");
    return;
  }
  auto* const entries = static_cast<Entries*>(memory);
  entries->count = count;
  for (std::size_t number = 1; number < count; ++number) {
    const std::uintptr_t address = runtime_.address_of(static_cast<std::int32_t>(number));
    FunctionEntry* const entry = address != 0 ? table.admit(address, sites) : nullptr;
    if (entry == nullptr || entry->module == nullptr || entry->is_filtered || detail::is_left_out(entry->site)) {
      continue;
    }
    const std::optional<FunctionName> name = table.name_of(*entry->module, address);
    entries->at[number] = name && !is_called_by_kymo(name->qualified) ? entry : nullptr;
  }
  entries_.store(entries, std::memory_order_release);
  runtime_.set_handler(handler);
  bool is_patched = true;
  for (std::size_t number = 1; number < count; ++number) {
    // 1: XRay's word for success.
    is_patched = (entries->at[number] == nullptr || runtime_.patch_function(static_cast<std::int32_t>(number)) == 1) &&
                 is_patched;
  }
  if (!is_patched) {
    base::say("some functions are not recorded: their code could not be patched");
  }
}

}  // namespace kymo::record
