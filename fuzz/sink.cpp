#include <kymo/sink.hpp>

kymo::Sink::~Sink() = default;
