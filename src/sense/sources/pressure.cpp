// Pressure stall: the share of time in which tasks waited for CPU, I/O or memory, by /proc/pressure/{cpu,io,memory}:
//
//     some avg10=0.90 avg60=0.64 avg300=7.32 total=11513953492     at least one task waited; total in microseconds
//     full avg10=0.00 avg60=0.00 avg300=0.00 total=0               all of them did
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>

#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

namespace {

class PressureSensor final : public Sensor {
 public:
  explicit PressureSensor(const SensorContext& context) : Sensor("pressure", Tier::medium, Cost::kernel) {
    for (const std::string_view resource : {"cpu", "io", "memory"}) {
      Resource& added = resources_.emplace_back(SourceFile(context.at("/proc/pressure/" + std::string(resource)), 512));
      const std::string name = "pressure_" + std::string(resource);
      added.some.metric = add_metric(describe(name, "%", added.file.path()));
      // Some task always runs, so "full" makes no sense for the CPU; newer kernels report a meaningless 0.
      if (resource != "cpu") {
        added.full.metric = add_metric(describe(name + "_full", "%", added.file.path()));
      }
    }
  }

 private:
  struct Stall {
    std::optional<std::size_t> metric;
    CounterRate rate;  // microseconds per second
  };
  struct Resource {
    explicit Resource(SourceFile&& source) : file(std::move(source)) {}
    SourceFile file;
    Stall some;
    Stall full;
  };

  void read_source(std::int64_t now_ns) override {
    const Resource* failed = nullptr;
    bool has_any = false;
    for (Resource& resource : resources_) {
      const std::string_view text = resource.file.read();
      const bool is_sound = report(resource.some, text, "some ", now_ns);
      report(resource.full, text, "full ", now_ns);
      failed = is_sound ? failed : &resource;
      has_any |= is_sound;
    }
    if (failed == nullptr) {
      clear_trouble();
      return;
    }
    const int error = failed->file.error();
    std::string reason = error != 0 ? failed->file.describe_error() : "holds no total: " + failed->file.path();
    std::string advice = error == ENOENT || error == EOPNOTSUPP
                             ? "boot with the kernel parameter psi=1 (Linux 4.20 or newer, built with CONFIG_PSI)"
                             : "";
    if (has_any) {
      set_trouble(std::move(reason), std::move(advice));
    } else {
      set_unavailable(std::move(reason), std::move(advice));
    }
  }

  bool report(Stall& stall, std::string_view text, std::string_view kind, std::int64_t now_ns) {
    if (!stall.metric) {
      return false;
    }
    const auto total_us = find_total(text, kind);
    if (!total_us) {
      stall.rate.forget();
      set(*stall.metric, missing);
      return false;
    }
    const double share = stall.rate.take(static_cast<double>(*total_us), now_ns) / 1e6;
    // The kernel computes the total slightly after the clock was read.
    set(*stall.metric, std::isnan(share) ? missing : percent(std::min(share, 1.0), 1));
    return true;
  }

  static std::optional<std::uint64_t> find_total(std::string_view text, std::string_view kind) {
    constexpr std::string_view key = "total=";
    const auto line = behind_key(text, kind);
    const std::size_t at = line ? line->rest().find(key) : std::string_view::npos;
    return at != std::string_view::npos ? TextCursor(line->rest().substr(at + key.size())).number() : std::nullopt;
  }

  std::vector<Resource> resources_;
};

}  // namespace

void make_pressure_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<PressureSensor>(context));
}

}  // namespace kymo::sense
