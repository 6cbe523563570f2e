#include "exchange/chrome/sink.hpp"

#include <exception>
#include <memory>

#include <unistd.h>

#include <kymo/chrome_trace.hpp>

#include "base/system/message.hpp"

namespace kymo {
namespace exchange {

ChromeSink::ChromeSink(const std::string& path)
    : writer_(base::OutputFile::create(path), TraceContainer::array), owner_(::getpid()) {}

void ChromeSink::write(const EventBatch& batch) {
  if (::getpid() == owner_) {
    writer_.write(batch);
    writer_.flush();
  }
}

void ChromeSink::finish() {
  if (::getpid() == owner_) {
    writer_.finish();
  }
}

}  // namespace exchange

SinkGuard ChromeTraceSink::install() const noexcept {
  try {
    return Sink::install(std::make_shared<exchange::ChromeSink>(path_.c_str()));
  } catch (const std::exception& error) {
    base::say(std::string("Chrome trace: ") + error.what() + "; no trace is written");
  } catch (...) {
    base::say("Chrome trace: it could not be begun; no trace is written");
  }
  return SinkGuard();
}

}  // namespace kymo
