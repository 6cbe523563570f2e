#include "serve/server.hpp"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/api.hpp"
#include "serve/http/client.hpp"
#include "serve/http/http.hpp"
#include "serve/http/request_head.hpp"
#include "serve/http/token.hpp"

namespace kymo::serve {
namespace {

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string();
}

/// The names by which clients may address the server.
HostCheck make_host_check(const Listener& listener, const std::string& asked_host) {
  std::vector<std::string> names{asked_host, listener.numeric_host()};
  if (listener.is_wildcard()) {
    names.push_back(own_host_name());
  }
  return {names, listener.is_wildcard()};
}

std::string make_url(const Listener& listener, const std::string& asked_host, const std::string& token) {
  const std::string host = listener.is_wildcard() ? own_host_name() : asked_host;
  return "http://" + join_host_and_port(host.empty() ? asked_host : host, listener.port()) + "/" +
         (token.empty() ? "" : "#token=" + token);
}

std::string choose_token(const ServerOptions& options, const Listener& listener) {
  const bool is_needed = options.asks_for_token || !options.token.empty() || !listener.is_loopback();
  return is_needed && options.token.empty() ? make_token() : options.token;
}

}  // namespace

class Server::Implementation {
 public:
  explicit Implementation(ServerOptions options)
      : limits_(options.limits),
        catalogue_(options.paths, limits_.captures),
        listener_(options.address),
        token_(choose_token(options, listener_)),
        url_(make_url(listener_, options.address.host, token_)),
        watch_(catalogue_, options.look_period),
        api_(catalogue_, watch_, make_host_check(listener_, options.address.host), token_, read_page(options.page),
             std::move(options.metrics), limits_),
        http_([this](const Request& request) { return api_.answer(request); }, limits_.idle_time) {
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this] { work(); });
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    stop();
    // After stop() no thread adds another.
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    http_.stop();
    watch_.stop();
    listener_.stop();
    for (const int fd : open_) {
      ::shutdown(fd, SHUT_RDWR);
    }
    stopped_.notify_all();
  }

 private:
  friend class Server;

  PageFiles read_page(const std::filesystem::path& folder) {
    PageFiles files = read_page_files(folder);
    has_page_ = !files.empty();
    return files;
  }

  // Each thread takes the next connection when it is done with its last. The only queue is the kernel's.
  void work() {
    for (;;) {
      base::FileDescriptor socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      const bool has_failed = !socket && errno != EINTR;
      if (socket) {
        attend(std::move(socket));
      }
      std::unique_lock lock(mutex_);
      if (has_failed && !stops_) {
        // Descriptors or memory are exhausted, or the network has a problem: retry.
        stopped_.wait_for(lock, std::chrono::milliseconds(50), [this] { return stops_; });
      }
      if (stops_) {
        return;
      }
    }
  }

  void attend(base::FileDescriptor socket) {
    const int fd = socket.get();
    Client client(std::move(socket), limits_, [this] { return others_wait(); });
    {
      const std::lock_guard lock(mutex_);
      if (stops_) {
        return;
      }
      open_.insert(fd);
      if (open_.size() == threads_.size() && threads_.size() < limits_.connections) {
        add_thread();
      }
    }
    try {
      converse(client);
    } catch (const std::exception&) {
      // Out of memory while composing an answer: only this client is lost.
    }
    const std::lock_guard lock(mutex_);
    open_.erase(fd);
  }

  // For the next client, so that a thread waits for it.
  void add_thread() {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      // Out of memory or of threads: clients share those there are.
    }
  }

  bool others_wait() {
    pollfd waiting{listener_.fd(), POLLIN, 0};
    const std::lock_guard lock(mutex_);
    return open_.size() >= threads_.size() && ::poll(&waiting, 1, 0) > 0;
  }

  void converse(Client& client) {
    std::string_view head;
    for (;;) {
      const Client::Reading reading = client.read_head(head);
      if (reading == Client::Reading::gone) {
        return;
      }
      const int status = reading == Client::Reading::too_large   ? 431
                         : reading == Client::Reading::malformed ? 400
                                                                 : check_request_head(head);
      if (status != 0) {
        write_refusal(client, status);
        return;
      }
      if (!http_.exchange(client, head)) {
        return;
      }
    }
  }

  Limits limits_;
  Catalogue catalogue_;
  Listener listener_;
  std::string token_;
  std::string url_;
  bool has_page_ = false;

  std::mutex mutex_;  // protects what follows
  std::condition_variable stopped_;
  bool stops_ = false;
  std::set<int> open_;  // sockets of clients, each with a thread
  std::vector<std::thread> threads_;

  GrowthWatch watch_;
  Api api_;
  Http http_;
};

Server::Server(ServerOptions options) : implementation_(std::make_unique<Implementation>(std::move(options))) {}

Server::~Server() = default;

void Server::stop() {
  implementation_->stop();
}

std::uint16_t Server::port() const {
  return implementation_->listener_.port();
}

bool Server::is_loopback() const {
  return implementation_->listener_.is_loopback();
}

const std::string& Server::url() const {
  return implementation_->url_;
}

const std::string& Server::token() const {
  return implementation_->token_;
}

std::size_t Server::capture_count() const {
  return implementation_->catalogue_.captures().size();
}

bool Server::leaves_captures_out() const {
  return implementation_->catalogue_.is_full();
}

bool Server::has_page() const {
  return implementation_->has_page_;
}

}  // namespace kymo::serve
