#include "exchange/vor/flame.hpp"

#include <algorithm>
#include <cstring>

#include "exchange/vor/format.hpp"

namespace kymo::exchange {

using capture::ByteCursor;
using capture::DecodeError;

namespace {

constexpr std::string_view flame_magic = "PFD4";
constexpr std::uint8_t lz4_kind = 1;
constexpr std::uint8_t uncompressed_kind = 0;
constexpr char open_mark = '(';
constexpr char close_mark = ')';

// bincode's integers: one byte for values below 251; else a byte with the width, then 2, 4 or 8 bytes.
constexpr std::uint8_t wide_2 = 251;
constexpr std::uint8_t wide_4 = 252;
constexpr std::uint8_t wide_8 = 253;

void append_unsigned(std::string& out, std::uint64_t value) {
  if (value < wide_2) {
    append_vor_number(out, static_cast<std::uint8_t>(value));
  } else if (value <= std::numeric_limits<std::uint16_t>::max()) {
    append_vor_number(out, wide_2);
    append_vor_number(out, static_cast<std::uint16_t>(value));
  } else if (value <= std::numeric_limits<std::uint32_t>::max()) {
    append_vor_number(out, wide_4);
    append_vor_number(out, static_cast<std::uint32_t>(value));
  } else {
    append_vor_number(out, wide_8);
    append_vor_number(out, value);
  }
}

void append_signed(std::string& out, std::int64_t value) {
  append_unsigned(out, capture::zigzag(static_cast<std::uint64_t>(value)));
}

void append_flame_text(std::string& out, std::string_view text) {
  append_unsigned(out, text.size());
  out += text;
}

std::uint64_t take_unsigned(ByteCursor& cursor) {
  const std::uint8_t first = cursor.u8();
  switch (first) {
    case wide_2:
      return take_vor_number<std::uint16_t>(cursor);
    case wide_4:
      return take_vor_number<std::uint32_t>(cursor);
    case wide_8:
      return take_vor_number<std::uint64_t>(cursor);
    default:
      if (first > wide_8) {
        throw DecodeError("an integer is wider than 64 bits");
      }
      return first;
  }
}

std::int64_t take_signed(ByteCursor& cursor) {
  return static_cast<std::int64_t>(capture::unzigzag(take_unsigned(cursor)));
}

std::string_view take_text(ByteCursor& cursor) {
  return cursor.text(take_unsigned(cursor));
}

bool take_option(ByteCursor& cursor) {
  const std::uint8_t tag = cursor.u8();
  if (tag > 1) {
    throw DecodeError("neither something nor nothing");
  }
  return tag == 1;
}

void take_meta(ByteCursor& cursor, FlameMeta& meta) {
  if (cursor.text(flame_magic.size()) != flame_magic) {
    throw DecodeError("not a flame part of a version that is known");
  }
  ByteCursor facts(cursor.take(take_vor_number<std::uint32_t>(cursor)));
  meta.number = take_unsigned(facts);
  meta.start_ns = take_signed(facts);
  meta.end_ns = take_signed(facts);
}

}  // namespace

void FlameWriter::begin() {
  threads_.clear();
  sites_.clear();
  thread_count_ = 0;
  site_count_ = 0;
  stream_bytes_ = 0;
  scope_count_ = 0;
  start_ns_ = std::numeric_limits<std::int64_t>::max();
  end_ns_ = std::numeric_limits<std::int64_t>::min();
}

void FlameWriter::add_thread(std::int64_t first_ns, std::string_view name, std::span<const FlameScope> scopes,
                             std::string_view texts) {
  stream_.clear();
  std::uint32_t deepest = 0;
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  const auto close_to = [&](std::size_t depth) {
    for (; open_sizes_.size() > depth; open_sizes_.pop_back(), open_ends_.pop_back()) {
      const std::size_t place = open_sizes_.back();
      const std::uint64_t inside = stream_.size() - place - sizeof inside;
      std::memcpy(stream_.data() + place, &inside, sizeof inside);
      stream_ += close_mark;
      append_vor_number(stream_, open_ends_.back());
    }
  };
  for (const FlameScope& scope : scopes) {
    close_to(scope.depth);
    stream_ += open_mark;
    append_vor_number(stream_, scope.site);
    append_vor_number(stream_, scope.start_ns);
    append_vor_number(stream_, static_cast<std::uint8_t>(scope.text_size));
    stream_ += texts.substr(scope.text_begin, scope.text_size);
    open_sizes_.push_back(stream_.size());
    open_ends_.push_back(scope.end_ns);
    append_vor_number(stream_, std::uint64_t{0});
    deepest = std::max(deepest, scope.depth + 1);
    end_ns = std::max(end_ns, scope.end_ns);
  }
  close_to(0);

  threads_ += '\1';
  append_signed(threads_, first_ns);
  append_flame_text(threads_, name);
  append_flame_text(threads_, stream_);
  append_unsigned(threads_, scopes.size());
  append_unsigned(threads_, deepest);
  append_signed(threads_, scopes.front().start_ns);
  append_signed(threads_, end_ns);
  ++thread_count_;
  stream_bytes_ += stream_.size();
  scope_count_ += scopes.size();
  start_ns_ = std::min(start_ns_, scopes.front().start_ns);
  end_ns_ = std::max(end_ns_, end_ns);
}

void FlameWriter::add_site(const FlameSite& site) {
  sites_ += '\1';
  append_unsigned(sites_, site.id);
  if (site.is_function) {
    sites_ += '\0';
  } else {
    sites_ += '\1';
    append_flame_text(sites_, site.name);
  }
  append_flame_text(sites_, site.function);
  append_flame_text(sites_, site.file);
  append_unsigned(sites_, site.line);
  ++site_count_;
}

std::string_view FlameWriter::finish(FlameMeta meta) {
  std::string& facts = stream_;
  facts.clear();
  append_unsigned(facts, meta.number);
  append_signed(facts, std::min(meta.start_ns, start_ns_));
  append_signed(facts, std::max(meta.end_ns, end_ns_));
  append_unsigned(facts, stream_bytes_);
  append_unsigned(facts, scope_count_);
  out_ = flame_magic;
  append_vor_number(out_, static_cast<std::uint32_t>(facts.size()));
  out_ += facts;

  std::string counted;
  append_unsigned(counted, thread_count_);
  counted += threads_;
  const std::size_t place = out_.size();
  append_vor_number(out_, std::uint32_t{0});
  append_vor_number(out_, lz4_kind);
  append_vor_lz4(out_, counted);
  const auto size = static_cast<std::uint32_t>(out_.size() - place - sizeof(std::uint32_t) - sizeof lz4_kind);
  std::memcpy(out_.data() + place, &size, sizeof size);

  counted.clear();
  append_unsigned(counted, site_count_);
  append_vor_number(out_, static_cast<std::uint32_t>(counted.size() + sites_.size()));
  out_ += counted;
  out_ += sites_;
  return out_;
}

FlameMeta FlameReader::read_meta(std::span<const std::byte> part) {
  FlameMeta meta;
  ByteCursor cursor(part);
  take_meta(cursor, meta);
  return meta;
}

void FlameReader::open(std::span<const std::byte> part) {
  ByteCursor cursor(part);
  take_meta(cursor, meta_);
  const auto size = take_vor_number<std::uint32_t>(cursor);
  const std::uint8_t kind = cursor.u8();
  auto threads = cursor.take(size);
  if (kind == lz4_kind) {
    threads = unpack_vor_lz4(threads, raw_);
  } else if (kind != uncompressed_kind) {
    throw DecodeError("compressed in a way that is not known");
  }
  threads_ = ByteCursor(threads);
  threads_left_ = take_unsigned(threads_);
  sites_ = ByteCursor(cursor.take(take_vor_number<std::uint32_t>(cursor)));
  sites_left_ = take_unsigned(sites_);
}

bool FlameReader::next_site(FlameSite& site) {
  if (sites_left_ == 0) {
    return false;
  }
  --sites_left_;
  site.id = take_option(sites_) ? capture::narrow<std::uint32_t>(take_unsigned(sites_)) : 0;
  site.is_function = !take_option(sites_);
  site.name = site.is_function ? std::string_view() : take_text(sites_);
  site.function = take_text(sites_);
  site.file = take_text(sites_);
  site.line = capture::narrow<std::uint32_t>(take_unsigned(sites_));
  return true;
}

bool FlameReader::next_thread(FlameThread& thread) {
  if (threads_left_ == 0) {
    return false;
  }
  --threads_left_;
  thread.start_ns.reset();
  if (take_option(threads_)) {
    thread.start_ns = take_signed(threads_);
  }
  thread.name = take_text(threads_);
  thread.stream = threads_.take(take_unsigned(threads_));
  // The number of scopes, the depth and the range are redundant: the stream determines them.
  static_cast<void>(take_unsigned(threads_));
  static_cast<void>(take_unsigned(threads_));
  static_cast<void>(take_signed(threads_));
  static_cast<void>(take_signed(threads_));
  return true;
}

std::span<const std::byte> FlameCursor::take(std::size_t count) {
  const std::size_t end = ends_.empty() ? stream_.size() : ends_.back();
  if (count > end - position_) {
    throw DecodeError("a scope is cut off");
  }
  const auto taken = stream_.subspan(position_, count);
  position_ += count;
  return taken;
}

FlameCursor::Step FlameCursor::next() {
  if (!ends_.empty() && position_ == ends_.back()) {
    close();
    return Step::close;
  }
  if (position_ == stream_.size()) {
    return Step::end;
  }
  if (std::to_integer<char>(take(1)[0]) != open_mark) {
    throw DecodeError("neither a scope's begin nor its end");
  }
  site_ = capture::load<std::uint32_t>(take(sizeof site_).data());
  time_ns_ = capture::load<std::int64_t>(take(sizeof time_ns_).data());
  const auto text = take(std::to_integer<std::size_t>(take(1)[0]));
  text_ = {reinterpret_cast<const char*>(text.data()), text.size()};
  const auto size = capture::load<std::uint64_t>(take(sizeof(std::uint64_t)).data());
  const std::size_t end = ends_.empty() ? stream_.size() : ends_.back();
  if (size > end - position_) {
    throw DecodeError("a scope's size is beyond its stream");
  }
  ends_.push_back(position_ + static_cast<std::size_t>(size));
  return Step::open;
}

void FlameCursor::skip() {
  position_ = ends_.back();
  close();
}

void FlameCursor::close() {
  ends_.pop_back();
  if (std::to_integer<char>(take(1)[0]) != close_mark) {
    throw DecodeError("a scope has no end");
  }
  time_ns_ = capture::load<std::int64_t>(take(sizeof time_ns_).data());
}

}  // namespace kymo::exchange
