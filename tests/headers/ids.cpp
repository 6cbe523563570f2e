// Ids convert neither into ids of another kind nor to or from integers by themselves, and cost what an integer costs.
#include <cstdint>
#include <type_traits>

#include <kymo/ids.hpp>

namespace {

using kymo::FrameStreamId;
using kymo::ProcessId;

static_assert(!std::is_convertible_v<std::uint32_t, ProcessId> && !std::is_convertible_v<int, ProcessId>);
static_assert(!std::is_convertible_v<ProcessId, std::uint32_t> && !std::is_convertible_v<ProcessId, bool>);
static_assert(!std::is_constructible_v<ProcessId, FrameStreamId> && !std::is_assignable_v<ProcessId&, FrameStreamId>);
static_assert(std::is_trivially_copyable_v<ProcessId> && std::is_standard_layout_v<ProcessId>);
static_assert(sizeof(ProcessId) == sizeof(std::uint32_t) && alignof(ProcessId) == alignof(std::uint32_t));

static_assert(!ProcessId{} && ProcessId{}.value() == 0);
static_assert(ProcessId{3} && ProcessId{3}.value() == 3 && ProcessId{3}.index() == 2);
static_assert(ProcessId::from_index(2) == ProcessId{3} && ProcessId{2} != ProcessId{3} && ProcessId{2} < ProcessId{3});

}  // namespace
