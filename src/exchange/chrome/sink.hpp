// Sink that writes a Chrome trace while the program runs.
#pragma once

#include <string>

#include <sys/types.h>

#include <kymo/declarations.hpp>
#include <kymo/sink.hpp>

#include "exchange/chrome/trace.hpp"

namespace kymo::exchange {

/// Writes every batch to the file before write() returns, so a killed process leaves a readable trace. The file is an
/// array of events. Does nothing in a child after fork, because the file is the parent's.
class ChromeSink : public Sink {
 public:
  /// Creates the file like OutputFile::create(). Batches lack the process; `known` declares it. Throws OutputError.
  explicit ChromeSink(const std::string& path, const Declarations& known = {});

  void write(const EventBatch& batch) override;
  void finish() override;

 private:
  ChromeTraceWriter writer_;
  pid_t owner_;
};

}  // namespace kymo::exchange
