#include "threads/stacks/call_frames.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/system/file.hpp"
#include "threads/stacks/frame_expression.hpp"

namespace kymo::threads {
namespace {

#ifdef __aarch64__
constexpr unsigned own_machine = EM_AARCH64;
#else
constexpr unsigned own_machine = EM_X86_64;
#endif

/// The libraries' functions, found at run time: a copy of the command also runs where they are missing.
struct Library {
  decltype(&::elf_version) version = nullptr;
  decltype(&::elf_begin) begin = nullptr;
  decltype(&::elf_memory) memory = nullptr;
  decltype(&::elf_end) end = nullptr;
  decltype(&::elf_getphdrnum) count_segments = nullptr;
  decltype(&::gelf_getphdr) get_segment = nullptr;
  decltype(&::gelf_getehdr) get_header = nullptr;
  decltype(&::elf_nextscn) next_section = nullptr;
  decltype(&::gelf_getshdr) get_section = nullptr;
  decltype(&::elf_getshdrstrndx) get_name_section = nullptr;
  decltype(&::elf_strptr) get_name = nullptr;
  decltype(&::dwarf_getcfi_elf) get_frames = nullptr;
  decltype(&::dwarf_cfi_end) end_frames = nullptr;
  decltype(&::dwarf_begin_elf) begin_debug = nullptr;
  decltype(&::dwarf_end) end_debug = nullptr;
  decltype(&::dwarf_getcfi) get_debug_frames = nullptr;
  decltype(&::dwarf_cfi_addrframe) find_frame = nullptr;
  decltype(&::dwarf_frame_info) get_info = nullptr;
  decltype(&::dwarf_frame_cfa) get_frame_address = nullptr;
  decltype(&::dwarf_frame_register) get_register = nullptr;
  bool is_there = false;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Library load() {
  Library all;
  void* const elf = ::dlopen("libelf.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const dwarf = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  all.is_there = elf != nullptr && dwarf != nullptr && find(elf, "elf_version", all.version) &&
                 find(elf, "elf_begin", all.begin) && find(elf, "elf_memory", all.memory) &&
                 find(elf, "elf_end", all.end) && find(elf, "elf_getphdrnum", all.count_segments) &&
                 find(elf, "gelf_getphdr", all.get_segment) && find(elf, "gelf_getehdr", all.get_header) &&
                 find(elf, "elf_nextscn", all.next_section) && find(elf, "gelf_getshdr", all.get_section) &&
                 find(elf, "elf_getshdrstrndx", all.get_name_section) && find(elf, "elf_strptr", all.get_name) &&
                 find(dwarf, "dwarf_getcfi_elf", all.get_frames) && find(dwarf, "dwarf_cfi_end", all.end_frames) &&
                 find(dwarf, "dwarf_begin_elf", all.begin_debug) && find(dwarf, "dwarf_end", all.end_debug) &&
                 find(dwarf, "dwarf_getcfi", all.get_debug_frames) &&
                 find(dwarf, "dwarf_cfi_addrframe", all.find_frame) && find(dwarf, "dwarf_frame_info", all.get_info) &&
                 find(dwarf, "dwarf_frame_cfa", all.get_frame_address) &&
                 find(dwarf, "dwarf_frame_register", all.get_register) && all.version(EV_CURRENT) != EV_NONE;
  return all;
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

struct EndElf {
  void operator()(Elf* elf) const { library().end(elf); }
};
struct EndFrames {
  void operator()(Dwarf_CFI* frames) const { library().end_frames(frames); }
};
struct EndDebugInformation {
  void operator()(Dwarf* debug) const { library().end_debug(debug); }
};
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
  return library().memory(image, header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize);
}

}  // namespace

struct CallFrames::State {
  struct Segment {
    std::uint64_t file_offset = 0;
    std::uint64_t size = 0;
    std::uint64_t address = 0;
  };

  base::FileDescriptor file;
  std::unique_ptr<Elf, EndElf> elf;
  std::unique_ptr<Dwarf_CFI, EndFrames> frames;
  std::vector<Segment> segments;
  std::unique_ptr<Dwarf, EndDebugInformation> debug;
  Dwarf_CFI* debug_frames = nullptr;  // belongs to `debug`
  bool has_looked_for_debug = false;

  [[nodiscard]] bool read_segments();
  [[nodiscard]] const Segment* segment_at(std::uint64_t file_offset) const;
  [[nodiscard]] bool has_debug_frames() const;
  [[nodiscard]] std::unique_ptr<Dwarf_Frame, Free> find_frame(std::uint64_t address);
};

bool CallFrames::State::read_segments() {
  constexpr std::size_t most_segments = 1024;
  GElf_Ehdr header{};
  std::size_t count = 0;
  if (library().get_header(elf.get(), &header) == nullptr || header.e_machine != own_machine ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || library().count_segments(elf.get(), &count) != 0) {
    return false;
  }
  for (std::size_t i = 0; i < std::min(count, most_segments); ++i) {
    GElf_Phdr segment{};
    if (library().get_segment(elf.get(), static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_LOAD) {
      segments.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    }
  }
  return !segments.empty();
}

const CallFrames::State::Segment* CallFrames::State::segment_at(std::uint64_t file_offset) const {
  for (const Segment& segment : segments) {
    if (file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.size) {
      return &segment;
    }
  }
  return nullptr;
}

/// Asked before the debug information is opened: that takes long if there is much of it, compressed.
bool CallFrames::State::has_debug_frames() const {
  std::size_t names = 0;
  if (library().get_name_section(elf.get(), &names) != 0) {
    return false;
  }
  for (Elf_Scn* section = nullptr; (section = library().next_section(elf.get(), section)) != nullptr;) {
    GElf_Shdr header{};
    const char* const name = library().get_section(section, &header) != nullptr
                                 ? library().get_name(elf.get(), names, header.sh_name)
                                 : nullptr;
    if (name != nullptr && std::string_view(name) == ".debug_frame") {
      return true;
    }
  }
  return false;
}

/// Programs without exceptions may leave out what the runtime would need, and have the debugger's copy alone.
std::unique_ptr<Dwarf_Frame, Free> CallFrames::State::find_frame(std::uint64_t address) {
  Dwarf_Frame* found = nullptr;
  if (frames && library().find_frame(frames.get(), address, &found) == 0) {
    return std::unique_ptr<Dwarf_Frame, Free>(found);
  }
  if (!has_looked_for_debug) {
    has_looked_for_debug = true;
    if (has_debug_frames()) {
      debug.reset(library().begin_debug(elf.get(), DWARF_C_READ, nullptr));
    }
    debug_frames = debug ? library().get_debug_frames(debug.get()) : nullptr;
  }
  const bool is_found = debug_frames != nullptr && library().find_frame(debug_frames, address, &found) == 0;
  return std::unique_ptr<Dwarf_Frame, Free>(is_found ? found : nullptr);
}

bool has_call_frames() {
  return library().is_there;
}

CallFrames::CallFrames(std::unique_ptr<State> state) : state_(std::move(state)) {}

CallFrames::~CallFrames() = default;

std::unique_ptr<CallFrames> CallFrames::open(const std::string& path, std::uint64_t inode) {
  constexpr off_t most_bytes = off_t{1} << 30U;
  if (!has_call_frames()) {
    return nullptr;
  }
  auto state = std::make_unique<State>();
  if (path == "[vdso]") {
    state->elf.reset(open_vdso());
  } else {
    struct stat status {};
    // Anything may have the path by now; opening a FIFO must not block.
    state->file = base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!state->file || ::fstat(state->file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_ino != inode || status.st_size > most_bytes) {
      return nullptr;
    }
    state->elf.reset(library().begin(state->file.get(), ELF_C_READ, nullptr));
  }
  if (!state->elf || !state->read_segments()) {
    return nullptr;
  }
  state->frames.reset(library().get_frames(state->elf.get()));
  return std::unique_ptr<CallFrames>(new CallFrames(std::move(state)));
}

std::optional<UnwindRule> CallFrames::find(std::uint64_t file_offset) const {
  const State::Segment* const segment = state_->segment_at(file_offset);
  if (segment == nullptr) {
    return std::nullopt;
  }
  const std::uint64_t address = segment->address + (file_offset - segment->file_offset);
  const std::unique_ptr<Dwarf_Frame, Free> frame = state_->find_frame(address);
  if (!frame) {
    return std::nullopt;
  }
  UnwindRule rule;
  bool depends_on_place = false;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  if (library().get_info(frame.get(), &begin, &end, &rule.is_signal) != return_address ||
      library().get_frame_address(frame.get(), &operations, &count) != 0 || count == 0) {
    return std::nullopt;
  }
  rule.frame = reduce_expression({operations, count}, ExpressionKind::value, address, depends_on_place);
  for (std::size_t number = 0; number < register_count; ++number) {
    std::array<Dwarf_Op, 3> own{};
    if (library().get_register(frame.get(), static_cast<int>(number), own.data(), &operations, &count) != 0) {
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

}  // namespace kymo::threads
