#include "exchange/import/input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef KYMO_HAS_ZLIB
#include <zlib.h>
#endif

#include <kymo/import.hpp>

namespace kymo::exchange {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16U;
constexpr std::size_t most_ahead = 64;
constexpr std::string_view gzip_mark = "\x1F\x8B";
// Traces shrink to about a twentieth. Data that shrinks to less than a 300th was made to fill a disk.
constexpr std::uint64_t most_growth = 300;
constexpr std::uint64_t always_unpacked = std::uint64_t{16} << 20U;

}  // namespace

#ifdef KYMO_HAS_ZLIB

/// One or more gzip members in a row.
class GzipStream {
 public:
  enum class State : std::uint8_t { running, member_ended, broken };

  // Adding 16 to the window's size makes zlib read gzip only.
  GzipStream() : is_ready_(::inflateInit2(&stream_, MAX_WBITS + 16) == Z_OK) {}
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() { ::inflateEnd(&stream_); }

  /// Unpacks as much as fits. Advances both views by what was taken and written.
  State unpack(std::string_view& packed, char*& out, std::size_t& room) {
    if (!is_ready_) {
      return State::broken;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    packed.remove_prefix(packed.size() - stream_.avail_in);
    out += room - stream_.avail_out;
    room = stream_.avail_out;
    if (result == Z_STREAM_END) {
      return State::member_ended;
    }
    return result == Z_OK || result == Z_BUF_ERROR ? State::running : State::broken;
  }
  void begin_member() { is_ready_ = ::inflateReset(&stream_) == Z_OK; }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
};

#else

class GzipStream {
 public:
  enum class State : std::uint8_t { running, member_ended, broken };
  State unpack(std::string_view& /*packed*/, char*& /*out*/, std::size_t& /*room*/) { return State::broken; }
  void begin_member() {}
};

#endif

ImportInput::ImportInput(const std::string& path, std::string name, std::function<void(double)> on_progress)
    : name_(std::move(name)),
      on_progress_(std::move(on_progress)),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
      buffer_(buffer_size) {
  if (!file_) {
    throw ImportError(base::describe_errno("cannot open", name_, errno));
  }
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    file_size_ = static_cast<std::uint64_t>(status.st_size);
  }
  // A pipe may give its first bytes one by one.
  while (size_ < gzip_mark.size()) {
    const std::size_t count = read_file(buffer_.data() + size_, buffer_.size() - size_);
    if (count == 0) {
      break;
    }
    size_ += count;
  }
  if (std::string_view(buffer_.data(), size_).substr(0, gzip_mark.size()) == gzip_mark) {
#ifndef KYMO_HAS_ZLIB
    throw ImportError(name_ + ": compressed with gzip, and kymo was built without zlib: unpack it first (gunzip)");
#endif
    gzip_ = std::make_unique<GzipStream>();
  }
}

ImportInput::~ImportInput() = default;

std::size_t ImportInput::read_file(char* bytes, std::size_t size) {
  ssize_t count = 0;
  do {
    count = ::read(file_.get(), bytes, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    throw ImportError(base::describe_errno("cannot read", name_, errno));
  }
  bytes_read_ += static_cast<std::uint64_t>(count);
  if (on_progress_ && file_size_ != 0) {
    on_progress_(std::min(1.0, static_cast<double>(bytes_read_) / static_cast<double>(file_size_)));
  }
  return static_cast<std::size_t>(count);
}

bool ImportInput::refill() {
  if (at_ == size_) {
    at_ = 0;
    size_ = read_file(buffer_.data(), buffer_.size());
  }
  return size_ != 0;
}

void ImportInput::stop(const std::string& why) {
  stopped_ = "byte " + std::to_string(bytes_read_ - (size_ - at_)) + " of the compressed file: " + why;
}

std::size_t ImportInput::unpack(char* bytes, std::size_t size) {
  char* out = bytes;
  std::size_t room = size;
  while (room == size && stopped_.empty()) {
    if (!refill()) {
      stop("the compressed data ends too early");
      break;
    }
    std::string_view packed(buffer_.data() + at_, size_ - at_);
    const GzipStream::State state = gzip_->unpack(packed, out, room);
    at_ = size_ - packed.size();
    bytes_unpacked_ += size - room;
    if (state == GzipStream::State::broken) {
      stop("the compressed data is damaged");
    } else if (bytes_unpacked_ > always_unpacked && bytes_unpacked_ / most_growth > bytes_read_) {
      stop("the data grows to more than " + std::to_string(most_growth) + " times its size, as no recording does");
    } else if (state == GzipStream::State::member_ended) {
      if (!refill()) {
        gzip_.reset();  // whole
        break;
      }
      gzip_->begin_member();
    }
  }
  return size - room;
}

std::size_t ImportInput::read(char* bytes, std::size_t size) {
  if (ahead_at_ < ahead_.size()) {
    const std::size_t count = std::min(size, ahead_.size() - ahead_at_);
    std::memcpy(bytes, ahead_.data() + ahead_at_, count);
    ahead_at_ += count;
    return count;
  }
  if (!stopped_.empty() || size == 0) {
    return 0;
  }
  if (gzip_ != nullptr) {
    return unpack(bytes, size);
  }
  if (!refill()) {
    return 0;
  }
  const std::size_t count = std::min(size, size_ - at_);
  std::memcpy(bytes, buffer_.data() + at_, count);
  at_ += count;
  return count;
}

std::size_t ImportInput::read_fully(char* bytes, std::size_t size) {
  std::size_t count = 0;
  while (count < size) {
    const std::size_t more = read(bytes + count, size - count);
    if (more == 0) {
      break;
    }
    count += more;
  }
  return count;
}

std::string_view ImportInput::look_ahead() {
  if (ahead_.empty()) {
    std::string first(most_ahead, '\0');
    first.resize(read_fully(first.data(), first.size()));
    ahead_ = std::move(first);
  }
  return ahead_;
}

}  // namespace kymo::exchange
