#include <gtest/gtest.h>

#include "threads/stacks/address_spaces.hpp"

namespace kymo::threads {
namespace {

using Kind = KernelRecord::Kind;

KernelRecord task(Kind kind, std::uint32_t pid, std::uint32_t tid, std::uint32_t parent_pid) {
  KernelRecord record;
  record.kind = kind;
  record.pid = pid;
  record.tid = tid;
  record.parent_pid = parent_pid;
  return record;
}

KernelRecord mapping(std::uint32_t pid, std::uint64_t address, std::uint64_t size, std::uint64_t file_offset) {
  KernelRecord record;
  record.kind = Kind::mapped;
  record.pid = pid;
  record.address = address;
  record.size = size;
  record.file_offset = file_offset;
  return record;
}

/// "module+offset", or "none".
std::string place_of(const AddressSpaces& spaces, std::uint32_t pid, std::uint64_t address) {
  AddressSpaces::Place place;
  return spaces.find(pid, address, place) ? std::to_string(place.module) + "+" + std::to_string(place.file_offset)
                                          : "none";
}

TEST(AddressSpaces, AnAddressIsAPlaceInItsFile) {
  AddressSpaces spaces;
  spaces.map(mapping(1, 1000, 100, 40), 7);
  EXPECT_EQ(place_of(spaces, 1, 999), "none");
  EXPECT_EQ(place_of(spaces, 1, 1000), "7+40");
  EXPECT_EQ(place_of(spaces, 1, 1099), "7+139");
  EXPECT_EQ(place_of(spaces, 1, 1100), "none");
  EXPECT_EQ(place_of(spaces, 2, 1000), "none");
}

TEST(AddressSpaces, ANewMappingTakesThePlaceOfWhatItCovers) {
  AddressSpaces spaces;
  spaces.map(mapping(1, 1000, 100, 0), 1);
  spaces.map(mapping(1, 1200, 100, 0), 2);
  spaces.map(mapping(1, 1020, 10, 500), 3);  // inside the first
  EXPECT_EQ(place_of(spaces, 1, 1019), "1+19");
  EXPECT_EQ(place_of(spaces, 1, 1020), "3+500");
  EXPECT_EQ(place_of(spaces, 1, 1030), "1+30");
  spaces.map(mapping(1, 1090, 120, 0), 4);  // over the ends of two
  EXPECT_EQ(place_of(spaces, 1, 1089), "1+89");
  EXPECT_EQ(place_of(spaces, 1, 1205), "4+115");
  EXPECT_EQ(place_of(spaces, 1, 1210), "2+10");
  spaces.map(mapping(1, 900, 1000, 0), 5);  // over everything
  EXPECT_EQ(place_of(spaces, 1, 1000), "5+100");
  EXPECT_EQ(place_of(spaces, 1, 1250), "5+350");
}

TEST(AddressSpaces, AMappingBeyondTheLastAddressIsIgnored) {
  AddressSpaces spaces;
  spaces.map(mapping(1, ~std::uint64_t{0} - 10, 100, 0), 1);
  spaces.map(mapping(1, 50, 0, 0), 1);
  EXPECT_EQ(place_of(spaces, 1, ~std::uint64_t{0}), "none");
  EXPECT_EQ(place_of(spaces, 1, 50), "none");
}

TEST(AddressSpaces, AForkSharesUntilEitherChanges) {
  AddressSpaces spaces;
  spaces.map(mapping(1, 1000, 100, 0), 1);
  spaces.take(task(Kind::forked, 2, 2, 1));
  EXPECT_EQ(place_of(spaces, 2, 1000), "1+0");
  spaces.map(mapping(2, 1000, 100, 0), 2);
  EXPECT_EQ(place_of(spaces, 1, 1000), "1+0");
  EXPECT_EQ(place_of(spaces, 2, 1000), "2+0");
}

TEST(AddressSpaces, AnExecBeginsAnewAndANameDoesNot) {
  AddressSpaces spaces;
  spaces.map(mapping(1, 1000, 100, 0), 1);
  KernelRecord named = task(Kind::named, 1, 1, 0);
  spaces.take(named);
  EXPECT_EQ(place_of(spaces, 1, 1000), "1+0");
  named.is_exec = true;
  spaces.take(named);
  EXPECT_EQ(place_of(spaces, 1, 1000), "none");
}

TEST(AddressSpaces, AProcessIsForgottenWithItsLastThread) {
  AddressSpaces spaces;
  spaces.map(mapping(1, 1000, 100, 0), 1);
  spaces.take(task(Kind::forked, 1, 5, 1));
  spaces.take(task(Kind::exited, 1, 1, 0));
  EXPECT_EQ(place_of(spaces, 1, 1000), "1+0") << "its first thread ended before the other";
  spaces.take(task(Kind::exited, 1, 5, 0));
  EXPECT_EQ(place_of(spaces, 1, 1000), "none");
}

}  // namespace
}  // namespace kymo::threads
