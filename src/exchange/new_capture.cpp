#include "exchange/new_capture.hpp"

#include <memory>
#include <utility>

#include <unistd.h>

namespace kymo::exchange {

NewCapture::NewCapture(const std::string& path, capture::CaptureWriterOptions options) {
  auto file = std::make_unique<capture::FileDestination>(path, capture::Unfinished::goes);
  path_ = file->name();
  try {
    writer_.emplace(std::move(file), std::move(options));
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

NewCapture::~NewCapture() {
  if (!is_whole_) {
    ::unlink(path_.c_str());
  }
}

void NewCapture::finish() {
  writer_->finish();
  is_whole_ = true;
}

}  // namespace kymo::exchange
