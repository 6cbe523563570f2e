#include "exchange/nvmt/format.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/system/file.hpp"
#include "base/text/text.hpp"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "NVMT is little-endian, and so must the machine be"
#endif

namespace kymo::exchange {

using nvmetrics::FileHeader;

namespace {

/// Takes `count` rows from the front of the bytes, which must hold them.
template <typename Row>
std::vector<Row> take_rows(std::span<const std::byte>& bytes, std::uint64_t count) {
  std::vector<Row> rows(static_cast<std::size_t>(count));
  const std::size_t size = rows.size() * sizeof(Row);
  if (size > 0) {
    std::memcpy(rows.data(), bytes.data(), size);
  }
  bytes = bytes.subspan(size);
  return rows;
}

/// Whether the rows counted in the header match the bytes after it exactly.
bool counts_agree(const FileHeader& header, std::uint64_t rest) {
  const std::pair<std::uint64_t, std::uint64_t> parts[] = {
      {header.num_fast_samples, sizeof(nvmetrics::FastSample)},
      {header.num_medium_samples, sizeof(nvmetrics::MediumSample)},
      {header.num_slow_samples, sizeof(nvmetrics::SlowSample)},
      {header.num_sync_points, sizeof(nvmetrics::SyncPoint)},
  };
  for (const auto& [count, size] : parts) {
    if (count > rest / size) {
      return false;
    }
    rest -= count * size;
  }
  return rest == 0;
}

void check_columns(const FileHeader& header, const std::string& name) {
  const auto check = [&name](unsigned count, std::size_t most, const char* what) {
    if (count > most) {
      throw NvmtError(name + ": the header says " + std::to_string(count) + ' ' + what + ", and a sample holds " +
                      std::to_string(most));
    }
  };
  check(header.num_cpu_cores, nvmetrics::max_cpu_cores, "CPU cores");
  check(header.num_power_rails, nvmetrics::max_power_rails, "power rails");
  check(header.num_thermal_zones, nvmetrics::max_thermal_zones, "thermal zones");
}

}  // namespace

bool is_nvmt(std::span<const std::byte> bytes) {
  std::uint32_t first = 0;
  if (bytes.size() < sizeof first) {
    return false;
  }
  std::memcpy(&first, bytes.data(), sizeof first);
  return first == nvmetrics::magic;
}

NvmtTrace parse_nvmt(std::span<const std::byte> bytes, const std::string& name) {
  NvmtTrace trace;
  FileHeader& header = trace.header;
  if (bytes.size() < sizeof header) {
    throw NvmtError(name + ": too small for an NVMT trace: " + std::to_string(bytes.size()) +
                    " bytes, and its header " + "alone has " + std::to_string(sizeof header));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != nvmetrics::magic) {
    throw NvmtError(name + ": Bad magic: this is not an NVMT trace");
  }
  if (header.version != nvmetrics::version) {
    throw NvmtError(name + ": Unsupported version " + std::to_string(header.version) +
                    " of NVMT; kymo reads version 1");
  }
  bytes = bytes.subspan(sizeof header);
  if (!counts_agree(header, bytes.size())) {
    throw NvmtError(name +
                    ": the counts in the header do not agree with the file's size; it was cut off, or is damaged");
  }
  check_columns(header, name);
  trace.fast = take_rows<nvmetrics::FastSample>(bytes, header.num_fast_samples);
  trace.medium = take_rows<nvmetrics::MediumSample>(bytes, header.num_medium_samples);
  trace.slow = take_rows<nvmetrics::SlowSample>(bytes, header.num_slow_samples);
  trace.sync = take_rows<nvmetrics::SyncPoint>(bytes, header.num_sync_points);
  return trace;
}

NvmtTrace read_nvmt(const std::string& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) {
    throw NvmtError(base::describe_errno("cannot open", path, errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    throw NvmtError(base::describe_errno("cannot read", path, errno));
  }
  if (!S_ISREG(status.st_mode)) {
    throw NvmtError(path + ": not a regular file");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  const std::int64_t count = base::read_fully_at(file.get(), bytes, 0);
  if (count < 0) {
    throw NvmtError(base::describe_errno("cannot read", path, errno));
  }
  return parse_nvmt(std::span(bytes).first(static_cast<std::size_t>(count)), path);
}

std::string_view field_text(std::span<const char> field) {
  return {field.data(), static_cast<std::size_t>(std::find(field.begin(), field.end(), '\0') - field.begin())};
}

void set_field(std::span<char> field, std::string_view text) {
  const std::string_view cut = base::cut_text(text.substr(0, text.find('\0')), field.size() - 1);
  std::fill(std::copy(cut.begin(), cut.end(), field.begin()), field.end(), '\0');
}

}  // namespace kymo::exchange
