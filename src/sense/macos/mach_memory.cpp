// The memory of a Mac by host_statistics64(), and its paging.
//
// Used memory is held by programs and the kernel: anonymous pages that are not purgeable, wired pages and the
// compressor's pages. The rest is available: free pages, file pages and purgeable pages.
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "sense/macos/calls.hpp"

namespace kymo::sense {

namespace {

class MachMemorySensor final : public Sensor {
 public:
  explicit MachMemorySensor(MachCalls calls) : Sensor("memory", Tier::fast, Cost::kernel), calls_(std::move(calls)) {
    used_ = add("memory_used", "host_statistics64: internal less purgeable, wired, compressor");
    available_ = add("memory_available", "hw.memsize less what is used");
    total_ = add("memory_total", "hw.memsize");
    cached_ = add("memory_cached", "host_statistics64: external, purgeable");
    swap_used_ = add("swap_used", "vm.swapusage");
  }

 private:
  std::size_t add(std::string_view name, std::string_view source) {
    return add_metric(describe(name, "B", source, MetricKind::gauge, 1));
  }

  void read_source(std::int64_t /*now_ns*/) override {
    MachMemory memory;
    if (std::string reason = calls_.memory(memory); !reason.empty()) {
      set_unavailable(std::move(reason));
      return;
    }
    const auto bytes = [&memory](std::uint64_t pages) {
      return static_cast<double>(pages) * static_cast<double>(memory.page_bytes);
    };
    const bool is_sound = memory.page_bytes != 0 && memory.total_bytes != 0 && memory.purgeable <= memory.anonymous;
    const auto total = static_cast<double>(memory.total_bytes);
    const double used =
        is_sound ? bytes(memory.anonymous - memory.purgeable + memory.wired + memory.compressor) : missing;
    set(used_, used);
    set(available_, used <= total ? total - used : missing);
    set(total_, memory.total_bytes != 0 ? total : missing);
    set(cached_, memory.page_bytes != 0 ? bytes(memory.file_backed + memory.purgeable) : missing);
    set(swap_used_, static_cast<double>(memory.swap_used_bytes));
  }

  MachCalls calls_;
  std::size_t used_ = 0;
  std::size_t available_ = 0;
  std::size_t total_ = 0;
  std::size_t cached_ = 0;
  std::size_t swap_used_ = 0;
};

class MachPagingSensor final : public Sensor {
 public:
  explicit MachPagingSensor(MachCalls calls) : Sensor("paging", Tier::medium, Cost::kernel), calls_(std::move(calls)) {
    for (Field& field : fields_) {
      field.metric = add_metric(describe(field.name, field.is_bytes ? "B/s" : "1/s", "host_statistics64"));
    }
  }

 private:
  struct Field {
    std::uint64_t MachMemory::*count;
    std::string_view name;
    bool is_bytes = false;
    std::size_t metric = 0;
    CounterRate rate = {};
  };

  void read_source(std::int64_t now_ns) override {
    MachMemory memory;
    if (std::string reason = calls_.memory(memory); !reason.empty()) {
      for (Field& field : fields_) {
        field.rate.forget();
      }
      set_unavailable(std::move(reason));
      return;
    }
    for (Field& field : fields_) {
      const double scale = field.is_bytes ? static_cast<double>(memory.page_bytes) : 1;
      const double rate = field.rate.take(static_cast<double>(memory.*field.count), now_ns);
      set(field.metric, std::round(rate * scale));
    }
  }

  MachCalls calls_;
  std::array<Field, 4> fields_ = {{{&MachMemory::faults, "page_faults"},
                                   {&MachMemory::page_ins, "major_faults"},
                                   {&MachMemory::swap_ins, "swap_in", true},
                                   {&MachMemory::swap_outs, "swap_out", true}}};
};

}  // namespace

void make_mach_memory_sensors(const MachCalls& calls, SensorList& list) {
  list.push_back(std::make_unique<MachMemorySensor>(calls));
  list.push_back(std::make_unique<MachPagingSensor>(calls));
}

}  // namespace kymo::sense
