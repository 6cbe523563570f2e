#include "capture/format/declarations_codec.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/event_lists.hpp"
#include "capture/format/row_columns.hpp"

namespace kymo::capture {
namespace {

constexpr std::size_t max_piece_rows = 4096;
constexpr std::size_t max_piece_bytes = std::size_t{8} << 20U;

// A row of METRIC_LABELS.
struct LabelRow {
  std::string key;
  std::string value;
  std::uint64_t metric_row = 0;
};

// The columns of each table: Columns is RowsOut, RowsIn or TextBytes.

template <typename Columns>
void visit(Columns& columns, const ProcessDeclaration*) {
  columns.text(1, &ProcessDeclaration::host);
  columns.number(2, &ProcessDeclaration::id, wandering);
  columns.number(3, &ProcessDeclaration::pid);
  columns.text(4, &ProcessDeclaration::boot_id);
  columns.text(5, &ProcessDeclaration::rank);
  columns.text(6, &ProcessDeclaration::command_line);
}

template <typename Columns>
void visit(Columns& columns, const InfoDeclaration*) {
  columns.text(1, &InfoDeclaration::key);
  columns.number(2, &InfoDeclaration::process);
  columns.text(3, &InfoDeclaration::value);
}

template <typename Columns>
void visit(Columns& columns, const NameDeclaration*) {
  columns.text(1, &NameDeclaration::text);
  columns.number(2, &NameDeclaration::id, wandering);
}

template <typename Columns>
void visit(Columns& columns, const ModuleDeclaration*) {
  columns.text(1, &ModuleDeclaration::path);
  columns.number(2, &ModuleDeclaration::id, wandering);
  columns.number(3, &ModuleDeclaration::process);
  columns.number(4, &ModuleDeclaration::load_base);
  columns.number(5, &ModuleDeclaration::size);
  columns.text(6, &ModuleDeclaration::build_id);
}

template <typename Columns>
void visit(Columns& columns, const SiteDeclaration*) {
  columns.text(1, &SiteDeclaration::name);
  columns.number(2, &SiteDeclaration::id, wandering);
  columns.kind(3, &SiteDeclaration::kind, SiteKind::hooked);
  columns.number(4, &SiteDeclaration::process);
  columns.number(5, &SiteDeclaration::line);
  columns.text(6, &SiteDeclaration::function);
  columns.text(7, &SiteDeclaration::file);
  columns.number(8, &SiteDeclaration::module);
  columns.number(9, &SiteDeclaration::module_offset);
  columns.role(10, &SiteDeclaration::role, SiteRole::wait);
}

template <typename Columns>
void visit(Columns& columns, const TrackDeclaration*) {
  columns.text(1, &TrackDeclaration::name);
  columns.number(2, &TrackDeclaration::id, wandering);
  columns.kind(3, &TrackDeclaration::kind, TrackKind::queue);
  columns.number(4, &TrackDeclaration::process);
  columns.number(5, &TrackDeclaration::os_thread_id);
  columns.role(6, &TrackDeclaration::role, TrackRole::lock);
}

template <typename Columns>
void visit(Columns& columns, const MetricDeclaration*) {
  columns.text(1, &MetricDeclaration::name);
  columns.number(2, &MetricDeclaration::id, wandering);
  columns.kind(3, &MetricDeclaration::kind, MetricKind::energy_counter);
  columns.number(4, &MetricDeclaration::process);
  columns.text(5, &MetricDeclaration::unit);
  columns.text(6, &MetricDeclaration::source);
  columns.real(7, &MetricDeclaration::step);
  columns.number(8, &MetricDeclaration::renewal_ns);
  columns.number(9, &MetricDeclaration::window_ns);
  columns.number(10, &MetricDeclaration::traits);
}

template <typename Columns>
void visit(Columns& columns, const LabelRow*) {
  columns.text(1, &LabelRow::key);
  columns.text(2, &LabelRow::value);
  columns.number(3, &LabelRow::metric_row, ascending);
}

template <typename Columns>
void visit(Columns& columns, const FrameStreamDeclaration*) {
  columns.text(1, &FrameStreamDeclaration::name);
  columns.number(2, &FrameStreamDeclaration::id, wandering);
  columns.number(3, &FrameStreamDeclaration::process);
}

template <typename Columns>
void visit(Columns& columns, const ThreadDeclaration*) {
  columns.text(1, &ThreadDeclaration::name);
  columns.number(2, &ThreadDeclaration::id, wandering);
  columns.number(3, &ThreadDeclaration::process);
  columns.number(4, &ThreadDeclaration::pid, wandering);
  columns.number(5, &ThreadDeclaration::os_thread_id, wandering);
}

template <typename Columns>
void visit(Columns& columns, const FunctionDeclaration*) {
  columns.text(1, &FunctionDeclaration::name);
  columns.number(2, &FunctionDeclaration::id, wandering);
  columns.number(3, &FunctionDeclaration::module);
  columns.number(4, &FunctionDeclaration::module_offset);
  columns.text(5, &FunctionDeclaration::file);
}

template <typename Columns>
void visit(Columns& columns, const StackDeclaration*) {
  columns.number(1, &StackDeclaration::id, wandering);
  columns.number(2, &StackDeclaration::caller, wandering);
  columns.number(3, &StackDeclaration::function);
  columns.number(4, &StackDeclaration::line, wandering);
}

/// Calls visit(table, rows) for each table of declarations but that of labels.
template <typename Visit, typename Set>
void for_each_table(const Visit& visit, Set& set) {
  visit(TableId::processes, set.processes);
  visit(TableId::infos, set.infos);
  visit(TableId::names, set.names);
  visit(TableId::modules, set.modules);
  visit(TableId::sites, set.sites);
  visit(TableId::tracks, set.tracks);
  visit(TableId::metrics, set.metrics);
  visit(TableId::frame_streams, set.frame_streams);
  visit(TableId::threads, set.threads);
  visit(TableId::functions, set.functions);
  visit(TableId::stacks, set.stacks);
}

template <typename Row>
void write_rows(TableId id, std::span<const Row> rows, TableWriter& table) {
  if (!rows.empty()) {
    table.begin(id);
    RowsOut<Row> columns(table, rows);
    visit(columns, rows.data());
    table.end();
  }
}

template <typename Row>
void read_rows(const TableView& table, std::vector<Row>& rows) {
  const ColumnView* const texts = table.find(1);
  // Every text takes at least a byte, so there are never more rows than bytes.
  if (texts == nullptr || Encoding::of(texts->encoding).storage != Storage::texts) {
    throw DecodeError("a table of declarations does not begin with a column of texts");
  }
  RowsIn<Row> columns(table, rows);
  visit(columns, rows.data());
}

// Without texts, only the number of rows limits what a few bytes demand.
void read_rows(const TableView& table, std::vector<StackDeclaration>& stacks) {
  if (table.rows() > max_piece_rows - std::min(stacks.size(), max_piece_rows)) {
    throw DecodeError("a block has more stacks than any writer gives it");
  }
  RowsIn<StackDeclaration> columns(table, stacks);
  visit(columns, stacks.data());
}

std::vector<LabelRow> collect_labels(std::span<const MetricDeclaration> metrics) {
  std::vector<LabelRow> labels;
  for (std::size_t row = 0; row < metrics.size(); ++row) {
    for (const auto& [key, value] : metrics[row].labels) {
      labels.push_back({key, value, row});
    }
  }
  return labels;
}

void distribute_labels(const TableView& table, std::vector<MetricDeclaration>& metrics) {
  std::vector<LabelRow> labels;
  read_rows(table, labels);
  for (LabelRow& label : labels) {
    if (label.metric_row >= metrics.size()) {
      throw DecodeError("a label belongs to no metric");
    }
    metrics[static_cast<std::size_t>(label.metric_row)].labels.emplace_back(std::move(label.key),
                                                                            std::move(label.value));
  }
}

}  // namespace

void encode_declarations(const Declarations& declarations, TableWriter& table, RowRange range) {
  const auto write = [&]<typename Row>(TableId id, const std::vector<Row>& list) {
    const std::size_t first = std::min(range.first, list.size());
    const std::size_t count = std::min(range.count, list.size() - first);
    range = {range.first - first, range.count - count};
    const std::span rows(list.data() + first, count);
    write_rows(id, rows, table);
    if constexpr (std::is_same_v<Row, MetricDeclaration>) {
      const std::vector<LabelRow> labels = collect_labels(rows);
      write_rows(TableId::metric_labels, std::span(labels), table);
    }
  };
  for_each_table(write, declarations);
}

namespace {

/// Sums up the texts of a row's columns.
template <typename Row>
struct TextBytes {
  const Row& row;
  std::size_t bytes = 0;

  void text(std::uint8_t /*column*/, std::string Row::*member) { bytes += (row.*member).size(); }
  void number(auto... /*column*/) {}
  void kind(auto... /*column*/) {}
  void role(auto... /*column*/) {}
  void real(auto... /*column*/) {}
};

template <typename Row>
std::size_t text_bytes(const Row& row) {
  TextBytes<Row> columns{row};
  visit(columns, &row);
  if constexpr (std::is_same_v<Row, MetricDeclaration>) {
    for (const auto& [key, value] : row.labels) {
      columns.bytes += key.size() + value.size() + 8;
    }
  }
  return columns.bytes;
}

}  // namespace

void for_each_piece(const Declarations& declarations, const std::function<void(RowRange)>& take) {
  RowRange piece{0, 0};
  std::size_t bytes = 0;
  const auto cut = [&](TableId /*id*/, const auto& list) {
    for (const auto& row : list) {
      ++piece.count;
      bytes += text_bytes(row);
      if (piece.count >= max_piece_rows || bytes >= max_piece_bytes) {
        take(piece);
        piece = {piece.first + piece.count, 0};
        bytes = 0;
      }
    }
  };
  for_each_table(cut, declarations);
  if (piece.count != 0 || piece.first == 0) {
    take(piece);
  }
}

std::uint64_t memory_of(const Declarations& declarations) {
  constexpr std::uint64_t beside_a_row = 64;  // its node in the index by id
  std::uint64_t bytes = 0;
  const auto add = [&bytes](const auto& list) {
    for (const auto& row : list) {
      bytes += sizeof row + beside_a_row + text_bytes(row);
    }
  };
  base::for_each_declaration_list(add, declarations);
  return bytes;
}

bool decode_declarations(const TableView& table, Declarations& declarations) {
  const auto id = static_cast<TableId>(table.id());
  if (id == TableId::metric_labels) {
    distribute_labels(table, declarations.metrics);
    return true;
  }
  bool is_known = false;
  const auto read = [&](TableId wanted, auto& rows) {
    if (wanted == id) {
      read_rows(table, rows);
      is_known = true;
    }
  };
  for_each_table(read, declarations);
  return is_known;
}

}  // namespace kymo::capture
