// kymo serve as users start and end it; what it serves is tested in tests/serve.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "command_fixture.hpp"
#include "serve/http_client.hpp"

namespace kymo::test {
namespace {

/// The port in "http://127.0.0.1:PORT/...".
std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::stoul(url.substr(url.rfind(':') + 1)));
}

TEST_F(CommandTest, ServeServesUntilItIsInterrupted) {
  make_capture("run.kymo");
  set_environment({});
  ChildProcess process(
      shell(kymo_words({"serve", "run.kymo", "--listen", "127.0.0.1:0", "--token", "--page", "nowhere"})));
  const std::string url = wait_for("out");
  const std::size_t token = url.find("/#token=");
  ASSERT_NE(token, std::string::npos) << url;
  HttpClient client(port_of(url.substr(0, token)));
  client.request("/api/captures", "Authorization: Bearer " + url.substr(token + 8, 32) + "\r\n");
  EXPECT_NE(client.read_reply().body.find(R"("name":"run.kymo")"), std::string::npos);
  HttpClient stranger(port_of(url.substr(0, token)));
  stranger.request("/api/captures");
  EXPECT_EQ(stranger.read_reply().status, 401);
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(read_text(file_named("out")), url) << "the URL alone";
  EXPECT_NE(read_text(file_named("err")).find("nowhere: no index.html there"), std::string::npos);
}

TEST_F(CommandTest, ServeRefusesWhatItCannotServe) {
  make_capture("run.kymo");
  std::ofstream(file_named("notes.txt")) << "no capture";
  const CommandResult no_capture = kymo({"serve", "notes.txt"});
  EXPECT_NE(no_capture.status, 0);
  EXPECT_NE(no_capture.err.find("notes.txt"), std::string::npos);
  EXPECT_EQ(kymo({"serve", "run.kymo", "--listen", "127.0.0.1:99999"}).status, 2);
  const CommandResult short_token = kymo({"serve", "run.kymo", "--token=secret"});
  EXPECT_EQ(short_token.status, 2);
  EXPECT_EQ(short_token.err.find("secret"), std::string::npos) << "nobody needs to see it again";
}

}  // namespace
}  // namespace kymo::test
