// Everything that a program needs to record itself. Custom sinks also need kymo/sink.hpp.
#pragma once

#if __cplusplus < 201703L
#error "kymo needs C++17: compile with -std=c++17 or later. Older programs can use the C interface, kymo/kymo.h."
#else

#include <kymo/chrome_trace.hpp>
#include <kymo/fiber.hpp>
#include <kymo/frame.hpp>
#include <kymo/metric.hpp>
#include <kymo/recorder.hpp>
#include <kymo/scope.hpp>
#include <kymo/span.hpp>

#endif
