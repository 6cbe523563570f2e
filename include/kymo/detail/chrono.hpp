// std::chrono's durations and clocks. All of <chrono>, with its calendars, takes a C++20 compiler longer than the rest
// of kymo's headers together.
#pragma once

#include <cstdint>  // says which C++ library this is

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
// GCC 12 and later: the part of <chrono> that <mutex> and <future> include as well.
#include <bits/chrono.h>
#else
#include <chrono>
#endif
