#include <kymo/sink.hpp>

namespace kymo {

Sink::~Sink() = default;

}  // namespace kymo
