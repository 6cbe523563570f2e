// What the commands that serve have in common: where they listen, and until when.
#pragma once

#include <functional>
#include <string>

#include <kymo/timeline.hpp>

#include "serve/server.hpp"

namespace CLI {
class App;
}

namespace kymo::command {

struct ListenArguments {
  std::string address;
  std::string token;  ///< "true": one that the server makes
};

/// Adds --listen and --token to a subcommand.
void add_listen_arguments(CLI::App& command, ListenArguments& arguments, const std::string& what);

/// Throws std::invalid_argument if they make no sense.
void apply(const ListenArguments& arguments, serve::ServerOptions& server);

/// For ServerOptions::metrics: those of captures, which are opened at the first request.
[[nodiscard]] std::function<std::string()> live_metrics(std::function<Timeline()> open);

[[nodiscard]] std::string metrics_url(const serve::Server& server);

/// Serves until SIGINT, SIGTERM or SIGHUP. `describe` is called once it listens.
void serve_until_ended(serve::ServerOptions options, const std::function<void(const serve::Server&)>& describe);

}  // namespace kymo::command
