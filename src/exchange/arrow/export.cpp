// Exports captures as Arrow streams.
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <kymo/arrow.hpp>
#include <kymo/timeline.hpp>

#include "base/text/text.hpp"
#include "exchange/arrow/rows.hpp"

namespace kymo {
namespace {

constexpr int table_count = static_cast<int>(ArrowTable::stacks) + 1;

std::unique_ptr<exchange::ArrowRows> make_rows(const Timeline& timeline, const ArrowQuery& query) {
  switch (query.table) {
    case ArrowTable::spans:
      return exchange::make_span_rows(timeline, query);
    case ArrowTable::metrics:
      return exchange::make_sample_rows(timeline, query);
    case ArrowTable::stacks:
      return exchange::make_stack_rows(timeline, query);
    case ArrowTable::frames:
      return exchange::make_frame_rows(timeline, query);
    default:
      break;
  }
  if (static_cast<int>(query.table) >= table_count) {
    throw std::invalid_argument("there is no such Arrow table");
  }
  return exchange::make_list_rows(timeline, query);
}

/// The private data of a stream.
struct StreamData {
  StreamData(std::shared_ptr<const Timeline> captures, const ArrowQuery& query)
      : timeline(std::move(captures)), rows(make_rows(*timeline, query)) {}

  std::shared_ptr<const Timeline> timeline;
  std::unique_ptr<exchange::ArrowRows> rows;
  std::string error;
};

/// Runs the body of a callback. Turns an exception into an errno value and the stream's last error.
template <typename Body>
int guarded(ArrowArrayStream* stream, Body&& body) noexcept {
  StreamData& data = *static_cast<StreamData*>(stream->private_data);
  try {
    data.error.clear();
    body(data);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& error) {
    data.error = error.what();
    return EIO;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
  return guarded(stream, [schema](StreamData& data) { exchange::make_batch_schema(data.rows->columns(), *schema); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* array) {
  *array = {};
  // At the end the array stays released.
  return guarded(stream, [array](StreamData& data) { data.rows->next(*array); });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const std::string& error = static_cast<StreamData*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<StreamData*>(stream->private_data);
  stream->private_data = nullptr;
  stream->release = nullptr;
}

}  // namespace

void open_arrow_stream(std::shared_ptr<const Timeline> timeline, const ArrowQuery& query, ArrowArrayStream* stream) {
  auto data = std::make_unique<StreamData>(std::move(timeline), query);
  *stream = {};
  stream->get_schema = get_schema;
  stream->get_next = get_next;
  stream->get_last_error = get_last_error;
  stream->release = release_stream;
  stream->private_data = data.release();
}

void open_arrow_stream(const std::vector<std::string>& captures, ArrowTable table, ArrowArrayStream* stream) {
  ArrowQuery query;
  query.table = table;
  open_arrow_stream(std::make_shared<const Timeline>(captures), query, stream);
}

}  // namespace kymo

int kymo_open_arrow_stream_v1(const char* const* captures, std::size_t capture_count, int table,
                              struct ArrowArrayStream* stream, char* error, std::size_t error_size) {
  const auto fail = [error, error_size](int number, const char* what) {
    if (error != nullptr && error_size > 0) {
      const std::size_t size = kymo::base::cut_text(what, error_size - 1).size();
      std::memcpy(error, what, size);
      error[size] = '\0';
    }
    return number;
  };
  *stream = {};
  try {
    if (table < 0 || table >= kymo::table_count) {
      return fail(EINVAL, "there is no such Arrow table");
    }
    kymo::open_arrow_stream({captures, captures + capture_count}, static_cast<kymo::ArrowTable>(table), stream);
    return 0;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM, "not enough memory");
  } catch (const std::exception& exception) {
    return fail(EIO, exception.what());
  }
}
