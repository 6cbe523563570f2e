// What the recorder would define: sinks are called by the tests themselves.
#include "sink_stub.hpp"

#include <kymo/sink.hpp>

namespace kymo {

Sink::~Sink() = default;

SinkGuard Sink::install(std::shared_ptr<Sink> sink) {
  test::installed_sink = std::move(sink);
  return SinkGuard(1);
}

SinkGuard::~SinkGuard() {
  remove();
}
void SinkGuard::remove() noexcept {
  handle_ = 0;
}

}  // namespace kymo
