// A server with one capture, asked over real sockets by a client of the tests' own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "capture/capture_fixture.hpp"
#include "serve/growing_capture.hpp"
#include "serve/http_client.hpp"
#include "serve/server.hpp"

namespace kymo::serve {

inline std::string text_of_file(const std::string& path) {
  const test::Bytes bytes = test::read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// A capture that is more than the buffers of a connection hold: behind its first block stand bytes that are no blocks.
inline test::Bytes large_capture() {
  test::Bytes large = test::small_capture();
  large.resize(std::size_t{8} << 20U);
  return large;
}
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    test::write_file(directory_ / "run.kymo", test::small_capture());
    options_.paths = {directory_ / "run.kymo"};
    options_.address.port = 0;
    options_.limits.connections = 8;
    options_.look_period = std::chrono::milliseconds(1);
  }

  void start() { server_ = std::make_unique<Server>(options_); }

  void make_page() {
    std::filesystem::create_directories(directory_ / "web/hidden");
    std::ofstream(directory_ / "web/index.html") << "<!doctype html>";
    std::ofstream(directory_ / "web/page.js") << "start();";
    std::ofstream(directory_ / "web/kymo_web.wasm") << "wasm";
    std::ofstream(directory_ / "web/.secret.js") << "no";
    std::ofstream(directory_ / "web/notes.md") << "no";
    std::ofstream(directory_ / "web/hidden/page.js") << "no";
    options_.page = directory_ / "web";
  }

  [[nodiscard]] test::HttpClient connect() const { return test::HttpClient(server_->port()); }

  [[nodiscard]] test::HttpReply get(const std::string& path, const std::string& headers = {}) const {
    test::HttpClient client = connect();
    client.request(path, headers);
    return client.read_reply();
  }

  [[nodiscard]] test::HttpReply say(const std::string& text) const {
    test::HttpClient client = connect();
    client.send(text);
    return client.read_reply();
  }

  test::TemporaryDirectory directory_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

}  // namespace kymo::serve
