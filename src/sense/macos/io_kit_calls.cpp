// IOKit, loaded at run time, for what GPU drivers publish in the I/O registry.
#include "sense/macos/calls.hpp"
#include "sense/macos/core_foundation.hpp"

namespace kymo::sense {

namespace {

using IOObject = std::uint32_t;  // a Mach port; 0: none

struct IOKit {
  static const IOKit& instance() {
    static const IOKit one;
    return one;
  }

  Framework framework{"/System/Library/Frameworks/IOKit.framework/IOKit"};
  CFThing (*matching)(const char* name) = framework.find("IOServiceMatching");
  int (*find_services)(IOObject port, CFThing matching,
                       IOObject* iterator) = framework.find("IOServiceGetMatchingServices");
  IOObject (*next)(IOObject iterator) = framework.find("IOIteratorNext");
  int (*release)(IOObject object) = framework.find("IOObjectRelease");
  CFThing (*property)(IOObject entry, CFThing key, CFThing allocator,
                      std::uint32_t options) = framework.find("IORegistryEntryCreateCFProperty");
};

/// Releases an object in its destructor.
class IOOwner {
 public:
  explicit IOOwner(IOObject object) : object_(object) {}
  IOOwner(const IOOwner&) = delete;
  IOOwner& operator=(const IOOwner&) = delete;
  ~IOOwner() {
    if (object_ != 0) {
      IOKit::instance().release(object_);
    }
  }
  [[nodiscard]] IOObject get() const { return object_; }

 private:
  IOObject object_;
};

void take_number(CFThing key, CFThing value, void* into) {
  const CoreFoundation& core = CoreFoundation::instance();
  if (const auto number = core.number_of(value)) {
    static_cast<AcceleratorStatistics*>(into)->numbers.emplace_back(core.text_of(key), *number);
  }
}

CFThing property_of(IOObject entry, const char* name) {
  const CFOwner key(CoreFoundation::instance().make_text(name));
  return key.get() != nullptr ? IOKit::instance().property(entry, key.get(), nullptr, 0) : nullptr;
}

std::string read_statistics(std::vector<AcceleratorStatistics>& gpus) {
  const CoreFoundation& core = CoreFoundation::instance();
  const IOKit& kit = IOKit::instance();
  for (const std::string& trouble : {core.trouble(), kit.framework.trouble()}) {
    if (!trouble.empty()) {
      return trouble;
    }
  }
  constexpr std::size_t most_gpus = 64;
  IOObject found = 0;
  // Consumes the dictionary.
  if (const int error = kit.find_services(0, kit.matching("IOAccelerator"), &found); error != 0) {
    return "IOServiceGetMatchingServices(IOAccelerator): error " + std::to_string(error);
  }
  const IOOwner iterator(found);
  while (gpus.size() < most_gpus) {
    const IOOwner service(iterator.get() != 0 ? kit.next(iterator.get()) : 0);
    if (service.get() == 0) {
      break;
    }
    const CFOwner statistics(property_of(service.get(), "PerformanceStatistics"));
    if (core.is_dictionary(statistics.get())) {
      const CFOwner model(property_of(service.get(), "model"));
      AcceleratorStatistics& gpu = gpus.emplace_back();
      gpu.model = core.text_of(model.get());
      core.for_each(statistics.get(), take_number, &gpu);
    }
  }
  return {};
}

}  // namespace

AcceleratorCalls accelerator_calls() {
  return {read_statistics};
}

}  // namespace kymo::sense
