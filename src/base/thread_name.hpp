// What debuggers and the system's own tools call a thread.
#pragma once

namespace kymo::base {

/// Names the calling thread, in 15 characters at most.
void name_this_thread(const char* name) noexcept;

}  // namespace kymo::base
