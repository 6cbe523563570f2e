// Everything that a program needs to record itself.
#pragma once

#include <kymo/frame.hpp>
#include <kymo/metric.hpp>
#include <kymo/recorder.hpp>
#include <kymo/scope.hpp>
#include <kymo/sink.hpp>
#include <kymo/span.hpp>
