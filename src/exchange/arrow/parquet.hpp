// A table of a capture as a Parquet file, for pandas, Polars, DuckDB, Spark, R.
#pragma once

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// Writes the table that the request names; batches are row groups. Texts that repeat are coded by dictionaries, and
/// pages are compressed with zstd.
ExportWriter write_parquet;

}  // namespace kymo::exchange
