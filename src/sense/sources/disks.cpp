// Whole disks by /proc/diskstats, a line each:
//
//     254 0 vda 332033 22044 12290546 2037747 296305 176948 180151848 896098 0 215588 3000148 ...
//     major minor name, reads: done merged sectors ms, writes: done merged sectors ms, running, ms busy, ...
#include <algorithm>
#include <array>
#include <cmath>

#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/source_file.hpp"
#include "sense/sources/device_table.hpp"

namespace kymo::sense {

namespace {

constexpr double sector_bytes = 512;  // always, whatever the disk's sector size

/// Whether the name is a partition's: sda1, vdb2, nvme0n1p3, mmcblk0p1. For trees without /sys/block.
bool is_partition_name(std::string_view name) {
  std::size_t base = name.size();
  while (base > 0 && base::is_digit(name[base - 1])) {
    --base;
  }
  if (base == name.size() || base == 0) {
    return false;
  }
  if (name.starts_with("sd") || name.starts_with("hd") || name.starts_with("vd") || name.starts_with("xvd")) {
    return true;
  }
  return name[base - 1] == 'p' && base >= 2 && base::is_digit(name[base - 2]);
}

class DiskSensor final : public Sensor {
 public:
  explicit DiskSensor(const SensorContext& context)
      : Sensor("disk", Tier::medium, Cost::kernel),
        file_(SourceFile::of_counters(context.at("/proc/diskstats"))),
        blocks_(context.at("/sys/block")),
        has_blocks_(is_there(blocks_)) {
    take(file_.read());
  }

 private:
  enum Count : std::size_t { reads, read_sectors, writes, written_sectors, busy_ms, count_count };
  static constexpr std::array<std::size_t, count_count> columns = {0, 2, 4, 6, 9};
  enum Metric : std::size_t { read_rate, write_rate, read_ops, write_ops, busy, read_total, written_total };

  struct Disk : CountedDevice<count_count> {
    bool is_counted = false;  // a whole disk
  };

  void read_source(std::int64_t now_ns) override {
    const std::string_view text = file_.read();
    take(text);
    if (text.empty()) {
      set_unavailable(file_.describe_error());
    }
    for (Disk& disk : disks_) {
      if (disk.has_metrics) {
        report(disk, now_ns);
      }
    }
  }

  void report(Disk& disk, std::int64_t now_ns) {
    const std::size_t first = disk.first_metric;
    if (!disk.is_listed) {
      for (std::size_t i = read_rate; i <= written_total; ++i) {
        set(first + i, missing);
      }
      disk.rates = {};
      return;
    }
    const auto rate = [&](Count count) { return disk.rates[count].take(disk.counts[count], now_ns); };
    set(first + read_rate, std::round(rate(read_sectors) * sector_bytes));
    set(first + write_rate, std::round(rate(written_sectors) * sector_bytes));
    set(first + read_ops, std::round(rate(reads) * 100) / 100);
    set(first + write_ops, std::round(rate(writes) * 100) / 100);
    const double busy_share = rate(busy_ms) / 1000;
    set(first + busy, std::isnan(busy_share) ? missing : percent(std::min(busy_share, 1.0), 1));
    set(first + read_total, disk.counts[read_sectors] * sector_bytes);
    set(first + written_total, disk.counts[written_sectors] * sector_bytes);
  }

  void take(std::string_view text) {
    for (Disk& disk : disks_) {
      disk.is_listed = false;
    }
    TextCursor lines(text);
    std::size_t next = 0;
    while (const auto whole = lines.whole_line()) {
      TextCursor line(*whole);
      const bool has_device = line.number() && line.number();
      const std::string_view name = line.word();
      if (!has_device || name.empty()) {
        continue;
      }
      Disk* disk = find_entry(disks_, &Disk::name, name, next);
      if (disk == nullptr) {
        disk = add_disk(name);
      }
      if (disk != nullptr && disk->is_counted) {
        disk->is_listed = take_counts(*disk, line);
      }
    }
  }

  bool take_counts(Disk& disk, TextCursor line) {
    std::array<double, 10> values{};
    if (!take_numbers(line, values)) {
      return false;
    }
    for (std::size_t i = 0; i < count_count; ++i) {
      disk.counts[i] = values[columns[i]];
    }
    // Drivers create devices in advance (nbd0 to nbd15). A device without any request is no disk yet.
    if (!disk.has_metrics && disk.counts[reads] + disk.counts[writes] > 0) {
      add_metrics(disk);
    }
    return true;
  }

  Disk* add_disk(std::string_view name) {
    constexpr std::size_t most_names = 4096;
    if (disks_.size() == most_names) {
      return nullptr;
    }
    Disk disk;
    disk.name = name;
    disk.is_counted = is_whole_disk(name);
    disks_.push_back(std::move(disk));
    return &disks_.back();
  }

  [[nodiscard]] std::string block_of(std::string_view name) const {
    std::string block(name);
    std::replace(block.begin(), block.end(), '/', '!');
    return blocks_ + "/" + block;
  }

  [[nodiscard]] bool is_whole_disk(std::string_view name) const {
    for (const std::string_view in_memory : {"loop", "ram", "zram"}) {
      if (name.starts_with(in_memory) && name.size() > in_memory.size() && base::is_digit(name[in_memory.size()])) {
        return false;
      }
    }
    return has_blocks_ ? is_there(block_of(name)) : !is_partition_name(name);
  }

  void add_metrics(Disk& disk) {
    // Consists of other disks (a mapped volume, a RAID), so its traffic is counted there as well.
    const bool is_made_of_others = has_blocks_ && !list_directory(block_of(disk.name) + "/slaves").empty();
    const auto add = [&](std::string_view name, std::string_view unit, MetricKind kind, double step) {
      MetricDeclaration declaration = describe(name, unit, file_.path(), kind, step, {{"disk", disk.name}});
      declaration.traits = is_made_of_others ? MetricDeclaration::total : 0;
      return add_metric(std::move(declaration));
    };
    disk.first_metric = add("disk_read", "B/s", MetricKind::gauge, 0);
    add("disk_write", "B/s", MetricKind::gauge, 0);
    add("disk_read_ops", "1/s", MetricKind::gauge, 0);
    add("disk_write_ops", "1/s", MetricKind::gauge, 0);
    add("disk_busy", "%", MetricKind::gauge, 0);
    add("disk_read_bytes", "B", MetricKind::counter, sector_bytes);
    add("disk_written_bytes", "B", MetricKind::counter, sector_bytes);
    disk.has_metrics = true;
  }

  SourceFile file_;
  std::string blocks_;
  bool has_blocks_;
  std::vector<Disk> disks_;  // including partitions, so that each is examined once
};

}  // namespace

void make_disk_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<DiskSensor>(context));
}

}  // namespace kymo::sense
