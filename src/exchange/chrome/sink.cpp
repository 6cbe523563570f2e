#include "exchange/chrome/sink.hpp"

#include <unistd.h>

namespace kymo::exchange {

ChromeSink::ChromeSink(const std::string& path, const Declarations& known)
    : writer_(base::OutputFile::create(path), TraceContainer::array), owner_(::getpid()) {
  writer_.declare(known);
}

void ChromeSink::write(const EventBatch& batch) {
  if (::getpid() == owner_) {
    writer_.write(batch);
    writer_.write_states(batch);
    writer_.flush();
  }
}

void ChromeSink::finish() {
  if (::getpid() == owner_) {
    writer_.finish();
  }
}

}  // namespace kymo::exchange
