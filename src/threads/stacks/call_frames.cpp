#include "threads/stacks/call_frames.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <sys/auxv.h>

#include "base/system/file.hpp"
#include "threads/stacks/debug_library.hpp"
#include "threads/stacks/frame_expression.hpp"
#include "threads/symbols/file_parts.hpp"

namespace kymo::threads {
namespace {

#ifdef __aarch64__
constexpr unsigned own_machine = EM_AARCH64;
#else
constexpr unsigned own_machine = EM_X86_64;
#endif

struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }  // NOLINT(cppcoreguidelines-no-malloc): libdw's
};

/// This process's own image of the kernel's functions.
Elf* open_vdso() {
  auto* const image = reinterpret_cast<char*>(::getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) {
    return nullptr;
  }
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(image);
  return debug_library().memory(image, header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize);
}

class FramesByLibdw final : public CallFrames {
 public:
  /// False if the file is not as open() demands.
  [[nodiscard]] bool read(const std::string& path, std::uint64_t inode);
  [[nodiscard]] std::optional<UnwindRule> find(std::uint64_t file_offset) override;

 private:
  [[nodiscard]] bool read_segments();
  [[nodiscard]] std::unique_ptr<Dwarf_Frame, Free> find_frame(std::uint64_t address);

  base::FileDescriptor file_;
  ElfOwner elf_;
  FramesOwner frames_;
  std::vector<FileSegment> segments_;
  DebugOwner debug_;
  Dwarf_CFI* debug_frames_ = nullptr;  // belongs to `debug_`
  bool has_looked_for_debug_ = false;
};

bool FramesByLibdw::read_segments() {
  constexpr std::size_t most_segments = 1024;
  GElf_Ehdr header{};
  std::size_t count = 0;
  if (debug_library().get_header(elf_.get(), &header) == nullptr || header.e_machine != own_machine ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || debug_library().count_segments(elf_.get(), &count) != 0) {
    return false;
  }
  for (std::size_t i = 0; i < std::min(count, most_segments); ++i) {
    GElf_Phdr segment{};
    if (debug_library().get_segment(elf_.get(), static_cast<int>(i), &segment) != nullptr &&
        segment.p_type == PT_LOAD) {
      segments_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    }
  }
  return !segments_.empty();
}

/// Programs without exceptions may leave out what the runtime would need, and have the debugger's copy alone.
std::unique_ptr<Dwarf_Frame, Free> FramesByLibdw::find_frame(std::uint64_t address) {
  Dwarf_Frame* found = nullptr;
  if (frames_ && debug_library().find_frame(frames_.get(), address, &found) == 0) {
    return std::unique_ptr<Dwarf_Frame, Free>(found);
  }
  if (!has_looked_for_debug_) {
    has_looked_for_debug_ = true;
    // Asked before the debug information is opened: that takes long if there is much of it, compressed.
    if (file_ && has_section(file_.get(), ".debug_frame")) {
      debug_.reset(debug_library().begin_debug(elf_.get(), DWARF_C_READ, nullptr));
    }
    debug_frames_ = debug_ ? debug_library().get_debug_frames(debug_.get()) : nullptr;
  }
  const bool is_found = debug_frames_ != nullptr && debug_library().find_frame(debug_frames_, address, &found) == 0;
  return std::unique_ptr<Dwarf_Frame, Free>(is_found ? found : nullptr);
}

bool FramesByLibdw::read(const std::string& path, std::uint64_t inode) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30U;
  if (path == "[vdso]") {
    elf_.reset(open_vdso());
  } else {
    file_ = open_known_file(path, inode, most_bytes);
    elf_.reset(file_ ? debug_library().begin(file_.get(), ELF_C_READ, nullptr) : nullptr);
  }
  if (!elf_ || !read_segments()) {
    return false;
  }
  frames_.reset(debug_library().get_frames(elf_.get()));
  return true;
}

std::optional<UnwindRule> FramesByLibdw::find(std::uint64_t file_offset) {
  const FileSegment* const segment = segment_at(segments_, file_offset);
  if (segment == nullptr) {
    return std::nullopt;
  }
  const std::uint64_t address = segment->address_of(file_offset);
  const std::unique_ptr<Dwarf_Frame, Free> frame = find_frame(address);
  if (!frame) {
    return std::nullopt;
  }
  UnwindRule rule;
  bool depends_on_place = false;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (debug_library().get_info(frame.get(), &begin, &end, &rule.is_signal) != return_address ||
      debug_library().get_frame_address(frame.get(), &operations, &count) != 0 || count == 0) {
    return std::nullopt;
  }
  rule.frame = reduce_expression({operations, count}, ExpressionKind::value, address, depends_on_place);
  for (std::size_t number = 0; number < register_count; ++number) {
    std::array<Dwarf_Op, 3> own{};
    if (debug_library().get_register(frame.get(), static_cast<int>(number), own.data(), &operations, &count) != 0) {
      continue;
    }
    if (count != 0) {
      rule.registers[number] =
          reduce_expression({operations, count}, ExpressionKind::location, address, depends_on_place);
    } else {
      rule.registers[number].kind = operations == nullptr ? UnwindValue::Kind::same : UnwindValue::Kind::none;
    }
  }
  const bool is_stretch = !depends_on_place && begin <= address && address < end;
  rule.begin = is_stretch ? file_offset - std::min(address - begin, file_offset - segment->file_offset) : file_offset;
  rule.end = is_stretch ? file_offset + std::min(end - address, segment->file_offset + segment->size - file_offset)
                        : file_offset + 1;
  return rule;
}

}  // namespace

bool has_call_frames() {
  return debug_library().has_frames;
}

std::unique_ptr<CallFrames> CallFrames::open(const std::string& path, std::uint64_t inode) {
  auto frames = std::make_unique<FramesByLibdw>();
  return has_call_frames() && frames->read(path, inode) ? std::move(frames) : nullptr;
}

}  // namespace kymo::threads
