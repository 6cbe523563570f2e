// The sink that writes a Chrome trace while the program runs.
#pragma once

#include <string>

#include <sys/types.h>

#include <kymo/sink.hpp>

#include "exchange/chrome_trace.hpp"

namespace kymo::exchange {

/// Writes every batch out before write() returns, so that a killed process leaves a trace that opens. The file is an
/// array of events. In a child after fork it does nothing: the file is the parent's.
class ChromeSink : public Sink {
 public:
  /// As OutputFile::create(). OutputError.
  explicit ChromeSink(const std::string& path);

  void write(const EventBatch& batch) override;
  void finish() override;

 private:
  ChromeTraceWriter writer_;
  pid_t owner_;
};

}  // namespace kymo::exchange
