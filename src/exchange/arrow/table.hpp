// Arrays and schemas of the Arrow C data interface, built from columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <kymo/arrow.hpp>

namespace kymo::exchange {

/// Unique texts that columns refer to by number. Built before the first batch and shared by all batches.
class ArrowDictionary {
 public:
  /// Returns the text's number; adds the text if needed.
  std::uint32_t add(std::string_view text);
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] const std::vector<std::int32_t>& offsets() const { return offsets_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::int32_t> offsets_{0};
  std::string text_;
};

/// A growing byte buffer that does not initialise new bytes: the caller writes all of them right away.
class ArrowBytes {
 public:
  /// Appends that many bytes and returns a pointer to them.
  [[nodiscard]] char* extend(std::size_t count) {
    if (capacity_ - size_ < count) {
      grow(count);
    }
    char* const place = data_.get() + size_;
    size_ += count;
    return place;
  }
  [[nodiscard]] char* data() { return data_.get(); }
  [[nodiscard]] const char* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void grow(std::size_t count);

  struct Free {
    void operator()(char* data) const;
  };

  std::unique_ptr<char, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A column of one batch. The format determines the kind; add values with the matching function.
class ArrowColumn {
 public:
  /// `format` is Arrow's: "l" int64, "L" uint64, "I" uint32, "S" uint16, "g" float64, "b" boolean, "u" text. With a
  /// dictionary it is "I".
  ArrowColumn(std::string name, std::string format, bool is_nullable = false,
              std::shared_ptr<const ArrowDictionary> dictionary = nullptr);

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Appends that many non-null numbers and returns a pointer for the caller to write them to. `Number` is the column's
  /// type.
  template <typename Number>
  [[nodiscard]] Number* extend(std::size_t count) {
    size_ += count;
    return reinterpret_cast<Number*>(values_.extend(count * sizeof(Number)));
  }
  /// Sets a row that was added to null. Call with ascending rows.
  void set_null(std::size_t row);
  template <typename Number>
  void add(Number number) {
    *extend<Number>(1) = number;
  }
  /// Appends that many false values.
  void extend_booleans(std::size_t count);
  void set_boolean(std::size_t row);
  void add_boolean(bool value);
  void add_text(std::string_view text);
  void add_null_text();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Fills in a self-contained schema.
  void make_schema(ArrowSchema& schema) const;
  /// Moves the values into a self-contained array and leaves the column empty.
  void make_array(ArrowArray& array);

 private:
  void end_text();
  void extend_validity(std::size_t rows);

  std::string name_;
  std::string format_;
  bool is_nullable_;
  std::shared_ptr<const ArrowDictionary> dictionary_;
  std::size_t size_ = 0;
  std::size_t null_count_ = 0;
  std::vector<std::uint8_t> validity_;  // bits, up to the last null
  ArrowBytes values_;
  std::vector<std::int32_t> offsets_;
};

/// A struct of the columns, which is a record batch.
void make_batch_schema(const std::vector<const ArrowColumn*>& columns, ArrowSchema& schema);
void make_batch(const std::vector<ArrowColumn*>& columns, ArrowArray& array);

}  // namespace kymo::exchange
