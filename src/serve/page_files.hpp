// The page that the browser shows: the files of one folder, read once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

namespace kymo::serve {

struct PageFile {
  std::string content_type;
  std::string bytes;
};

/// The page's files by the paths they are asked for by: "/" for index.html, "/page.js", ... Nothing else can be asked
/// for, whatever happens to the folder afterwards.
using PageFiles = std::map<std::string, PageFile, std::less<>>;

/// Reads the folder: its files of kinds that a page is made of (at most 64, 64 MiB together), none of its folders, no
/// hidden ones. Empty where there is no folder or no index.html in it.
[[nodiscard]] PageFiles read_page_files(const std::filesystem::path& folder);

/// Where the page lies for a command at this path: ../share/kymo/web where it is installed, ../../web in a build tree.
/// Empty where neither has an index.html.
[[nodiscard]] std::filesystem::path find_page_folder(const std::filesystem::path& executable);

}  // namespace kymo::serve
