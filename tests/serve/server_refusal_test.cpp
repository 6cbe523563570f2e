// Who is refused, and clients that are slow, silent or too many.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "serve/server_fixture.hpp"

namespace kymo::serve {
namespace {

using test::HttpClient;
using test::HttpReply;

TEST_F(ServerTest, RequestsByAnotherNameOrFromAnotherSiteAreRefused) {
  make_page();
  start();
  for (const char* const path : {"/", "/api/captures", "/api/events", "/nowhere"}) {
    const std::string start_line = std::string("GET ") + path + " HTTP/1.1\r\n";
    EXPECT_EQ(say(start_line + "Host: evil.example:7878\r\n\r\n").status, 403) << path;
    EXPECT_EQ(say(start_line + "\r\n").status, 403) << path;
    EXPECT_EQ(say(start_line + "Host: localhost\r\nHost: localhost\r\n\r\n").status, 403) << path;
  }
  EXPECT_EQ(say("GET / HTTP/1.0\r\nHost: localhost:9000\r\n\r\n").status, 200) << "ssh -L 9000:...";
  EXPECT_EQ(get("/api/captures", "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(get("/api/captures", "Sec-Fetch-Site: same-origin\r\n").status, 200);
  EXPECT_EQ(get("/", "Sec-Fetch-Site: cross-site\r\n").status, 200) << "a link to it";
}

TEST_F(ServerTest, AForeignOriginIsRefusedWithAndWithoutSecFetchSite) {
  make_page();
  start();
  const auto status_of = [this](const std::string& path, const std::string& headers) {
    HttpClient client = connect();
    client.request(path, headers);
    return client.read_reply_head().status;
  };
  for (const char* const path : {"/", "/api/captures", "/api/events"}) {
    for (const std::string fetch_site : {"", "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n"}) {
      for (const char* const origin :
           {"http://evil.example", "null", "http://localhost:3000", "http://localhost.evil.example", "ftp://localhost",
            "localhost", "http://localhost\r\nOrigin: http://localhost"}) {
        EXPECT_EQ(status_of(path, fetch_site + "Origin: " + origin + "\r\n"), 403) << path << ' ' << origin;
      }
    }
  }
  EXPECT_EQ(status_of("/api/captures", "Origin: http://localhost\r\n"), 200);
  EXPECT_EQ(status_of("/api/captures", "Origin: https://localhost\r\n"), 200) << "a proxy that speaks TLS";
}

TEST_F(ServerTest, OnlyReadingIsAllowed) {
  start();
  for (const char* const method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"}) {
    const HttpReply reply = say(std::string(method) + " /api/captures/0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.headers.at("allow"), "GET, HEAD");
  }
  EXPECT_EQ(get("/api/captures", "Content-Length: 3\r\n").status, 400);
  EXPECT_EQ(say("GET /api/captures\r\n\r\n").status, 400);
  EXPECT_EQ(say("GET /api/captures HTTP/3.0\r\nHost: localhost\r\n\r\n").status, 400);
}

TEST_F(ServerTest, TheTokenIsAskedForOnceThereIsOne) {
  make_page();
  options_.asks_for_token = true;
  start();
  const std::string token = server_->token();
  EXPECT_EQ(server_->url(), "http://127.0.0.1:" + std::to_string(server_->port()) + "/#token=" + token);
  EXPECT_EQ(get("/").status, 200) << "the page is no secret; a fragment is not sent";
  for (const char* const path :
       {"/api/captures", "/api/captures/0", "/api/captures/0/outline", "/api/events", "/api/x"}) {
    EXPECT_EQ(get(path).status, 401) << path;
    EXPECT_EQ(get(path, "Authorization: Bearer " + std::string(token.size(), 'a') + "\r\n").status, 401) << path;
    EXPECT_EQ(get(path + ("?token=" + token)).status, 401) << path;
  }
  EXPECT_EQ(get("/api/captures", "Authorization: Bearer " + token + "\r\n").status, 200);
  const std::string twice = "Authorization: Bearer " + token + "\r\n";
  EXPECT_EQ(get("/api/captures", twice + twice).status, 401);
}

TEST_F(ServerTest, AnyAddressButLoopbackNeedsAToken) {
  start();
  EXPECT_TRUE(server_->is_loopback());
  EXPECT_TRUE(server_->token().empty());
  options_.address.host = "0.0.0.0";
  start();
  EXPECT_FALSE(server_->is_loopback());
  EXPECT_EQ(server_->token().size(), 32U);
  EXPECT_EQ(get("/api/captures").status, 401);
  options_.token = "a-token-of-my-own";
  start();
  EXPECT_EQ(server_->token(), options_.token);
}

TEST_F(ServerTest, RequestsThatAreTooLongAreRefused) {
  start();
  EXPECT_EQ(get("/" + std::string(9000, 'a')).status, 414);
  EXPECT_EQ(get("/", "Cookie: " + std::string(9000, 'a') + "\r\n").status, 431);
  const std::string without_end = "GET / HTTP/1.1\r\nHost: localhost\r\n" + std::string(40'000, 'a');
  EXPECT_EQ(say(without_end).status, 431);
}

TEST_F(ServerTest, WhoDoesNotSayWhatItWantsIsLeftAfterAWhile) {
  options_.limits.connections = 2;
  options_.limits.head_time = std::chrono::milliseconds(50);
  options_.limits.idle_time = std::chrono::milliseconds(50);
  start();
  HttpClient silent = connect();
  HttpClient slow = connect();
  slow.send("GET / HT");
  EXPECT_TRUE(silent.reads_end());
  EXPECT_TRUE(slow.reads_end());
  HttpClient idle = connect();
  idle.request("/api/captures");
  EXPECT_EQ(idle.read_reply().status, 200);
  EXPECT_TRUE(idle.reads_end());
}

TEST_F(ServerTest, AConnectionThatDoesNothingGivesWayToOneThatWaits) {
  options_.limits.connections = 1;
  options_.limits.idle_time = options_.limits.head_time = std::chrono::hours(1);
  options_.limits.silence = std::chrono::milliseconds(1);
  start();
  const HttpClient silent = connect();
  HttpClient idle = connect();
  idle.request("/api/captures");
  EXPECT_EQ(idle.read_reply().status, 200);
  EXPECT_EQ(get("/api/captures").status, 200);
}

std::size_t count_threads() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

TEST_F(ServerTest, TwoHundredClientsAtOnceAreServedByAFewThreads) {
  start();
  const std::size_t others = count_threads() - 1;
  const std::string file = text_of_file(options_.paths[0]);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(connect());
    clients.back().request("/api/captures/0", "Connection: close\r\n");
  }
  for (HttpClient& client : clients) {
    const HttpReply reply = client.read_reply();
    ASSERT_EQ(reply.status, 200);
    ASSERT_EQ(reply.body, file);
  }
  EXPECT_LE(count_threads(), others + options_.limits.connections);
}

TEST_F(ServerTest, TwoHundredSlowClientsHoldNobodyUp) {
  options_.limits.connections = Limits().connections;
  options_.limits.head_time = options_.limits.write_time = std::chrono::hours(1);
  test::write_file(options_.paths[0], large_capture());
  start();
  std::vector<HttpClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(server_->port(), 4096);
    if (i % 2 == 0) {
      slow.back().send("GET /api/captures HTTP/1.1\r\nHost: local");
    } else {
      slow.back().request("/api/captures/0");
    }
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(get("/api/captures", "Connection: close\r\n").status, 200);
  }
  for (HttpClient& client : slow) {
    client.send("host\r\n\r\n");
  }
  HttpClient& first = slow.front();
  EXPECT_EQ(first.read_reply().status, 200) << "nobody had to give way";
}

TEST_F(ServerTest, SlowClientsGiveWayWhereThereAreMoreThanConnections) {
  options_.limits.connections = 2;
  options_.limits.head_time = options_.limits.idle_time = options_.limits.write_time = std::chrono::hours(1);
  options_.limits.silence = std::chrono::milliseconds(1);
  test::write_file(options_.paths[0], large_capture());
  start();
  HttpClient dribbles = connect();
  dribbles.send("GET /api/captures HTTP/1.1\r\nHost: local");
  HttpClient does_not_read(server_->port(), 4096);
  does_not_read.request("/api/captures/0");
  EXPECT_EQ(does_not_read.read_reply_head().status, 200);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get("/api/captures", "Connection: close\r\n").status, 200);
  }
}

TEST_F(ServerTest, ASlowReaderHoldsNobodyUp) {
  options_.limits.connections = 2;
  options_.limits.write_time = std::chrono::hours(1);
  test::write_file(options_.paths[0], large_capture());
  start();
  HttpClient slow(server_->port(), 4096);
  slow.request("/api/captures/0");
  EXPECT_EQ(slow.read_reply_head().status, 200);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(get("/api/captures", "Connection: close\r\n").status, 200);
  }
  server_.reset();
  EXPECT_TRUE(slow.reads_end()) << "nor does it hold up the server's end";
}

TEST_F(ServerTest, ASlowReaderIsDroppedAfterAWhile) {
  options_.limits.connections = 1;
  options_.limits.write_time = std::chrono::milliseconds(20);
  test::write_file(options_.paths[0], large_capture());
  start();
  HttpClient slow(server_->port(), 4096);
  slow.request("/api/captures/0");
  // The one thread there is comes to the next client when it is done with the slow one, which has read nothing by then.
  EXPECT_EQ(get("/api/captures").status, 200);
  const HttpReply reply = slow.read_reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.is_whole);
}

}  // namespace
}  // namespace kymo::serve
