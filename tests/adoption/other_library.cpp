// Every call of the recorder that takes a text, a time or an argument, built with another C++ library than kymo's.
#include <kymo/kymo.hpp>

#include <chrono>
#include <string>

int main() {
  if (!kymo::enable()) {
    return 1;
  }
  kymo::set_thread_name(std::string("main loop"));
  kymo::set_info("model", std::string("tiny"));
  const kymo::MetricLabel labels[] = {{"disk", "sda"}};
  kymo::MetricDescription described;
  described.name = "written";
  described.unit = "B";
  described.labels = labels;
  described.label_count = 1;
  const kymo::MetricSample sample{kymo::declare_metric(described), 0, 42.0};
  kymo::record_samples(&sample, 1);
  const kymo::TrackId queue = kymo::track("queue 1");
  kymo::Fiber fiber("loader");
  for (int i = 0; i < 10; ++i) {
    kymo::frame_mark();
    KYMO_SCOPE("work", {"n", i}, {"what", std::string("text")});
    KYMO_ARG("share", 0.5);
    {
      KYMO_SCOPE_DYNAMIC(std::string("made at run time"));
      kymo::FiberGuard guard(fiber);
      KYMO_SCOPE("in a fiber");
    }
    kymo::AsyncSpan span("requests", "request");
    span.argument({"id", i});
    kymo::emit_span(queue, "kernel", "compute", std::chrono::nanoseconds(1'000 * i), std::chrono::nanoseconds(500),
                    {{"grid", i}});
    kymo::flow_begin(static_cast<std::uint64_t>(i));
    kymo::flow_end(static_cast<std::uint64_t>(i), queue, std::chrono::nanoseconds(1'000 * i));
    kymo::record_metric("rows", i);
    kymo::message("hello");
  }
  return kymo::capture_path().empty() ? 1 : 0;
}
