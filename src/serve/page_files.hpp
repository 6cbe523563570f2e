// The web page: the files of one folder, read once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace kymo::serve {

struct PageFile {
  std::string content_type;
  std::string bytes;
  std::string gzip;  ///< the same compressed; empty if that is not smaller
  std::string tag;   ///< an entity tag (RFC 9110, section 8.8.3): a hash of the bytes
};

/// The page's files by request path: "/" for index.html, "/page.js", ... Nothing else can be requested, whatever
/// happens to the folder later.
using PageFiles = std::map<std::string, PageFile, std::less<>>;

/// Reads the folder: files of the kinds that a page consists of (at most 64, 64 MiB together), no subfolders, no hidden
/// files. Compresses them, which takes about 0.1 s per megabyte. Empty if there is no folder or no index.html in it.
[[nodiscard]] PageFiles read_page_files(const std::filesystem::path& folder);

/// The page's folder for a command at this path: ../share/kymo/web if installed, ../../web in a build tree. Empty if
/// neither has an index.html.
[[nodiscard]] std::filesystem::path find_page_folder(const std::filesystem::path& executable);

}  // namespace kymo::serve
