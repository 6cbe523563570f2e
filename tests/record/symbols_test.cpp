// ELF symbols and names. The files are made here byte by byte, or are this program; dladdr, fnmatch and the demangler
// are the oracles.
#include "record/names/symbols.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <fnmatch.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "base/text/pattern.hpp"
#include "support/rounds.hpp"

namespace kymo::record {
namespace {

struct Symbol {
  std::string name;
  std::uint64_t address;
  std::uint64_t size;
  unsigned char info;
  std::uint16_t section = 1;
};

constexpr unsigned char function_of(unsigned char binding) {
  return static_cast<unsigned char>(ELF64_ST_INFO(binding, STT_FUNC));
}

/// Writes a relocatable-looking ELF file that has nothing but symbols and a build id.
class ElfFile {
 public:
  ElfFile(const std::vector<Symbol>& symbols, std::uint32_t table_type, const std::string& build_id) {
    std::string names(1, '\0');
    std::string table(sizeof(Elf64_Sym), '\0');
    for (const Symbol& symbol : symbols) {
      Elf64_Sym entry{};
      entry.st_name = static_cast<Elf64_Word>(names.size());
      entry.st_info = symbol.info;
      entry.st_shndx = symbol.section;
      entry.st_value = symbol.address;
      entry.st_size = symbol.size;
      append(table, entry);
      names += symbol.name + '\0';
    }
    Elf64_Nhdr note_head{4, static_cast<Elf64_Word>(build_id.size()), NT_GNU_BUILD_ID};
    std::string note;
    append(note, note_head);
    note.append("GNU\0", 4).append(build_id).append((4 - build_id.size() % 4) % 4, '\0');

    bytes_.assign(sizeof(Elf64_Ehdr), '\0');
    Elf64_Shdr headers[4]{};
    headers[1] = section(table_type, table, sizeof(Elf64_Sym));
    headers[1].sh_link = 2;
    headers[2] = section(SHT_STRTAB, names, 0);
    headers[3] = section(SHT_NOTE, note, 0);
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    head.e_shoff = bytes_.size();
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = 4;
    for (const Elf64_Shdr& header : headers) {
      append(bytes_, header);
    }
    std::memcpy(bytes_.data(), &head, sizeof head);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  static void append(std::string& to, const T& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  Elf64_Shdr section(std::uint32_t type, const std::string& content, std::uint64_t entry_size) {
    Elf64_Shdr header{};
    header.sh_type = type;
    header.sh_offset = bytes_.size();
    header.sh_size = content.size();
    header.sh_entsize = entry_size;
    bytes_ += content;
    return header;
  }

  std::string bytes_;
};

class SymbolIndexTest : public testing::Test {
 protected:
  /// The path of a file that holds these bytes and nothing else; the same one each time.
  std::string write(const std::string& bytes) {
    EXPECT_EQ(::ftruncate(file_.get(), 0), 0);
    EXPECT_EQ(::pwrite(file_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    return "/proc/self/fd/" + std::to_string(file_.get());
  }

  static BuildId id_of(const std::string& text) {
    BuildId id;
    id.size = text.size();
    std::memcpy(id.bytes.data(), text.data(), text.size());
    return id;
  }

  // In memory: thousands of versions of it are written.
  base::FileDescriptor file_{::memfd_create("module", MFD_CLOEXEC)};
};

TEST_F(SymbolIndexTest, NamesTheFunctionAtAnOffset) {
  const ElfFile file({{"second", 0x200, 0x40, function_of(STB_LOCAL)},
                      {"first", 0x100, 0x20, function_of(STB_GLOBAL)},
                      {"variable", 0x300, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)},
                      {"elsewhere", 0x400, 8, function_of(STB_GLOBAL), SHN_UNDEF},
                      {"versioned@@KYMO_1", 0x500, 8, function_of(STB_GLOBAL)}},
                     SHT_SYMTAB, "0123");
  const SymbolIndex index = SymbolIndex::read(write(file.bytes()), id_of("0123"));
  EXPECT_EQ(index.size(), 3U);
  EXPECT_EQ(index.name_at(0x100), "first");
  EXPECT_EQ(index.name_at(0x11F), "first");
  EXPECT_EQ(index.name_at(0x120), "");
  EXPECT_EQ(index.name_at(0x200), "second");
  EXPECT_EQ(index.name_at(0x500), "versioned");
  EXPECT_EQ(index.name_at(0x300), "");
  EXPECT_EQ(index.name_at(0xFF), "");
  EXPECT_EQ(index.name_at(~std::uint64_t{0}), "");
}

TEST_F(SymbolIndexTest, PrefersTheGlobalOfSeveralNames) {
  const ElfFile file({{"local", 0x100, 8, function_of(STB_LOCAL)},
                      {"global", 0x100, 8, function_of(STB_GLOBAL)},
                      {"weak", 0x100, 8, function_of(STB_WEAK)}},
                     SHT_SYMTAB, "");
  EXPECT_EQ(SymbolIndex::read(write(file.bytes()), {}).name_at(0x100), "global");
}

TEST_F(SymbolIndexTest, PrefersTheUsualOneOfAliases) {
  const auto name_of = [this](const std::vector<std::pair<std::string, unsigned char>>& names) {
    std::vector<Symbol> symbols;
    for (const auto& [name, binding] : names) {
      symbols.push_back({name, 0x100, 8, function_of(binding)});
    }
    const std::string found = SymbolIndex::read(write(ElfFile(symbols, SHT_SYMTAB, "").bytes()), {}).name_at(0x104);
    std::reverse(symbols.begin(), symbols.end());
    EXPECT_EQ(SymbolIndex::read(write(ElfFile(symbols, SHT_SYMTAB, "").bytes()), {}).name_at(0x104), found)
        << "whatever their order";
    return found;
  };
  EXPECT_EQ(name_of({{"__libc_malloc", STB_GLOBAL}, {"malloc", STB_GLOBAL}, {"__malloc", STB_GLOBAL}}), "malloc");
  EXPECT_EQ(name_of({{"__memcpy_avx_erms", STB_LOCAL}, {"__memmove_avx_erms", STB_LOCAL}}), "__memmove_avx_erms");
  EXPECT_EQ(name_of({{"write", STB_WEAK}, {"__write", STB_GLOBAL}, {"_write", STB_LOCAL}}), "__write");
  EXPECT_EQ(name_of({{"weak", STB_WEAK}, {"local", STB_LOCAL}}), "local");
  EXPECT_EQ(name_of({{"same_b", STB_LOCAL}, {"same_a", STB_LOCAL}}), "same_a");
  const ElfFile file({{"label", 0x100, 0, function_of(STB_GLOBAL)}, {"body", 0x100, 8, function_of(STB_LOCAL)}},
                     SHT_SYMTAB, "");
  EXPECT_EQ(SymbolIndex::read(write(file.bytes()), {}).name_at(0x104), "body") << "a name without size covers nothing";
}

TEST_F(SymbolIndexTest, TakesTheDynamicSymbolsOfAStrippedFile) {
  const ElfFile file({{"exported", 0x100, 8, function_of(STB_GLOBAL)}}, SHT_DYNSYM, "");
  EXPECT_EQ(SymbolIndex::read(write(file.bytes()), {}).name_at(0x100), "exported");
}

TEST_F(SymbolIndexTest, AFileOfAnotherBuildHasNoNames) {
  const ElfFile file({{"first", 0x100, 8, function_of(STB_GLOBAL)}}, SHT_SYMTAB, "0123");
  EXPECT_EQ(SymbolIndex::read(write(file.bytes()), id_of("0124")).size(), 0U);
  EXPECT_EQ(SymbolIndex::read(write(file.bytes()), id_of("01")).size(), 0U);
}

TEST_F(SymbolIndexTest, AFileReplacedSinceHasNoNames) {
  const ElfFile file({{"first", 0x100, 8, function_of(STB_GLOBAL)}}, SHT_SYMTAB, "");
  const SymbolIndex index = SymbolIndex::read(write(file.bytes()), {});
  write(file.bytes() + "more");
  EXPECT_EQ(index.name_at(0x100), "");
}

TEST_F(SymbolIndexTest, WhatIsNoFileHasNoNames) {
  EXPECT_EQ(SymbolIndex::read("/nonexistent", {}).size(), 0U);
  EXPECT_EQ(SymbolIndex::read("/dev/null", {}).size(), 0U);
  EXPECT_EQ(SymbolIndex::read("/tmp", {}).size(), 0U);
  EXPECT_EQ(SymbolIndex::read(write(""), {}).size(), 0U);
}

TEST_F(SymbolIndexTest, SurvivesTruncationAtEveryByte) {
  const ElfFile file({{"first", 0x100, 8, function_of(STB_GLOBAL)}}, SHT_SYMTAB, "0123");
  for (std::size_t size = 0; size < file.bytes().size(); ++size) {
    const SymbolIndex index = SymbolIndex::read(write(file.bytes().substr(0, size)), {});
    EXPECT_LE(index.size() * sizeof(Elf64_Sym), size);
    static_cast<void>(index.name_at(0x100));
  }
}

TEST_F(SymbolIndexTest, SurvivesDamage) {
  const ElfFile file({{"first", 0x100, 8, function_of(STB_GLOBAL)}, {"second", 0x200, 8, function_of(STB_LOCAL)}},
                     SHT_SYMTAB, "0123");
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = file.bytes();
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 4 == 0 ? 0xFF : random());
    }
    const SymbolIndex index = SymbolIndex::read(write(bytes), id_of("0123"));
    EXPECT_LE(index.size() * sizeof(Elf64_Sym), bytes.size());
    for (const std::uint64_t offset : {0x100U, 0x200U}) {
      EXPECT_LE(index.name_at(offset).size(), bytes.size());
    }
  }
}

__attribute__((noinline)) void a_function_of_this_program() {
  __asm__ volatile("");
}

TEST(FindLoadedModule, KnowsThisProgramAndItsSymbols) {
  const auto address = reinterpret_cast<std::uintptr_t>(&a_function_of_this_program);
  LoadedModule module;
  std::uint64_t unloads = 0;
  ASSERT_TRUE(find_loaded_module(address, module, unloads));
  EXPECT_STREQ(module.path, "");
  EXPECT_LE(module.begin, address);
  EXPECT_GT(module.end, address);
  const SymbolIndex index = SymbolIndex::read("/proc/self/exe", module.build_id);
  EXPECT_EQ(demangle(index.name_at(address - module.load_base)).qualified,
            "kymo::record::(anonymous namespace)::a_function_of_this_program");
}

TEST(FindLoadedModule, KnowsSharedLibraries) {
  void* const function = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  Dl_info known{};
  ASSERT_NE(dladdr(function, &known), 0);
  LoadedModule module;
  std::uint64_t unloads = 0;
  ASSERT_TRUE(find_loaded_module(reinterpret_cast<std::uintptr_t>(known.dli_saddr), module, unloads));
  EXPECT_STREQ(module.path, known.dli_fname);
  EXPECT_EQ(module.load_base, reinterpret_cast<std::uintptr_t>(known.dli_fbase));
}

TEST(FindLoadedModule, KnowsWhatBelongsToNone) {
  LoadedModule module;
  std::uint64_t unloads = 0;
  EXPECT_FALSE(find_loaded_module(0x10, module, unloads));
}

TEST(QualifiedName, LeavesOutReturnTypeParametersAndQualifiers) {
  const std::vector<std::pair<std::string, std::string>> names{
      {"main", "main"},
      {"f()", "f"},
      {"Renderer::draw(int, std::vector<int, std::allocator<int> > const&) const", "Renderer::draw"},
      {"void ns::scale<float>(float)", "ns::scale<float>"},
      {"std::enable_if<((4)>(3)), int>::type pick<int, 4>(int)", "pick<int, 4>"},
      {"Box<((1)<(2))> ns::less<((a)->*(b)), int>(int)", "ns::less<((a)->*(b)), int>"},
      {"unsigned long long const& ns::get<unsigned long>(unsigned long const&) &", "ns::get<unsigned long>"},
      {"Box::operator()(int) const", "Box::operator()"},
      {"Box::operator<<(int) const", "Box::operator<<"},
      {"Box::operator->() const", "Box::operator->"},
      {"bool operator< <int>(Box<int> const&, Box<int> const&)", "operator< <int>"},
      {"Box::operator bool() const", "Box::operator bool"},
      {"Box::operator unsigned int() const", "Box::operator unsigned int"},
      {"operator new(unsigned long)", "operator new"},
      {"operator delete[](void*)", "operator delete[]"},
      {"(anonymous namespace)::parse(char const*)", "(anonymous namespace)::parse"},
      {"void (anonymous namespace)::visit<Box>(Box&)", "(anonymous namespace)::visit<Box>"},
      {"calls(int)::{lambda(int)#1}::operator()(int) const", "calls(int)::{lambda(int)#1}::operator()"},
      {"outer()::Local::run(void (*)(int))", "outer()::Local::run"},
      {"Widget::~Widget()", "Widget::~Widget"},
      {"parse(char const*) [clone .constprop.0]", "parse"},
      {"f[abi:cxx11](int)", "f[abi:cxx11]"},
      {"operators(int)", "operators"},
      {"ns::my_operator(int)", "ns::my_operator"},
      {"Box<&(Box::operator<(int))>::run()", "Box<&(Box::operator<(int))>::run"},
      {"", ""},
      {"()", "()"},
      {")", ")"},
  };
  for (const auto& [full, qualified] : names) {
    EXPECT_EQ(qualified_name(full), qualified) << full;
  }
}

TEST(QualifiedName, SurvivesAnyText) {
  std::mt19937 random(1);
  const std::string alphabet = "operator<>()[]{} :~a&const";
  for (int round = 0; round < test::rounds(20'000); ++round) {
    std::string text;
    for (std::size_t size = random() % 24; size > 0; --size) {
      text += alphabet[random() % alphabet.size()];
    }
    EXPECT_NE(text.find(qualified_name(text)), std::string::npos);
  }
}

TEST(Demangle, KeepsWhatIsNotMangled) {
  EXPECT_EQ(demangle("parse").qualified, "parse");
  EXPECT_EQ(demangle("parse.constprop.0").qualified, "parse");
  EXPECT_EQ(demangle("parse.part.0.cold").qualified, "parse");
  EXPECT_EQ(demangle("parse.cold").qualified, "parse");
  EXPECT_EQ(demangle("main.parse.func1").qualified, "main.parse.func1") << "Go's names have dots";
  EXPECT_EQ(demangle("net/http.(*conn).serve").qualified, "net/http.(*conn).serve");
  EXPECT_EQ(demangle("main.partial").qualified, "main.partial");
  EXPECT_EQ(demangle("_Zwrong").qualified, "_Zwrong");
  EXPECT_EQ(demangle("_ZN8Renderer4drawEi").qualified, "Renderer::draw");
  EXPECT_EQ(demangle("_ZN8Renderer4drawEi").full, "Renderer::draw(int)");
}

TEST(MatchesPattern, AgreesWithTheShell) {
  std::mt19937 random(1);
  const auto text_of = [&](const std::string& alphabet, std::size_t longest) {
    std::string text;
    for (std::size_t size = random() % (longest + 1); size > 0; --size) {
      text += alphabet[random() % alphabet.size()];
    }
    return text;
  };
  for (int round = 0; round < 50'000; ++round) {
    const std::string pattern = text_of("ab:**?", 8);
    const std::string name = text_of("ab:", 10);
    EXPECT_EQ(base::fits_pattern(pattern, name), ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0)
        << pattern << " " << name;
  }
}

TEST(MatchesPattern, TakesQuadraticTimeAtMost) {
  const std::string name(20'000, 'a');
  EXPECT_FALSE(base::fits_pattern("*a*a*a*a*a*a*a*a*a*a*b", name));
}

}  // namespace
}  // namespace kymo::record
