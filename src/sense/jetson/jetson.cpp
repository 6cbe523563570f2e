// Jetson boards: GPU load, memory controller load, power rails, fan, power mode, clocks and alarms, and the thermal
// zones of a board configuration. Sensors "gpu_load", "emc", "ina3221", "jetson" and "thermal".
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/system/file.hpp"
#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"
#include "sense/jetson/boards.hpp"

namespace kymo::sense {

namespace {

double in_hundredths(double value) {
  return std::round(value * 100) / 100;
}

/// Data shared by the sensors of a board: its files, and why there are none.
struct Board {
  std::string root;
  BoardConfig config;
  std::string trouble;

  /// A path as on the machine itself, for a declaration.
  [[nodiscard]] std::string source(std::string_view path) const {
    return std::string(path.substr(path.rfind(root, 0) == 0 ? root.size() : 0));
  }
  [[nodiscard]] std::string why_without(std::string_view what) const {
    return trouble.empty() ? "this board has no " + std::string(what) + " that kymo knows of" : trouble;
  }
};

Board find_board(const SensorContext& context) {
  const std::string& root = context.root;
  Board board{root, {}, {}};
  if (context.board != nullptr) {
    board.config = *context.board;
    return board;
  }
  try {
    board.config = detect_board(root);
    if (board.config.board_name == "generic") {
      board.trouble = "this is no Jetson board: there is no " + root + "/proc/device-tree/compatible";
    }
  } catch (const std::runtime_error& unknown) {
    board.config = get_board_config("generic", root);
    board.trouble = unknown.what();
  }
  return board;
}

std::string advice_for(int error) {
  return error == EACCES || error == EPERM ? "sudo kymo setup-jetson" : "";
}

/// gpu_util from the GPU's load file, in tenths of a percent.
class GpuLoadSensor final : public Sensor {
 public:
  explicit GpuLoadSensor(const Board& board)
      : Sensor("gpu_load", Tier::fast), file_(board.config.gpu_load_path, number_bytes) {
    add_metric(describe("gpu_util", "%", board.source(file_.path()), MetricKind::gauge, 0.1, {{"gpu", "0"}}));
  }

 protected:
  void read_source(std::int64_t now_ns) override {
    const double load = file_.read_number();
    if (load >= 0 && load <= 1000) {
      clear_trouble();
      set_renewing(0, in_hundredths(load / 10), now_ns);
    } else if (file_.error() == EAGAIN) {
      set(0, missing);
    } else {
      set_unavailable(file_.error() != 0 ? file_.describe_error() : "holds no load of 0 to 1000: " + file_.path(),
                      advice_for(file_.error()));
    }
  }

 private:
  SourceFile file_;
};

/// emc_util: the share of cycles in which the memory controller was busy, over its own last sampling period.
class EmcSensor final : public Sensor {
 public:
  explicit EmcSensor(const Board& board)
      : Sensor("emc", Tier::fast),
        busy_(board.config.emc_actmon_path, number_bytes),
        clock_(board.config.emc_clk_rate_path, number_bytes),
        period_(period_path(board.config.emc_actmon_path), number_bytes),
        source_(board.source(busy_.path())) {
    // debugfs cannot seek.
    busy_.reopen_each_time();
    clock_.reopen_each_time();
    period_.reopen_each_time();
    read_period();
  }

 protected:
  void read_source(std::int64_t now_ns) override {
    constexpr std::int64_t period_renewal_ns = 1'000'000'000;
    if (now_ns >= next_period_ns_ || !(period_us_ > 0)) {
      next_period_ns_ = now_ns + period_renewal_ns;
      if (!read_period()) {
        fail(period_);
        return;
      }
    }
    const double busy = busy_.read_number();
    if (!(busy >= 0)) {
      fail(busy_);
      return;
    }
    const double clock = clock_.read_number();
    if (!(clock > 0)) {
      fail(clock_);
      return;
    }
    const double percent = busy / (clock * period_us_ / 1e6) * 100;
    // The clock may have changed after the period in which the cycles were counted, but never by this much.
    constexpr double most_percent = 1000;
    clear_trouble();
    set(0, percent <= most_percent ? in_hundredths(percent) : missing);
  }

 private:
  static std::string period_path(const std::string& actmon) {
    return actmon.substr(0, actmon.rfind('/') + 1) + "sample_period_usec";
  }

  /// The metric is described once its window is known.
  bool read_period() {
    period_us_ = period_.read_number();
    constexpr double most_us = 1e9;
    if (!(period_us_ > 0 && period_us_ <= most_us)) {
      return false;
    }
    if (metrics().empty()) {
      MetricDeclaration metric = describe("emc_util", "%", source_, MetricKind::gauge, 0.01);
      metric.window_ns = static_cast<std::int64_t>(period_us_ * 1000);
      metric.renewal_ns = metric.window_ns;
      add_metric(std::move(metric));
    }
    return true;
  }

  void fail(const SourceFile& file) {
    set_unavailable(file.error() != 0 ? file.describe_error() : "holds a number that cannot be: " + file.path(),
                    advice_for(file.error()));
  }

  SourceFile busy_;
  SourceFile clock_;
  SourceFile period_;
  std::string source_;
  double period_us_ = 0;
  std::int64_t next_period_ns_ = 0;
};

/// Voltage, current and power of the board's rails. Reading a register takes half a millisecond on the bus.
class RailSensor final : public Sensor {
 public:
  explicit RailSensor(const Board& board) : Sensor("ina3221", Tier::medium) {
    for (const PowerRail& rail : board.config.power_rails) {
      add_rail(board, rail);
    }
  }

 protected:
  void read_source(std::int64_t now_ns) override {
    const Rail* failed = nullptr;
    std::size_t failures = 0;
    for (Rail& rail : rails_) {
      const double volts = rail.voltage.read_number() / 1000;
      const double amperes = rail.current.read_number() / 1000;
      set_sound(rail.metric, volts, now_ns);
      set_sound(rail.metric + 1, amperes, now_ns);
      set_sound(rail.metric + 2, volts * amperes, now_ns);
      if (rail.voltage.error() != 0 || rail.current.error() != 0) {
        failed = failed == nullptr ? &rail : failed;
        ++failures;
      }
    }
    if (failed == nullptr) {
      clear_trouble();
      return;
    }
    const SourceFile& file = failed->voltage.error() != 0 ? failed->voltage : failed->current;
    if (failures == rails_.size()) {
      set_unavailable(file.describe_error());
    } else {
      set_trouble(file.describe_error());
    }
  }

 private:
  struct Rail {
    SourceFile voltage;
    SourceFile current;
    std::size_t metric;  // followed by its current and its power
  };

  /// The chip measures at most 26 V and some hundred amperes; far greater values are garbage.
  void set_sound(std::size_t metric, double value, std::int64_t now_ns) {
    if (std::abs(value) <= 1e4) {
      set_renewing(metric, value, now_ns);
    } else {
      set(metric, missing);
    }
  }

  void add_rail(const Board& board, const PowerRail& rail) {
    const std::string directory = rail.voltage_path.substr(0, rail.voltage_path.rfind('/'));
    double period_ms = SourceFile(directory + "/update_interval", number_bytes).read_number();
    constexpr double most_ms = 1e6;
    period_ms = period_ms > 0 && period_ms <= most_ms ? period_ms : 0;
    const auto add = [&](MetricDeclaration metric) {
      metric.labels.emplace_back("rail", rail.label);
      metric.renewal_ns = static_cast<std::int64_t>(period_ms * 1e6);
      metric.window_ns = metric.renewal_ns;
      metric.traits |= rail.is_total ? MetricDeclaration::total : 0U;
      return add_metric(std::move(metric));
    };
    const std::string voltage = board.source(rail.voltage_path);
    const std::string current = board.source(rail.current_path);
    constexpr double chip_step_volts = 0.008;
    const std::size_t first = add(describe("voltage", "V", voltage, MetricKind::gauge, chip_step_volts));
    add(describe("current", "A", current, MetricKind::gauge, 0.001));
    add(describe("power", "W", voltage + " x " + current.substr(current.rfind('/') + 1)));
    rails_.push_back({SourceFile(rail.voltage_path, number_bytes), SourceFile(rail.current_path, number_bytes), first});
  }

  std::vector<Rail> rails_;
};

/// Fan, power mode and clocks of the board, which seldom change.
class BoardSensor final : public Sensor {
 public:
  explicit BoardSensor(const Board& board) : Sensor("jetson", Tier::slow) {
    // A custom board has the files that all boards have.
    const std::span<const BoardEntry> known = board_table();
    const auto is_this = [&](const BoardEntry& entry) { return entry.name == board.config.board_name; };
    const bool is_known = std::any_of(known.begin(), known.end(), is_this);
    const BoardEntry& entry = board_entry(is_known ? board.config.board_name : "generic");
    add_number(board, first_existing(board.root, entry.gpu_clock_paths), 1e6,
               describe("gpu_clock", "MHz", {}, MetricKind::gauge, 0, {{"gpu", "0"}}));
    add_number(board, board.config.emc_clk_rate_path, 1e6, describe("emc_clock", "MHz", {}));
    add_engines(board);
    add_fans(board);
    add_alarms(board);
    if (const std::string path = board.root + "/var/lib/nvpmodel/status"; !base::read_small_file(path).empty()) {
      mode_.emplace(path, std::size_t{256});
      mode_metric_ = add_metric(describe("power_mode", "", board.source(path), MetricKind::gauge, 1));
    }
  }

 protected:
  void read_source(std::int64_t now_ns) override {
    std::string trouble;
    std::string advice;
    for (Number& number : numbers_) {
      // A clock that nobody has turned on still has a rate.
      const bool is_off = number.users && number.users->read_number() == 0;
      const double value = is_off ? 0 : number.file.read_number() / number.divisor;
      if (value >= 0 && value <= number.most) {
        set_renewing(number.metric, value, now_ns);
      } else {
        set(number.metric, missing);
      }
      if (!is_off && number.file.error() != 0 && trouble.empty()) {
        trouble = number.file.describe_error();
        advice = advice_for(number.file.error());
      }
    }
    if (mode_) {
      set(mode_metric_, read_mode());
    }
    set_trouble(std::move(trouble), std::move(advice));
  }

 private:
  struct Number {
    SourceFile file;
    double divisor;
    double most;
    std::size_t metric;
    std::optional<SourceFile> users = {};  // of a clock; 0: it is off
  };

  void add_number(const Board& board, const std::string& path, double divisor, MetricDeclaration metric,
                  double most = 1e6, const std::string& users_path = {}) {
    if (path.empty()) {
      return;
    }
    std::optional<SourceFile> users;
    if (!users_path.empty()) {
      users.emplace(users_path, number_bytes).reopen_each_time();
    }
    metric.source = board.source(path);
    metric.step = 1 / divisor;
    SourceFile file(path, number_bytes);
    if (path.find("/debug/") != std::string::npos) {
      file.reopen_each_time();
    }
    numbers_.push_back({std::move(file), divisor, most, add_metric(std::move(metric)), std::move(users)});
  }

  /// Clocks of the engines for video, pictures and networks: of devfreq, which everybody reads, or else of debugfs.
  void add_engines(const Board& board) {
    struct Engine {
      std::string_view name;
      std::string_view clock;  // in debugfs
    };
    constexpr std::array<Engine, 9> engines{{{"nvenc", "nvenc"},
                                             {"nvenc", "msenc"},
                                             {"nvdec", "nvdec"},
                                             {"nvjpg", "nvjpg"},
                                             {"vic", "vic"},
                                             {"ofa", "ofa"},
                                             {"nvdla0", "dla0_core"},
                                             {"nvdla1", "dla1_core"},
                                             {"pva0", "pva0_vps"}}};
    const std::string devices = board.root + "/sys/class/devfreq";
    const std::vector<std::string> listed = list_directory(devices);
    std::string_view last_found;
    for (const Engine& engine : engines) {
      if (engine.name == last_found) {
        continue;
      }
      const auto declare = [&] {
        return describe("engine_clock", "MHz", {}, MetricKind::gauge, 0, {{"engine", std::string(engine.name)}});
      };
      const std::string clock = board.root + "/sys/kernel/debug/clk/" + std::string(engine.clock);
      // Devices are called "154c0000.nvenc".
      const auto device = std::find_if(listed.begin(), listed.end(), [&](const std::string& name) {
        return name.substr(name.find('.') + 1) == engine.name;
      });
      if (device != listed.end()) {
        add_number(board, devices + "/" + *device + "/cur_freq", 1e6, declare());
      } else if (is_there(clock + "/clk_rate")) {
        add_number(board, clock + "/clk_rate", 1e6, declare(), 1e6, clock + "/clk_enable_count");
      } else {
        continue;
      }
      last_found = engine.name;
    }
  }

  /// How often the chip was throttled because its supply gave too little: one count for each alarm.
  void add_alarms(const Board& board) {
    const std::string directory = board.root + "/sys/class/hwmon";
    for (const std::string& name : list_directory(directory)) {
      const std::string hwmon = directory + "/" + name;
      if (read_trimmed(hwmon + "/name") != "soctherm_oc") {
        continue;
      }
      for (const std::string& file : list_directory(hwmon)) {
        if (const auto number = number_between(file, "oc", "_event_cnt")) {
          add_number(board, hwmon + "/" + file, 1,
                     describe("overcurrent_events", "", {}, MetricKind::counter, 0,
                              {{"alarm", "oc" + std::to_string(*number)}}),
                     1e12);
        }
      }
    }
  }

  /// The fan's duty and speed are files of two drivers with arbitrary numbers.
  void add_fans(const Board& board) {
    constexpr double full_duty = 255;
    const std::string directory = board.root + "/sys/class/hwmon";
    for (const std::string& name : list_directory(directory)) {
      const std::string hwmon = directory + "/" + name;
      const std::string driver = read_trimmed(hwmon + "/name");
      if (driver == "pwmfan") {
        add_number(board, hwmon + "/pwm1", full_duty / 100, describe("fan_duty", "%", {}), 100);
      } else if (driver == "pwm_tach") {
        add_number(board, hwmon + "/rpm", 1, describe("fan_speed", "rpm", {}));
      }
    }
    // Up to JetPack 4.
    const std::string old_fan = board.root + "/sys/devices/pwm-fan";
    if (is_there(old_fan + "/cur_pwm")) {
      add_number(board, old_fan + "/cur_pwm", full_duty / 100, describe("fan_duty", "%", {}), 100);
    }
    if (is_there(old_fan + "/rpm_measured")) {
      add_number(board, old_fan + "/rpm_measured", 1, describe("fan_speed", "rpm", {}));
    }
  }

  double read_mode() {
    const auto mode = power_mode_in(mode_->read());
    constexpr std::uint64_t most_modes = 9999;
    return mode && *mode <= most_modes ? static_cast<double>(*mode) : missing;
  }

  std::vector<Number> numbers_;
  std::optional<SourceFile> mode_;
  std::size_t mode_metric_ = 0;
};

/// The thermal zones of a board configuration, by its paths.
class BoardZoneSensor final : public Sensor {
 public:
  explicit BoardZoneSensor(const SensorContext& context) : Sensor("thermal", Tier::slow) {
    for (const ThermalZone& zone : context.board->thermal_zones) {
      add_metric(describe("temperature", "C", zone.temp_path, MetricKind::gauge, 0.001, {{"zone", zone.name}}));
      files_.emplace_back(zone.temp_path, number_bytes);
    }
  }

 protected:
  void read_source(std::int64_t /*now_ns*/) override {
    const SourceFile* failed = nullptr;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const double celsius = files_[i].read_number() / 1000;
      constexpr double least = -273.15;
      constexpr double most = 1000;
      set(i, celsius >= least && celsius <= most ? celsius : missing);
      // A part that is powered down has no temperature. This is no error.
      if (files_[i].error() != 0 && files_[i].error() != EAGAIN) {
        failed = &files_[i];
      }
    }
    set_trouble(failed != nullptr ? failed->describe_error() : "");
  }

 private:
  std::vector<SourceFile> files_;
};

/// Adds a sensor of the board, or says why there is none.
template <typename BoardsSensor>
void add_if(bool is_there, const Board& board, SensorList& list, const char* name, Tier tier, std::string_view why) {
  if (is_there) {
    list.push_back(std::make_unique<BoardsSensor>(board));
  } else {
    list.push_back(std::make_unique<AbsentSensor>(name, tier, std::string(why)));
  }
}

}  // namespace

void make_jetson_sensors(const SensorContext& context, SensorList& list) {
  const Board board = find_board(context);
  const BoardConfig& config = board.config;
  const std::string without_rails =
      board.trouble.empty() ? "no INA3221 with a labelled channel below " + board.root + "/sys/bus/i2c/drivers/ina3221"
                            : board.trouble;
  add_if<GpuLoadSensor>(!config.gpu_load_path.empty(), board, list, "gpu_load", Tier::fast,
                        board.why_without("GPU load"));
  add_if<EmcSensor>(!config.emc_actmon_path.empty(), board, list, "emc", Tier::fast,
                    board.why_without("memory controller load"));
  add_if<RailSensor>(!config.power_rails.empty(), board, list, "ina3221", Tier::medium, without_rails);
  add_if<BoardSensor>(board.trouble.empty(), board, list, "jetson", Tier::slow, board.trouble);
}

void make_board_zone_sensors(const SensorContext& context, SensorList& list) {
  if (context.board->thermal_zones.empty()) {
    list.push_back(std::make_unique<AbsentSensor>("thermal", Tier::slow, "this board has no thermal zones"));
  } else {
    list.push_back(std::make_unique<BoardZoneSensor>(context));
  }
}

}  // namespace kymo::sense
