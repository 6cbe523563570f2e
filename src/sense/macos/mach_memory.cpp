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
    add("memory_used", "host_statistics64: internal less purgeable, wired, compressor");
    add("memory_available", "hw.memsize less what is used");
    add("memory_total", "hw.memsize");
    add("memory_cached", "host_statistics64: external, purgeable");
    add("swap_used", "vm.swapusage");
  }

 private:
  enum Metric : std::size_t { used, available, total, cached, swap_used };

  void add(std::string_view name, std::string_view source) {
    add_metric(describe(name, "B", source, MetricKind::gauge, 1));
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
    const auto total_bytes = static_cast<double>(memory.total_bytes);
    const double used_bytes =
        is_sound ? bytes(memory.anonymous - memory.purgeable + memory.wired + memory.compressor) : missing;
    set(used, used_bytes);
    set(available, used_bytes <= total_bytes ? total_bytes - used_bytes : missing);
    set(total, memory.total_bytes != 0 ? total_bytes : missing);
    set(cached, memory.page_bytes != 0 ? bytes(memory.file_backed + memory.purgeable) : missing);
    set(swap_used, static_cast<double>(memory.swap_used_bytes));
  }

  MachCalls calls_;
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
