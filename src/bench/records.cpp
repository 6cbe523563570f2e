// The records of benchmark files: maps columns to members.
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include <kymo/bench.hpp>

#include "base/output/replacing_file.hpp"
#include "bench/csv.hpp"

namespace kymo {
namespace {

/// A column's name, and its member: anything that std::invoke takes with a record.
template <typename Access>
struct Column {
  const char* name;
  Access access;
};
template <typename Access>
Column(const char*, Access) -> Column<Access>;

/// A member of a snapshot's parts.
struct Part {
  std::uint64_t MemoryParts::*member;

  template <typename Snapshot>
  auto& operator()(Snapshot& snapshot) const {
    return snapshot.parts.*member;
  }
};

auto columns_of(const LatencyRecord* /*type*/) {
  return std::tuple(
      Column{"sample_id", &LatencyRecord::sample_id}, Column{"wall_time_us", &LatencyRecord::wall_time_us},
      Column{"kernel_time_us", &LatencyRecord::kernel_time_us}, Column{"seq_len", &LatencyRecord::seq_len});
}

auto columns_of(const MemorySnapshot* /*type*/) {
  return std::tuple(Column{"timestamp_us", &MemorySnapshot::timestamp_us},
                    Column{"peak_rss_bytes", &MemorySnapshot::peak_rss_bytes},
                    Column{"kv_cache_bytes", Part{&MemoryParts::kv_cache_bytes}},
                    Column{"activation_bytes", Part{&MemoryParts::activation_bytes}},
                    Column{"temp_buffer_bytes", Part{&MemoryParts::temp_buffer_bytes}});
}

auto columns_of(const BaselineRecord* /*type*/) {
  return std::tuple(Column{"sample_id", &BaselineRecord::sample_id}, Column{"seq_len", &BaselineRecord::seq_len},
                    Column{"wall_time_us", &BaselineRecord::wall_time_us},
                    Column{"peak_mem_bytes", &BaselineRecord::peak_mem_bytes},
                    Column{"energy_j", &BaselineRecord::energy_j});
}

auto columns_of(const ResultRow* /*type*/) {
  return std::tuple(Column{"setting", &ResultRow::setting}, Column{"coherence_delta", &ResultRow::coherence_delta},
                    Column{"kv_cache_reduction", &ResultRow::kv_cache_reduction},
                    Column{"peak_mem_reduction", &ResultRow::peak_mem_reduction},
                    Column{"energy_reduction", &ResultRow::energy_reduction},
                    Column{"p95_latency_us", &ResultRow::p95_latency_us}, Column{"accuracy", &ResultRow::accuracy});
}

auto columns_of(const PowerSample* /*type*/) {
  return std::tuple(Column{"time_s", &PowerSample::time_s}, Column{"watts", &PowerSample::watts});
}

/// Calls `use(column, index)` for each column of a record type.
template <typename Record, typename Use>
void for_each_column(Use use) {
  std::apply(
      [&use](const auto&... column) {
        std::size_t index = 0;
        (use(column, index++), ...);
      },
      columns_of(static_cast<const Record*>(nullptr)));
}

void append(std::string& out, const std::string& value) {
  bench::append_field(out, std::string_view(value));
}
void append(std::string& out, double value) {
  bench::append_field(out, value);
}
void append(std::string& out, std::uint64_t value) {
  out += std::to_string(value);
}
void append(std::string& out, std::int64_t value) {
  out += std::to_string(value);
}

template <typename Value>
bool parse(const std::string& field, Value& value) {
  return bench::parse_field(field, value);
}
bool parse(const std::string& field, std::string& value) {
  value = field;
  return true;
}

template <typename Record>
std::string make_csv(const std::vector<Record>& records) {
  std::string text;
  for_each_column<Record>([&text](const auto& column, std::size_t index) {
    text += index == 0 ? "" : ",";
    text += column.name;
  });
  text += '\n';
  for (const Record& record : records) {
    for_each_column<Record>([&](const auto& column, std::size_t index) {
      text += index == 0 ? "" : ",";
      append(text, std::invoke(column.access, record));
    });
    text += '\n';
  }
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  base::replace_file(path, {{}, true, {}}, [&text](base::OutputFile file) {
    file.buffer() = text;
    file.close();
  });
}

template <typename Record>
void check_header(const bench::CsvScanner& scanner, const std::vector<std::string>& fields) {
  std::vector<std::string> names;
  std::string header;
  for_each_column<Record>([&](const auto& column, std::size_t index) {
    names.emplace_back(column.name);
    header += (index == 0 ? "" : ",") + names.back();
  });
  if (fields != names) {
    scanner.fail("the header is not " + header);
  }
}

}  // namespace

template <typename Record>
std::vector<Record> parse_csv(std::string_view text, const std::string& name) {
  bench::CsvScanner scanner(text, name);
  std::vector<std::string> fields;
  if (!scanner.next(fields)) {
    throw BenchFileError(name + ": the file is empty; there should be a header line");
  }
  check_header<Record>(scanner, fields);
  const std::size_t count = fields.size();
  std::vector<Record> records;
  while (scanner.next(fields)) {
    if (fields.size() != count) {
      scanner.fail("there are " + std::to_string(fields.size()) + " fields where the header has " +
                   std::to_string(count));
    }
    Record record;
    for_each_column<Record>([&](const auto& column, std::size_t index) {
      if (!parse(fields[index], std::invoke(column.access, record))) {
        scanner.fail(std::string(column.name) + " is " + bench::quote_for_message(fields[index]) +
                     ", which is not a number that fits");
      }
    });
    records.push_back(std::move(record));
  }
  return records;
}

template <typename Record>
std::vector<Record> read_csv(const std::string& path) {
  return parse_csv<Record>(bench::read_file(path), path);
}

template std::vector<LatencyRecord> parse_csv(std::string_view text, const std::string& name);
template std::vector<MemorySnapshot> parse_csv(std::string_view text, const std::string& name);
template std::vector<BaselineRecord> parse_csv(std::string_view text, const std::string& name);
template std::vector<ResultRow> parse_csv(std::string_view text, const std::string& name);
template std::vector<PowerSample> parse_csv(std::string_view text, const std::string& name);
template std::vector<LatencyRecord> read_csv(const std::string& path);
template std::vector<MemorySnapshot> read_csv(const std::string& path);
template std::vector<BaselineRecord> read_csv(const std::string& path);
template std::vector<ResultRow> read_csv(const std::string& path);
template std::vector<PowerSample> read_csv(const std::string& path);

std::string to_csv(const std::vector<LatencyRecord>& records) {
  return make_csv(records);
}
std::string to_csv(const std::vector<MemorySnapshot>& records) {
  return make_csv(records);
}
std::string to_csv(const std::vector<BaselineRecord>& records) {
  return make_csv(records);
}
std::string to_csv(const std::vector<ResultRow>& records) {
  return make_csv(records);
}
std::string to_csv(const std::vector<PowerSample>& records) {
  return make_csv(records);
}

void write_csv(const std::string& path, const std::vector<LatencyRecord>& records) {
  write_text(path, make_csv(records));
}
void write_csv(const std::string& path, const std::vector<MemorySnapshot>& records) {
  write_text(path, make_csv(records));
}
void write_csv(const std::string& path, const std::vector<BaselineRecord>& records) {
  write_text(path, make_csv(records));
}
void write_csv(const std::string& path, const std::vector<ResultRow>& records) {
  write_text(path, make_csv(records));
}
void write_csv(const std::string& path, const std::vector<PowerSample>& records) {
  write_text(path, make_csv(records));
}

}  // namespace kymo
