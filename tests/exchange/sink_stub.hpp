// Stands in for the recorder: keeps the sink that was installed last.
#pragma once

#include <memory>

#include <kymo/sink.hpp>

namespace kymo::test {

inline std::shared_ptr<Sink> installed_sink;

}  // namespace kymo::test
