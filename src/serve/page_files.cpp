#include "serve/page_files.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#ifdef KYMO_HAS_ZLIB
#include <zlib.h>
#endif

namespace kymo::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_page_files = 64;
constexpr std::uintmax_t most_page_bytes = std::uintmax_t{64} << 20U;

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> content_types{{
    {".css", "text/css; charset=utf-8"},
    {".html", "text/html; charset=utf-8"},
    {".ico", "image/x-icon"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".png", "image/png"},
    {".svg", "image/svg+xml"},
    {".txt", "text/plain; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".woff2", "font/woff2"},
}};

std::string_view content_type_of(const fs::path& file) {
  for (const auto& [extension, type] : content_types) {
    if (file.extension() == extension) {
      return type;
    }
  }
  return {};
}

/// A hash (FNV-1a, 64 bits) in quotes. Browsers compare it with that of the file that they kept.
std::string make_tag(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  }
  std::array<char, 16> digits{};
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return '"' + std::string(digits.data(), static_cast<std::size_t>(end - digits.data())) + '"';
}

/// Compressed with gzip (RFC 1952); empty if that is not smaller, or if this build has no zlib.
std::string compress([[maybe_unused]] const std::string& bytes) {
  std::string packed;
#ifdef KYMO_HAS_ZLIB
  z_stream stream{};
  constexpr int gzip_window_bits = 15 + 16;  // adding 16 makes zlib write gzip
  constexpr int memory_level = 8;
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window_bits, memory_level, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return packed;
  }
  packed.resize(bytes.size());
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_smaller = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(is_smaller ? stream.total_out : 0);
  ::deflateEnd(&stream);
#endif
  return packed;
}

bool has_index(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "index.html", error);
}

}  // namespace

PageFiles read_page_files(const fs::path& folder) {
  PageFiles files;
  if (!has_index(folder)) {
    return files;
  }
  std::error_code error;
  std::uintmax_t total = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::string name = entry->path().filename().string();
    const std::string_view type = content_type_of(entry->path());
    if (type.empty() || name.front() == '.' || !entry->is_regular_file(ignored)) {
      continue;
    }
    const std::uintmax_t size = entry->file_size(ignored);
    if (ignored || files.size() >= most_page_files || size > most_page_bytes - total) {
      continue;
    }
    std::ifstream stream(entry->path(), std::ios::binary);
    PageFile file{
        std::string(type), {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()}, {}, {}};
    file.gzip = compress(file.bytes);
    file.tag = make_tag(file.bytes);
    total += size;
    if (name == "index.html") {
      files.emplace("/", file);
    }
    files.emplace("/" + name, std::move(file));
  }
  return files;
}

fs::path find_page_folder(const fs::path& executable) {
  const fs::path folder = executable.parent_path();
  for (const char* const relative : {"../share/kymo/web", "../../web"}) {
    fs::path candidate = (folder / relative).lexically_normal();
    if (has_index(candidate)) {
      return candidate;
    }
  }
  return {};
}

}  // namespace kymo::serve
