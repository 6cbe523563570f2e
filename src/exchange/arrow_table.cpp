#include "exchange/arrow_table.hpp"

#include <array>
#include <utility>

#include "exchange/json_text.hpp"

namespace kymo::exchange {
namespace {

/// What a schema points to. Children may be moved out of it by the consumer, so that each holds what it needs itself.
struct SchemaData {
  std::string format;
  std::string name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

/// The same of an array.
struct ArrayData {
  std::string validity;
  std::string values;
  std::vector<std::int32_t> offsets;
  std::shared_ptr<const ArrowDictionary> texts;
  std::array<const void*, 3> buffers{};
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
};

/// Releases what was not moved out, then the thing itself.
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
  append_valid_text(valid, text);
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

void ArrowColumn::add_validity(bool is_valid) {
  if (size_ % 8 == 0) {
    validity_ += '\0';
  }
  if (is_valid) {
    validity_.back() = static_cast<char>(static_cast<unsigned char>(validity_.back()) | 1U << size_ % 8);
  } else {
    ++null_count_;
  }
  ++size_;
}

void ArrowColumn::add_boolean(bool value) {
  if (size_ % 8 == 0) {
    values_ += '\0';
  }
  if (value) {
    values_.back() = static_cast<char>(static_cast<unsigned char>(values_.back()) | 1U << size_ % 8);
  }
  add_validity(true);
}

void ArrowColumn::add_text(std::string_view text) {
  values_ += text;
  offsets_.push_back(static_cast<std::int32_t>(values_.size()));
  add_validity(true);
}

void ArrowColumn::add_null_text() {
  offsets_.push_back(static_cast<std::int32_t>(values_.size()));
  add_validity(false);
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

void make_batch_schema(const std::vector<ArrowColumn>& columns, ArrowSchema& schema) {
  auto data = std::make_unique<SchemaData>();
  data->format = "+s";
  data->children.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].make_schema(data->children[i]);
  }
  fill_schema(std::move(data), 0, schema);
}

void make_batch(std::vector<ArrowColumn>& columns, ArrowArray& array) {
  auto data = std::make_unique<ArrayData>();
  const std::size_t size = columns.front().size();
  data->children.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].make_array(data->children[i]);
  }
  fill_array(std::move(data), size, 0, 1, array);
}

}  // namespace kymo::exchange
