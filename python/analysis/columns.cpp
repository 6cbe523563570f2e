#include "columns.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include <nanobind/ndarray.h>

#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

/// Releases the structure if it was filled in.
template <typename Thing>
struct Released {
  Thing thing{};

  Released() = default;
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() {
    if (thing.release != nullptr) {
      thing.release(&thing);
    }
  }
};

struct Free {
  void operator()(char* data) const { std::free(data); }
};

/// An array of numbers of any size. Growing moves pages rather than bytes and does not touch them before they are
/// written.
class Numbers {
 public:
  [[nodiscard]] char* extend(std::size_t size) {
    if (capacity_ - size_ < size) {
      constexpr std::size_t least = 4096;
      const std::size_t capacity = std::max({least, size_ + size, capacity_ + capacity_ / 2});
      char* const grown = static_cast<char*>(std::realloc(data_.get(), capacity));
      if (grown == nullptr) {
        throw std::bad_alloc();
      }
      static_cast<void>(data_.release());
      data_.reset(grown);
      capacity_ = capacity;
    }
    char* const place = data_.get() + size_;
    size_ += size;
    return place;
  }
  void append(const void* data, std::size_t size) {
    if (size != 0) {
      std::memcpy(extend(size), data, size);
    }
  }

  /// An array that owns the memory.
  template <typename Number>
  [[nodiscard]] nb::object take() {
    const std::size_t count = size_ / sizeof(Number);
    const auto* const data = reinterpret_cast<const Number*>(data_.get());
    size_ = capacity_ = 0;
    if (data == nullptr) {
      return nb::ndarray<nb::numpy, const Number, nb::ndim<1>>(nullptr, {0}).cast();
    }
    const nb::capsule owner(data_.get(), [](void* pointer) noexcept { std::free(pointer); });
    static_cast<void>(data_.release());
    return nb::ndarray<nb::numpy, const Number, nb::ndim<1>>(data, {count}, owner).cast();
  }

 private:
  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

std::vector<std::string> texts_of(const ArrowArray& array) {
  std::vector<std::string> texts;
  const auto* const offsets = static_cast<const std::int32_t*>(array.buffers[1]);
  const auto* const bytes = static_cast<const char*>(array.buffers[2]);
  for (std::int64_t i = 0; i < array.length; ++i) {
    texts.emplace_back(bytes + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
  }
  return texts;
}

bool is_valid(const ArrowArray& array, std::int64_t row) {
  const auto* const bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  return bits == nullptr || (bits[row / 8] >> (row % 8) & 1) != 0;
}

std::size_t size_of(char format) {
  switch (format) {
    case 'S':
      return 2;
    case 'I':
      return 4;
    case 'l':
    case 'L':
    case 'g':
      return 8;
    default:
      throw std::runtime_error("an Arrow column of a kind that is not known");
  }
}

}  // namespace

class Columns::Column {
 public:
  explicit Column(const ArrowSchema& schema)
      : name_(schema.name), format_(schema.format[0]), is_coded_(schema.dictionary != nullptr) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  void append(const ArrowArray& array) {
    const auto rows = static_cast<std::size_t>(array.length);
    if (is_coded_) {
      append_codes(array);
    } else if (format_ == 'u') {
      append_texts(array);
    } else if (format_ == 'b') {
      const auto* const bits = static_cast<const std::uint8_t*>(array.buffers[1]);
      char* const out = numbers_.extend(rows);
      for (std::size_t i = 0; i < rows; ++i) {
        out[i] = static_cast<char>(bits[i / 8] >> (i % 8) & 1);
      }
    } else {
      numbers_.append(array.buffers[1], rows * size_of(format_));
    }
  }

  [[nodiscard]] nb::object take() {
    if (is_coded_) {
      nb::list texts;
      for (const std::string& text : dictionary_) {
        texts.append(make_text(text));
      }
      return nb::make_tuple(numbers_.take<std::int32_t>(), texts);
    }
    switch (format_) {
      case 'u':
        return take_texts();
      case 'b':
        return numbers_.take<bool>();
      case 'S':
        return numbers_.take<std::uint16_t>();
      case 'I':
        return numbers_.take<std::uint32_t>();
      case 'l':
        return numbers_.take<std::int64_t>();
      case 'L':
        return numbers_.take<std::uint64_t>();
      default:
        return numbers_.take<double>();
    }
  }

 private:
  void append_codes(const ArrowArray& array) {
    if (dictionary_.empty()) {
      dictionary_ = texts_of(*array.dictionary);  // the same in all batches
    }
    if (array.null_count == 0) {
      numbers_.append(array.buffers[1], static_cast<std::size_t>(array.length) * sizeof(std::int32_t));
      return;
    }
    const auto* const codes = static_cast<const std::int32_t*>(array.buffers[1]);
    std::vector<std::int32_t> with_none(codes, codes + array.length);
    for (std::int64_t i = 0; i < array.length; ++i) {
      if (!is_valid(array, i)) {
        with_none[static_cast<std::size_t>(i)] = -1;
      }
    }
    numbers_.append(with_none.data(), with_none.size() * sizeof(std::int32_t));
  }

  void append_texts(const ArrowArray& array) {
    std::vector<std::string> texts = texts_of(array);
    for (std::int64_t i = 0; i < array.length; ++i) {
      texts_.emplace_back(is_valid(array, i), std::move(texts[static_cast<std::size_t>(i)]));
    }
  }

  [[nodiscard]] nb::object take_texts() const {
    nb::list list;
    for (const auto& [is_there, text] : texts_) {
      if (is_there) {
        list.append(make_text(text));
      } else {
        list.append(nb::none());
      }
    }
    return list;
  }

  std::string name_;
  char format_;
  bool is_coded_;
  Numbers numbers_;
  std::vector<std::string> dictionary_;
  std::vector<std::pair<bool, std::string>> texts_;
};

Columns::Columns(std::shared_ptr<const Timeline> timeline, const ArrowQuery& query, std::size_t enough_rows) {
  Released<ArrowArrayStream> stream;
  open_arrow_stream(std::move(timeline), query, &stream.thing);
  const auto check = [&stream](int result) {
    if (result != 0) {
      const char* const error = stream.thing.get_last_error(&stream.thing);
      throw std::runtime_error(error != nullptr ? error : "not enough memory to read the capture");
    }
  };
  Released<ArrowSchema> schema;
  check(stream.thing.get_schema(&stream.thing, &schema.thing));
  for (std::int64_t i = 0; i < schema.thing.n_children; ++i) {
    columns_.push_back(std::make_unique<Column>(*schema.thing.children[i]));
  }
  while (row_count_ < enough_rows) {
    Released<ArrowArray> batch;
    check(stream.thing.get_next(&stream.thing, &batch.thing));
    if (batch.thing.release == nullptr) {
      return;
    }
    row_count_ += static_cast<std::size_t>(batch.thing.length);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i]->append(*batch.thing.children[i]);
    }
  }
}

Columns::~Columns() = default;

nb::dict Columns::take() {
  nb::dict taken;
  for (const std::unique_ptr<Column>& column : columns_) {
    taken[make_text(column->name())] = column->take();
  }
  return taken;
}

}  // namespace kymo::python
