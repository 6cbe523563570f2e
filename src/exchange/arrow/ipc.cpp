// Arrow's IPC file format: "ARROW1", the schema, the dictionaries, the batches, and a footer that says where they are.
#include "exchange/arrow/ipc.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/arrow/batches.hpp"
#include "exchange/arrow/flat_builder.hpp"

namespace kymo::exchange {
namespace {

using Field = FlatBuilder::Field;
using Reference = FlatBuilder::Reference;

constexpr std::string_view arrow_magic = "ARROW1";
constexpr std::int64_t version_5 = 4;

// The numbers of the types of a message's header and of a field, in Arrow's Message.fbs and Schema.fbs.
enum class Header : std::uint8_t { schema = 1, dictionary = 2, batch = 3 };
enum class Type : std::uint8_t { integer = 2, floating_point = 3, text = 5, boolean = 6 };

Reference build_integer(FlatBuilder& builder, std::string_view format) {
  const bool is_signed = format.front() >= 'a';
  return builder.table({Field::number(0, 4, static_cast<std::int64_t>(8 * arrow_width(format))),
                        Field::number(1, 1, is_signed ? 1 : 0)});
}

/// The type of a column, in slots 2 and 3 of its field.
void add_type(FlatBuilder& builder, std::string_view format, std::vector<Field>& fields) {
  Type type = Type::integer;
  Reference of_type;
  if (format == "u") {
    type = Type::text;
    of_type = builder.table({});
  } else if (format == "b") {
    type = Type::boolean;
    of_type = builder.table({});
  } else if (format == "g") {
    type = Type::floating_point;
    constexpr std::int64_t double_precision = 2;
    of_type = builder.table({Field::number(0, 2, double_precision)});
  } else {
    of_type = build_integer(builder, format);
  }
  fields.push_back(Field::number(2, 1, static_cast<std::int64_t>(type)));
  fields.push_back(Field::reference(3, of_type));
}

/// A column. One with a dictionary is a column of its texts; the dictionary's number is the column's.
Reference build_field(FlatBuilder& builder, const ArrowSchema& column, std::size_t number) {
  std::vector<Field> fields{Field::reference(0, builder.text(column.name)),
                            Field::number(1, 1, (column.flags & ARROW_FLAG_NULLABLE) != 0 ? 1 : 0),
                            Field::reference(5, builder.references({}))};
  if (column.dictionary != nullptr) {
    add_type(builder, column.dictionary->format, fields);
    const Reference index = build_integer(builder, column.format);
    fields.push_back(Field::reference(
        4, builder.table({Field::number(0, 8, static_cast<std::int64_t>(number)), Field::reference(1, index)})));
  } else {
    add_type(builder, column.format, fields);
  }
  return builder.table(fields);
}

Reference build_schema(FlatBuilder& builder, const ArrowSchema& schema, std::string_view table) {
  std::vector<Reference> columns;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    columns.push_back(build_field(builder, *schema.children[i], static_cast<std::size_t>(i)));
  }
  const Reference all = builder.references(columns);
  // Last, so that it stands near the file's start, where kymo looks for it.
  const Reference key = builder.text(arrow_file_mark);
  const Reference value = builder.text(table);
  const Reference entry = builder.table({Field::reference(0, key), Field::reference(1, value)});
  const Reference metadata = builder.references({entry});
  return builder.table({Field::reference(1, all), Field::reference(2, metadata)});
}

/// The data of a message: buffers, each padded to 8 bytes, and where they are.
class Body {
 public:
  void add(const void* bytes, std::size_t size) {
    places_.push_back(static_cast<std::int64_t>(bytes_.size()));
    places_.push_back(static_cast<std::int64_t>(size));
    bytes_.append(static_cast<const char*>(bytes), size);
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
  }
  void add_column(const ArrowArray& column, std::string_view format) {
    nodes_.push_back(column.length);
    nodes_.push_back(column.null_count);
    const auto rows = static_cast<std::size_t>(column.length);
    const std::size_t bits = (rows + 7) / 8;
    add(column.buffers[0], column.buffers[0] == nullptr ? 0 : bits);
    if (format == "u") {
      const auto* const offsets = static_cast<const std::int32_t*>(column.buffers[1]);
      add(offsets, (rows + 1) * sizeof *offsets);
      add(column.buffers[2], static_cast<std::size_t>(offsets[rows]));
    } else {
      add(column.buffers[1], format == "b" ? bits : rows * arrow_width(format));
    }
  }
  [[nodiscard]] Reference build_batch(FlatBuilder& builder, std::int64_t rows) const {
    const Reference nodes = builder.structs(nodes_, 2);
    const Reference places = builder.structs(places_, 2);
    return builder.table({Field::number(0, 8, rows), Field::reference(1, nodes), Field::reference(2, places)});
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::int64_t> nodes_;   // rows and nulls of each column
  std::vector<std::int64_t> places_;  // offset and size of each buffer
};

class ArrowFile {
 public:
  ArrowFile(base::OutputFile file, std::string_view table) : file_(std::move(file)), table_(table) {
    append(std::string(arrow_magic) + std::string(2, '\0'));
  }

  void write_schema(const ArrowSchema& schema) {
    FlatBuilder builder;
    const Reference header = build_schema(builder, schema, table_);
    (void)write(builder, Header::schema, header, {});
  }

  void write_dictionary(std::size_t number, const ArrowArray& texts) {
    Body body;
    body.add_column(texts, "u");
    FlatBuilder builder;
    const Reference batch = body.build_batch(builder, texts.length);
    const Reference header =
        builder.table({Field::number(0, 8, static_cast<std::int64_t>(number)), Field::reference(1, batch)});
    add_block(dictionaries_, write(builder, Header::dictionary, header, body.bytes()));
  }

  void write_batch(const ArrowSchema& schema, const ArrowArray& batch) {
    Body body;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      body.add_column(*batch.children[i], schema.children[i]->format);
    }
    FlatBuilder builder;
    const Reference header = body.build_batch(builder, batch.length);
    add_block(batches_, write(builder, Header::batch, header, body.bytes()));
  }

  void finish(const ArrowSchema& schema) {
    append(std::string("\xFF\xFF\xFF\xFF\0\0\0\0", 8));  // the end of the stream
    FlatBuilder builder;
    const Reference columns = build_schema(builder, schema, table_);
    const Reference dictionaries = builder.structs(dictionaries_, 3);
    const Reference batches = builder.structs(batches_, 3);
    const Reference footer = builder.table({Field::number(0, 2, version_5), Field::reference(1, columns),
                                            Field::reference(2, dictionaries), Field::reference(3, batches)});
    const std::string text = builder.finish(footer);
    append(text);
    append_size(text.size());
    append(arrow_magic);
    file_.close();
  }

 private:
  struct Block {
    std::uint64_t offset;
    std::size_t metadata_size;
    std::size_t body_size;
  };

  Block write(FlatBuilder& builder, Header type, Reference header, std::string_view body) {
    const Reference message =
        builder.table({Field::number(0, 2, version_5), Field::number(1, 1, static_cast<std::int64_t>(type)),
                       Field::reference(2, header), Field::number(3, 8, static_cast<std::int64_t>(body.size()))});
    const std::string metadata = builder.finish(message);
    const Block block{size_, metadata.size() + 8, body.size()};
    append("\xFF\xFF\xFF\xFF");
    append_size(metadata.size());
    append(metadata);
    append(body);
    file_.spill();
    return block;
  }

  static void add_block(std::vector<std::int64_t>& blocks, const Block& block) {
    for (const std::uint64_t number :
         {block.offset, std::uint64_t{block.metadata_size}, std::uint64_t{block.body_size}}) {
      blocks.push_back(static_cast<std::int64_t>(number));
    }
  }

  void append(std::string_view bytes) {
    file_.buffer() += bytes;
    size_ += bytes.size();
  }
  void append_size(std::size_t size) {
    std::string bytes;
    append_little_endian(bytes, size, 4);
    append(bytes);
  }

  base::OutputFile file_;
  std::string_view table_;
  std::uint64_t size_ = 0;
  std::vector<std::int64_t> dictionaries_;  // offset, size of the metadata, size of the body
  std::vector<std::int64_t> batches_;
};

}  // namespace

std::vector<std::string> write_arrow(const Timeline& timeline, base::OutputFile file, const ExportRequest& request) {
  ArrowBatches batches(timeline, request.table);
  ArrowFile output(std::move(file), table_names.at(static_cast<std::size_t>(request.table)));
  const ArrowSchema& schema = batches.schema();
  output.write_schema(schema);
  bool has_dictionaries = false;
  while (const ArrowArray* const batch = batches.next()) {
    for (std::int64_t i = 0; i < schema.n_children && !has_dictionaries; ++i) {
      if (const ArrowArray* const texts = batch->children[i]->dictionary) {
        output.write_dictionary(static_cast<std::size_t>(i), *texts);
      }
    }
    has_dictionaries = true;
    output.write_batch(schema, *batch);
  }
  output.finish(schema);
  if (request.on_progress) {
    request.on_progress(1);
  }
  return {};
}

}  // namespace kymo::exchange
