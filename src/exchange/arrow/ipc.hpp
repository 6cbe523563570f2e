// A table of a capture as an Arrow IPC file (also called Feather), for pandas, Polars, R, DuckDB.
#pragma once

#include <string_view>

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Metadata by which kymo recognises its own files.
inline constexpr std::string_view arrow_file_mark = "kymo.table";

/// Writes the table that the request names, batch by batch.
ExportWriter write_arrow;

}  // namespace kymo::exchange
