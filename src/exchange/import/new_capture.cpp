#include "exchange/import/new_capture.hpp"

#include <memory>
#include <utility>

#include <unistd.h>

#include "capture/merge/merge.hpp"

namespace kymo::exchange {
namespace {

/// Runs an action that writes. Drops what a WriteError says about the valid part of the file, because the file is
/// deleted.
template <typename Action>
void write_or_tell(const Action& action) {
  try {
    action();
  } catch (const capture::WriteError& error) {
    const std::string what = error.what();
    throw capture::WriteError(what.substr(0, what.rfind("; the first ")) + "; what was written of it is taken away");
  }
}

}  // namespace

NewCapture::NewCapture(const std::string& path, Declarations declarations) {
  capture::CaptureWriterOptions options = capture::make_repack_options();
  options.header.recorder = "kymo import";
  options.declarations = std::move(declarations);
  auto file = std::make_unique<capture::FileDestination>(path);
  path_ = file->name();
  try {
    write_or_tell([&] { writer_.emplace(std::move(file), std::move(options)); });
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

void NewCapture::write(const EventBatch& batch) {
  write_or_tell([&] { writer_->write(batch); });
}

void NewCapture::finish() {
  write_or_tell([&] { writer_->finish(); });
  is_whole_ = true;
}

}  // namespace kymo::exchange
