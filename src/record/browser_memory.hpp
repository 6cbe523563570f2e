// What a browser tells of a page's memory.
#pragma once

namespace kymo::record {

/// Records js_heap_mb, the heap of the page's JavaScript (performance.memory: Chromium, not in workers), and
/// page_memory_mb, all memory of the page (performance.measureUserAgentSpecificMemory: Chromium, where the page is
/// isolated from other origins; asked for every ten seconds, the answer comes when the browser has it). What the
/// browser does not give is not recorded. A few microseconds; for calls that write no event.
void sample_browser_memory() noexcept;

}  // namespace kymo::record
