// A browser's information on a page's memory.
#pragma once

namespace kymo::record {

/// Records js_heap_mb and page_memory_mb. Values that the browser does not provide are not recorded.
///
/// - js_heap_mb: the heap of the page's JavaScript (performance.memory: Chromium, not in workers).
/// - page_memory_mb: all memory of the page (performance.measureUserAgentSpecificMemory: Chromium, if the page is
///   isolated from other origins). Requested every ten seconds; the browser answers some time later.
///
/// A few microseconds; for calls that write no event.
void sample_browser_memory() noexcept;

}  // namespace kymo::record
