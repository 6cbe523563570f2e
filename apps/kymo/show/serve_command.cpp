// kymo serve: shows captures in a browser.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/flush_output.hpp"
#include "apps/kymo/shared/say.hpp"
#include "apps/kymo/shared/serving.hpp"
#include "apps/kymo/shared/units.hpp"
#include "serve/page_files.hpp"
#include "serve/server.hpp"

namespace kymo::command {

namespace {

namespace fs = std::filesystem;

struct ServeOptions {
  std::vector<std::string> paths;
  ListenArguments listen{"127.0.0.1:7878", {}};
  bool has_metrics = false;
  std::string page;
};

serve::ServerOptions to_server_options(const ServeOptions& options) {
  serve::ServerOptions server;
  server.paths = options.paths;
  apply(options.listen, server);
  if (options.has_metrics) {
    server.metrics = live_metrics([paths = options.paths] { return Timeline(paths); });
  }
  std::error_code error;
  server.page = options.page.empty() ? serve::find_page_folder(fs::read_symlink("/proc/self/exe", error))
                                     : fs::path(options.page);
  return server;
}

/// An ssh command for reaching a server on loopback from the machine of the remote login; empty without a remote login.
std::string ssh_line(const serve::Server& server) {
  const char* const connection = std::getenv("SSH_CONNECTION");
  if (connection == nullptr || !server.is_loopback()) {
    return {};
  }
  // The client's address and port, then ours.
  const std::string text = connection;
  const std::size_t second = text.find(' ', text.find(' ') + 1);
  const std::size_t third = second == std::string::npos ? second : text.find(' ', second + 1);
  if (third == std::string::npos) {
    return {};
  }
  const std::string host = text.substr(second + 1, third - second - 1);
  const char* const user = std::getenv("USER");
  const std::string target = server.url().substr(7, server.url().find('/', 7) - 7);
  return fmt::format("ssh -N -L {}:{} {}{}{}", server.port(), target, user != nullptr ? user : "",
                     user != nullptr ? "@" : "", host);
}

void describe(const serve::Server& server, const ServeOptions& options) {
  if (!server.has_page()) {
    say("warning: {}; only the captures are served, below {}api\n",
        options.page.empty() ? std::string("the page is not installed beside this command (--page DIR names it)")
                             : printable(options.page) + ": no index.html there, so no page",
        server.url().substr(0, server.url().find('#')));
  }
  if (server.leaves_captures_out()) {
    say("warning: there are more captures than are served; name fewer\n");
  }
  say("serving {}; Ctrl-C ends it\n", format_plural(server.capture_count(), "capture"));
  if (options.has_metrics) {
    say("for Prometheus: {}\n", metrics_url(server));
  }
  if (!server.is_loopback()) {
    say("other machines can reach it: who has this URL sees the captures, and nothing is encrypted\n");
  }
  if (const std::string line = ssh_line(server); !line.empty()) {
    say("from the machine you came from: {}\nand open there:\n", printable(line));
  }
  fmt::print("{}\n", server.url());
  flush_output();
}

int run(const ServeOptions& options) {
  serve_until_ended(to_server_options(options), [&options](const serve::Server& server) { describe(server, options); });
  return to_int(ExitCode::ok);
}

}  // namespace

void add_serve_command(CLI::App& app, Invocation& invocation) {
  int& exit_code = invocation.exit_code;
  auto options = std::make_shared<ServeOptions>();
  CLI::App* const command = app.add_subcommand("serve", "Shows captures in a browser, live while they grow");
  command
      ->add_option("CAPTURE", options->paths, "Captures, or directories of captures, of which new ones are shown too")
      ->required();
  add_listen_arguments(*command, options->listen, "Where to listen (127.0.0.1:7878); port 0 takes a free one");
  command->add_flag("--metrics", options->has_metrics,
                    "Answer /metrics too, for Prometheus: the latest samples, and frames and sites as summaries");
  command->add_option("--page", options->page, "The folder of the page (the one that is installed with kymo)")
      ->option_text("DIR");
  command->footer(
      "Prints the URL to open. Only this machine can reach it, unless --listen names another address; then the URL holds\n"
      "a token, and who does not have it gets nothing. Captures are only read, and nothing else can be.\n\n"
      "Examples:\n"
      "  kymo serve run.kymo\n"
      "  kymo serve captures/ --listen 127.0.0.1:0 --token\n"
      "  kymo serve --metrics captures/\n"
      "  ssh -t -L 7878:127.0.0.1:7878 robot kymo serve run.kymo");
  command->callback([options, &exit_code] { exit_code = run_checked([&] { return run(*options); }); });
}

}  // namespace kymo::command
