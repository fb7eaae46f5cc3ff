#include "bytecode/code.h"

namespace tsl {

namespace {

template <class T> uint64_t bytes_of(const std::vector<T>& items) { return items.capacity() * sizeof(T); }

/// Returns about the bytes of a function, without those within it.
uint64_t bytes_of(const Proto& proto) {
  return sizeof proto + bytes_of(proto.code) + bytes_of(proto.spans) + bytes_of(proto.constants) +
         bytes_of(proto.names) + bytes_of(proto.register_names) + bytes_of(proto.call_arguments) +
         bytes_of(proto.argument_spans) + bytes_of(proto.call_shapes) + bytes_of(proto.index_shapes) +
         bytes_of(proto.paths) + bytes_of(proto.loops) + bytes_of(proto.globals);
}

uint64_t bytes_of_all(const Proto& main) {
  uint64_t bytes = 0;
  each_proto(main, [&](const Proto& proto) { bytes += bytes_of(proto); });
  return bytes;
}

}  // namespace

Code::Code(std::unique_ptr<Proto> top_level, uint32_t source_number, uint64_t source_bytes)
    : main(std::move(top_level)), source(source_number), bytes(bytes_of_all(*main) + source_bytes) {
  count_bytes(bytes);
}

}  // namespace tsl
