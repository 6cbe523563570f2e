// What can be asked for, and by whom.
//
//     GET /                                      the page
//     GET /api/captures                          the captures, as JSON
//     GET /api/captures/ID                       a capture's bytes, by Range
//     GET /api/captures/ID/outline?from=OFFSET   everything but its events (outline.hpp)
//     GET /api/events                            server-sent events: "grown" and "added"
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "serve/answer.hpp"
#include "serve/catalogue.hpp"
#include "serve/growth_watch.hpp"
#include "serve/host_check.hpp"
#include "serve/limits.hpp"
#include "serve/page_files.hpp"

namespace kymo::serve {

/// Answers requests. Thread safe. What it is made of must outlive it and the bodies of its answers.
class Api {
 public:
  /// `token`: empty where none is asked for.
  Api(const Catalogue& catalogue, const GrowthWatch& watch, HostCheck hosts, std::string token, PageFiles page,
      const Limits& limits);

  [[nodiscard]] Answer answer(const Request& request);

 private:
  [[nodiscard]] Answer answer_api(const Request& request);
  [[nodiscard]] Answer answer_capture(std::size_t id, const Request& request) const;
  [[nodiscard]] Answer answer_outline(std::size_t id, const Request& request) const;
  [[nodiscard]] Answer answer_events();

  const Catalogue& catalogue_;
  const GrowthWatch& watch_;
  HostCheck hosts_;
  std::string token_;
  PageFiles page_;
  const Limits& limits_;
  std::atomic<unsigned> event_streams_{0};
};

}  // namespace kymo::serve
