// libkymo's system functions in a browser: facts of the page. A page has no variables and no sampler, and never forks.
#include <ctime>
#include <string>

#include <emscripten/emscripten.h>

#include "control/control.hpp"
#include "control/environment.hpp"
#include "control/platform.hpp"
#include "control/run_facts.hpp"
#include "control/sampling.hpp"

// Each fills a buffer and returns the number of bytes used. Parts of the address that may hold secrets are left out.
EM_JS(int, kymo_page_address, (char* into, int size), {
  var text = typeof location == 'object'  ? location.origin + location.pathname
             : typeof process == 'object' ? process.argv.join(' ')
                                          : "";
  return new TextEncoder().encodeInto(text, HEAPU8.subarray(into, into + size)).written;
});

EM_JS(int, kymo_host_name, (char* into, int size), {
  var text = typeof location == 'object' && location.hostname ? location.hostname : 'browser';
  return new TextEncoder().encodeInto(text, HEAPU8.subarray(into, into + size)).written;
});

EM_JS(int, kymo_browser_name, (char* into, int size), {
  var text = typeof process == 'object' && process.versions && process.versions.node ? 'Node.js ' + process.version
             : typeof navigator == 'object'                                          ? navigator.userAgent
                                                                                     : "";
  return new TextEncoder().encodeInto(text, HEAPU8.subarray(into, into + size)).written;
});

EM_JS(int, kymo_cpu_count, (void),
      { return typeof navigator == 'object' && navigator.hardwareConcurrency ? navigator.hardwareConcurrency : 0; });

namespace kymo::control {

namespace {

std::string ask(int (*question)(char*, int)) {
  std::string answer(1024, '\0');
  answer.resize(static_cast<std::size_t>(question(answer.data(), static_cast<int>(answer.size()))));
  return answer;
}

}  // namespace

std::string host_name() {
  return ask(kymo_host_name);
}

std::string job_rank() {
  return {};
}

std::string job_id() {
  return {};
}

Declarations describe_run() {
  Declarations facts;
  facts.processes.push_back({ProcessId{1}, 1, host_name(), {}, {}, ask(kymo_page_address)});
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  char started[32] = "";
  ::gmtime_r(&now, &broken_down);
  std::strftime(static_cast<char*>(started), sizeof started, "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  facts.infos.push_back({ProcessId{1}, "started", static_cast<const char*>(started)});
  facts.infos.push_back({ProcessId{1}, "browser", ask(kymo_browser_name)});
  if (const int count = kymo_cpu_count(); count > 0) {
    facts.infos.push_back({ProcessId{1}, "cpu_count", std::to_string(count)});
  }
  facts.infos.push_back({ProcessId{1}, "architecture", "wasm32"});
  return facts;
}

void Control::watch_process() {}

int connect_to_holder(const std::string& /*path*/) {
  return -1;
}

Environment read_environment() {
  return {};
}

bool Sampling::start(const SampleRates& /*rates*/, bool /*is_wanted*/, bool /*has_capture*/) noexcept {
  return is_running_;
}

void Sampling::stop() noexcept {}

bool Sampling::forget() noexcept {
  return is_running_;
}

}  // namespace kymo::control
