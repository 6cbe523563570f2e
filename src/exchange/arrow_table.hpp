// Arrays and schemas of the Arrow C data interface, made of columns.
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

/// Texts that columns refer to by number; each stands there once. Made before the first batch and shared by all.
class ArrowDictionary {
 public:
  /// The text's number; adds it where it is not there.
  std::uint32_t add(std::string_view text);
  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] const std::vector<std::int32_t>& offsets() const { return offsets_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::int32_t> offsets_{0};
  std::string text_;
};

/// A column of one batch. Its kind is told by the format; values are added by the function that fits it.
class ArrowColumn {
 public:
  /// `format` is Arrow's: "l" int64, "L" uint64, "I" uint32, "S" uint16, "g" float64, "b" boolean, "u" text. With a
  /// dictionary it is "I".
  ArrowColumn(std::string name, std::string format, bool is_nullable = false,
              std::shared_ptr<const ArrowDictionary> dictionary = nullptr);

  template <typename Number>
  void add(Number number) {
    const auto* const bytes = reinterpret_cast<const char*>(&number);
    values_.append(bytes, sizeof number);
    add_validity(true);
  }
  void add_boolean(bool value);
  void add_text(std::string_view text);
  /// `Number` is the column's.
  template <typename Number>
  void add_null() {
    values_.append(sizeof(Number), '\0');
    add_validity(false);
  }
  void add_null_text();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Fills in a schema that stays good by itself.
  void make_schema(ArrowSchema& schema) const;
  /// Fills in an array of what was added, which stays good by itself; the column is empty then.
  void make_array(ArrowArray& array);

 private:
  void add_validity(bool is_valid);

  std::string name_;
  std::string format_;
  bool is_nullable_;
  std::shared_ptr<const ArrowDictionary> dictionary_;
  std::size_t size_ = 0;
  std::size_t null_count_ = 0;
  std::string validity_;
  std::string values_;
  std::vector<std::int32_t> offsets_;
};

/// A struct of the columns: a record batch.
void make_batch_schema(const std::vector<ArrowColumn>& columns, ArrowSchema& schema);
void make_batch(std::vector<ArrowColumn>& columns, ArrowArray& array);

}  // namespace kymo::exchange
