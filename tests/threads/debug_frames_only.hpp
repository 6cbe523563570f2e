// A function whose call frame information is in .debug_frame alone, as in programs without exceptions.
#pragma once

namespace kymo::test {

/// Calls a function and returns what that does. Says where itself returns to.
int call_without_tables(int (*function)(void* context), void* context, void*& returns_to);

}  // namespace kymo::test
