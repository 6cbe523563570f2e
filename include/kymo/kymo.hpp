// Everything that a program needs to record itself. Custom sinks also need kymo/sink.hpp.
#pragma once

#include <kymo/chrome_trace.hpp>
#include <kymo/fiber.hpp>
#include <kymo/frame.hpp>
#include <kymo/metric.hpp>
#include <kymo/recorder.hpp>
#include <kymo/scope.hpp>
#include <kymo/span.hpp>
