#include "generated_capture.hpp"

#include <filesystem>

#include "capture/write/capture_writer.hpp"
#include "generator.hpp"

namespace kymo::benchmarks {

namespace {

constexpr std::uint64_t seed = 1;

}  // namespace

GeneratedCapture::GeneratedCapture(std::uint64_t scopes) : path_(folder_.file("generated.kymo")) {
  capture::CaptureWriter writer(path_, {});
  ScopeGenerator generator(seed);
  EventBatch batch;
  while (generator.scopes() < scopes) {
    generator.next(batch);
    measure(writing_, 0, [&](std::size_t) { writer.write(batch); });
  }
  writer.finish();
  writing_.count = generator.scopes();
}

double GeneratedCapture::bytes_per_scope(const std::string& path) const {
  return static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(scopes());
}

}  // namespace kymo::benchmarks
