// The records of benchmark files: maps columns to members.
#include <string>
#include <tuple>
#include <utility>

#include <kymo/bench.hpp>

#include "base/output/replacing_file.hpp"
#include "bench/csv.hpp"

namespace kymo {
namespace {

/// A column's name, and access to its member.
template <typename Access>
struct Column {
  const char* name;
  Access access;
};
template <typename Access>
Column(const char*, Access) -> Column<Access>;

auto columns_of(const LatencyRecord* /*type*/) {
  return std::tuple(Column{"sample_id", [](auto& record) -> auto& { return record.sample_id;
}
}  // namespace
, Column{"wall_time_us", [](auto& record) -> auto& {return record.wall_time_us;
}  // namespace kymo
}
, Column{"kernel_time_us", [](auto& record) -> auto& {return record.kernel_time_us;
}
}
, Column{"seq_len", [](auto& record) -> auto& {return record.seq_len;
}
});
}

auto columns_of(const MemorySnapshot* /*type*/) {
  return std::tuple(Column{"timestamp_us", [](auto& record) -> auto& { return record.timestamp_us;
}
}
, Column{"peak_rss_bytes", [](auto& record) -> auto& {return record.peak_rss_bytes;
}
}
, Column{"kv_cache_bytes", [](auto& record) -> auto& {return record.parts.kv_cache_bytes;
}
}
, Column{"activation_bytes", [](auto& record) -> auto& {return record.parts.activation_bytes;
}
}
, Column{"temp_buffer_bytes", [](auto& record) -> auto& {return record.parts.temp_buffer_bytes;
}
});
}

auto columns_of(const BaselineRecord* /*type*/) {
  return std::tuple(Column{"sample_id", [](auto& record) -> auto& { return record.sample_id;
}
}
, Column{"seq_len", [](auto& record) -> auto& {return record.seq_len;
}
}
, Column{"wall_time_us", [](auto& record) -> auto& {return record.wall_time_us;
}
}
, Column{"peak_mem_bytes", [](auto& record) -> auto& {return record.peak_mem_bytes;
}
}
, Column{"energy_j", [](auto& record) -> auto& {return record.energy_j;
}
});
}

auto columns_of(const ResultRow* /*type*/) {
  return std::tuple(Column{"setting", [](auto& record) -> auto& { return record.setting;
}
}
, Column{"coherence_delta", [](auto& record) -> auto& {return record.coherence_delta;
}
}
, Column{"kv_cache_reduction", [](auto& record) -> auto& {return record.kv_cache_reduction;
}
}
, Column{"peak_mem_reduction", [](auto& record) -> auto& {return record.peak_mem_reduction;
}
}
, Column{"energy_reduction", [](auto& record) -> auto& {return record.energy_reduction;
}
}
, Column{"p95_latency_us", [](auto& record) -> auto& {return record.p95_latency_us;
}
}
, Column{"accuracy", [](auto& record) -> auto& {return record.accuracy;
}
});
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
      append(text, column.access(record));
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
      if (!parse(fields[index], column.access(record))) {
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
template std::vector<LatencyRecord> read_csv(const std::string& path);
template std::vector<MemorySnapshot> read_csv(const std::string& path);
template std::vector<BaselineRecord> read_csv(const std::string& path);
template std::vector<ResultRow> read_csv(const std::string& path);

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

}  // namespace kymo
