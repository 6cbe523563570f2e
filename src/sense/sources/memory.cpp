// The machine's memory by /proc/meminfo ("MemTotal:       24684084 kB", a line each), and its paging by /proc/vmstat
// ("pgfault 93145", a line each).
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

namespace {

double page_bytes() {
  return static_cast<double>(::sysconf(_SC_PAGESIZE));
}

class MemorySensor final : public Sensor {
 public:
  explicit MemorySensor(const SensorContext& context)
      : Sensor("memory", Tier::fast), file_(context.at("/proc/meminfo"), 4096) {
    for (const std::string_view name : names) {
      // The kernel counts pages.
      add_metric(describe(name, "B", file_.path(), MetricKind::gauge, page_bytes()));
    }
  }

 private:
  enum Field : std::size_t { total, available, cached, swap_total, swap_free, dirty, field_count };
  static constexpr std::array<std::string_view, field_count> keys = {
      "MemTotal:", "MemAvailable:", "Cached:", "SwapTotal:", "SwapFree:", "Dirty:"};

  static constexpr std::array<std::string_view, 6> names = {"memory_used",   "memory_available", "memory_total",
                                                            "memory_cached", "swap_used",        "memory_dirty"};

  void read_source(std::int64_t) override {
    const std::string_view text = file_.read();
    if (text.empty()) {
      set_unavailable(file_.describe_error());
      return;
    }
    std::array<double, field_count> bytes;
    bytes.fill(missing);
    if (!take(text, bytes)) {
      set_unavailable("holds no amounts of memory: " + file_.path());
      return;
    }
    const std::array<double, names.size()> values = {
        difference(bytes[total], bytes[available]),      bytes[available], bytes[total], bytes[cached],
        difference(bytes[swap_total], bytes[swap_free]), bytes[dirty]};
    for (std::size_t i = 0; i < values.size(); ++i) {
      set(i, values[i]);
    }
  }

  static double difference(double all, double part) { return part <= all ? all - part : missing; }

  /// Fields have the order of their keys and the same positions as at the previous read, unless a number grew.
  bool take(std::string_view text, std::array<double, field_count>& bytes) {
    bool has_any = false;
    std::size_t from = 0;
    for (std::size_t i = 0; i < field_count; ++i) {
      const std::string_view key = keys[i];
      if (!is_line(text, places_[i], key)) {
        places_[i] = find_line(text, key, from);
      }
      if (places_[i] == std::string_view::npos) {
        continue;
      }
      from = places_[i] + key.size();
      bytes[i] = parse_kilobytes(text.substr(from));
      has_any |= !std::isnan(bytes[i]);
    }
    return has_any;
  }

  static bool is_line(std::string_view text, std::size_t at, std::string_view key) {
    return at < text.size() && text.substr(at, key.size()) == key && (at == 0 || text[at - 1] == '\n');
  }

  /// "       24684084 kB\n...": complete, or it was truncated.
  static double parse_kilobytes(std::string_view text) {
    constexpr std::uint64_t most_kilobytes = std::uint64_t{1} << 43;
    TextCursor cursor(text);
    const auto number = cursor.number();
    return number && *number < most_kilobytes && cursor.skip(" kB\n") ? static_cast<double>(*number) * 1024 : missing;
  }

  SourceFile file_;
  std::array<std::size_t, field_count> places_{};
};

class PagingSensor final : public Sensor {
 public:
  explicit PagingSensor(const SensorContext& context)
      : Sensor("paging", Tier::medium, Cost::kernel), file_(SourceFile::of_counters(context.at("/proc/vmstat"))) {
    for (Field& field : fields_) {
      const bool is_bytes = field.scale != 1;
      field.metric = add_metric(describe(field.name, is_bytes ? "B/s" : "1/s", file_.path()));
    }
  }

 private:
  struct Field {
    std::string_view key;
    std::string_view name;
    double scale;
    std::size_t metric = 0;
    double count = missing;
    CounterRate rate = {};
  };

  void read_source(std::int64_t now_ns) override {
    std::string_view text = file_.read(enough_bytes_);
    const bool is_part = text.size() == enough_bytes_;
    bool has_any = take(text);
    if (is_part && enough_bytes_ == everything) {
      text = file_.read();
      has_any = take(text);
    }
    if (!has_any) {
      set_unavailable(text.empty() ? file_.describe_error() : "holds no counts of page faults: " + file_.path());
    }
    for (Field& field : fields_) {
      if (std::isnan(field.count)) {
        field.rate.forget();
        set(field.metric, missing);
      } else {
        set(field.metric, std::round(field.rate.take(field.count, now_ns) * field.scale));
      }
    }
  }

  /// Returns whether any field is present. If all are, the next read takes only the part up to the last one, with room
  /// for growing numbers.
  bool take(std::string_view text) {
    constexpr std::size_t room_to_grow = 256;
    for (Field& field : fields_) {
      field.count = missing;
    }
    std::size_t found = 0;
    TextCursor lines(text);
    while (!lines.at_end() && found < fields_.size()) {
      const std::string_view line = lines.line();
      // Skips most lines quickly.
      if (line.substr(0, 2) != "ps" && line.substr(0, 2) != "pg") {
        continue;
      }
      found += static_cast<std::size_t>(take(line, lines.at_end() && text.back() != '\n'));
    }
    const bool has_all =
        std::none_of(fields_.begin(), fields_.end(), [](const Field& field) { return std::isnan(field.count); });
    enough_bytes_ = has_all ? text.size() - lines.rest().size() + room_to_grow : everything;
    return found != 0;
  }

  bool take(std::string_view line, bool is_cut) {
    TextCursor words(line);
    const std::string_view key = words.word();
    for (Field& field : fields_) {
      if (field.key == key) {
        const auto number = words.number();
        field.count = number && !is_cut ? static_cast<double>(*number) : missing;
        return true;
      }
    }
    return false;
  }

  static constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();

  SourceFile file_;
  std::size_t enough_bytes_ = everything;
  std::array<Field, 4> fields_ = {{{"pgfault", "page_faults", 1},
                                   {"pgmajfault", "major_faults", 1},
                                   {"pswpin", "swap_in", page_bytes()},
                                   {"pswpout", "swap_out", page_bytes()}}};
};

}  // namespace

void make_memory_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<MemorySensor>(context));
  list.push_back(std::make_unique<PagingSensor>(context));
}

}  // namespace kymo::sense
