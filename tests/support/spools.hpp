// Spools in shared memory and whose they are. Process numbers are used again: a number alone names nobody.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

#include "record/pool/spool_layout.hpp"

namespace kymo::test {

/// The capture that a spool belongs to; empty before it has one.
inline std::string capture_of_spool(const std::string& spool) {
  char path[sizeof record::SpoolHeader::capture_path] = {};
  std::ifstream file(spool, std::ios::binary);
  file.seekg(offsetof(record::SpoolHeader, capture_path));
  file.read(path, sizeof path - 1);
  return path;
}

/// Removes what a killed process left of a capture in shared memory.
inline void remove_spool_of(const std::string& capture) {
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().extension() == ".spool" && capture_of_spool(entry.path().string()) == capture) {
      std::filesystem::remove(entry.path());
    }
  }
}

}  // namespace kymo::test
