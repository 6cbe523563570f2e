// What the recorder would define: the sink of a test is called by the test itself.
#include <kymo/sink.hpp>

namespace kymo {

Sink::~Sink() = default;

}  // namespace kymo
