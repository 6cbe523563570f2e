// Everything that a program needs to record itself. A sink of one's own needs kymo/sink.hpp as well.
#pragma once

#include <kymo/chrome_trace.hpp>
#include <kymo/fiber.hpp>
#include <kymo/frame.hpp>
#include <kymo/metric.hpp>
#include <kymo/recorder.hpp>
#include <kymo/scope.hpp>
#include <kymo/span.hpp>
