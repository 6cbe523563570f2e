#include "exchange/arrow/table.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/text/json_text.hpp"

namespace kymo::exchange {
namespace {

/// The private data of a schema. The consumer may move children out, so each child owns its data.
struct SchemaData {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

/// The private data of an array.
struct ArrayData {
  std::vector<std::uint8_t> validity;
  ArrowBytes values;
  std::vector<std::int32_t> offsets;
  std::shared_ptr<const ArrowDictionary> texts;
  std::array<const void*, 3> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

/// Releases the children that were not moved out, then the structure itself.
template <typename Data, typename Thing>
void release(Thing* thing) {
  const std::unique_ptr<Data> data(static_cast<Data*>(thing->private_data));
  for (Thing& child : data->children) {
    if (child.release != nullptr) {
      child.release(&child);
    }
  }
  if (data->dictionary && data->dictionary->release != nullptr) {
    data->dictionary->release(data->dictionary.get());
  }
  thing->release = nullptr;
}

void fill_schema(std::unique_ptr<SchemaData> data, std::int64_t flags, ArrowSchema& schema) {
  schema = {};
  for (ArrowSchema& child : data->children) {
    data->child_pointers.push_back(&child);
  }
  schema.format = data->format.c_str();
  schema.name = data->name.c_str();
  schema.flags = flags;
  schema.n_children = static_cast<std::int64_t>(data->children.size());
  schema.children = data->child_pointers.data();
  schema.dictionary = data->dictionary.get();
  schema.release = release<SchemaData, ArrowSchema>;
  schema.private_data = data.release();
}

void fill_array(std::unique_ptr<ArrayData> data, std::size_t length, std::size_t nulls, std::size_t buffers,
                ArrowArray& array) {
  array = {};
  for (ArrowArray& child : data->children) {
    data->child_pointers.push_back(&child);
  }
  array.length = static_cast<std::int64_t>(length);
  array.null_count = static_cast<std::int64_t>(nulls);
  array.n_buffers = static_cast<std::int64_t>(buffers);
  array.n_children = static_cast<std::int64_t>(data->children.size());
  array.buffers = data->buffers.data();
  array.children = data->child_pointers.data();
  array.dictionary = data->dictionary.get();
  array.release = release<ArrayData, ArrowArray>;
  array.private_data = data.release();
}

void make_dictionary_array(std::shared_ptr<const ArrowDictionary> dictionary, ArrowArray& array) {
  auto data = std::make_unique<ArrayData>();
  data->texts = std::move(dictionary);
  data->buffers = {nullptr, data->texts->offsets().data(), data->texts->text().data()};
  const std::size_t size = data->texts->size();
  fill_array(std::move(data), size, 0, 3, array);
}

}  // namespace

std::uint32_t ArrowDictionary::add(std::string_view text) {
  std::string valid;
  base::append_valid_text(valid, text);
  const auto [place, is_new] = numbers_.try_emplace(std::move(valid), static_cast<std::uint32_t>(size()));
  if (is_new) {
    text_ += place->first;
    offsets_.push_back(static_cast<std::int32_t>(text_.size()));
  }
  return place->second;
}

ArrowColumn::ArrowColumn(std::string name, std::string format, bool is_nullable,
                         std::shared_ptr<const ArrowDictionary> dictionary)
    : name_(std::move(name)),
      format_(std::move(format)),
      is_nullable_(is_nullable),
      dictionary_(std::move(dictionary)) {}

void ArrowBytes::Free::operator()(char* data) const {
  std::free(data);
}

void ArrowBytes::grow(std::size_t count) {
  constexpr std::size_t least = 1024;
  const std::size_t capacity = std::max({least, size_ + count, capacity_ + capacity_ / 2});
  char* const grown = static_cast<char*>(std::realloc(data_.get(), capacity));
  if (grown == nullptr) {
    throw std::bad_alloc();
  }
  static_cast<void>(data_.release());
  data_.reset(grown);
  capacity_ = capacity;
}

void ArrowColumn::extend_validity(std::size_t rows) {
  // Bits after the last null are set already.
  validity_.resize((rows + 7) / 8, 0xFF);
}

void ArrowColumn::set_null(std::size_t row) {
  extend_validity(row + 1);
  validity_[row / 8] = static_cast<std::uint8_t>(validity_[row / 8] & ~(1U << row % 8));
  ++null_count_;
}

void ArrowColumn::extend_booleans(std::size_t count) {
  const std::size_t bytes = (size_ + count + 7) / 8;
  const std::size_t more = bytes - values_.size();
  std::fill_n(values_.extend(more), more, '\0');
  size_ += count;
}

void ArrowColumn::set_boolean(std::size_t row) {
  char& byte = values_.data()[row / 8];
  byte = static_cast<char>(static_cast<unsigned char>(byte) | 1U << row % 8);
}

void ArrowColumn::add_boolean(bool value) {
  extend_booleans(1);
  if (value) {
    set_boolean(size_ - 1);
  }
}

void ArrowColumn::end_text() {
  if (values_.size() > 0x7FFFFFFF) {
    throw std::length_error("an Arrow batch holds more than 2 GB of text");
  }
  offsets_.push_back(static_cast<std::int32_t>(values_.size()));
  ++size_;
}

void ArrowColumn::add_text(std::string_view text) {
  std::copy(text.begin(), text.end(), values_.extend(text.size()));
  end_text();
}

void ArrowColumn::add_null_text() {
  end_text();
  set_null(size_ - 1);
}

void ArrowColumn::make_schema(ArrowSchema& schema) const {
  auto data = std::make_unique<SchemaData>();
  data->format = format_;
  data->name = name_;
  if (dictionary_) {
    auto texts = std::make_unique<SchemaData>();
    texts->format = "u";
    data->dictionary = std::make_unique<ArrowSchema>();
    fill_schema(std::move(texts), 0, *data->dictionary);
  }
  fill_schema(std::move(data), is_nullable_ ? ARROW_FLAG_NULLABLE : 0, schema);
}

void ArrowColumn::make_array(ArrowArray& array) {
  auto data = std::make_unique<ArrayData>();
  if (null_count_ > 0) {
    extend_validity(size_);
  }
  data->validity = std::exchange(validity_, {});
  data->values = std::exchange(values_, {});
  const void* const validity = null_count_ > 0 ? data->validity.data() : nullptr;
  std::size_t buffers = 2;
  if (format_ == "u") {
    data->offsets = std::exchange(offsets_, {});
    data->offsets.insert(data->offsets.begin(), 0);
    data->buffers = {validity, data->offsets.data(), data->values.data()};
    buffers = 3;
  } else {
    data->buffers = {validity, data->values.data(), nullptr};
  }
  if (dictionary_) {
    data->dictionary = std::make_unique<ArrowArray>();
    make_dictionary_array(dictionary_, *data->dictionary);
  }
  fill_array(std::move(data), std::exchange(size_, 0), std::exchange(null_count_, 0), buffers, array);
}

void make_batch_schema(const std::vector<const ArrowColumn*>& columns, ArrowSchema& schema) {
  auto data = std::make_unique<SchemaData>();
  data->format = "+s";
  data->children.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i]->make_schema(data->children[i]);
  }
  fill_schema(std::move(data), 0, schema);
}

void make_batch(const std::vector<ArrowColumn*>& columns, ArrowArray& array) {
  auto data = std::make_unique<ArrayData>();
  const std::size_t size = columns.front()->size();
  data->children.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i]->make_array(data->children[i]);
  }
  fill_array(std::move(data), size, 0, 1, array);
}

}  // namespace kymo::exchange
