// How this platform's C++ ABI lays out virtual functions, and which object file an address belongs to.

#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include <dlfcn.h>

namespace gradaudit {
namespace {

template <typename To, typename From>
To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Slot of a virtual member function, or -1 if the pointer is not to a virtual one. In the Itanium C++ ABI (section
// 2.3) such a pointer is an offset into the virtual table and an adjustment of `this`; what marks it as virtual is the
// lowest bit of the offset, and on AArch64 (C++ ABI for the Arm 64-bit architecture) that of the adjustment.
template <typename Member>
int slot_of(Member member) {
  struct Words {
    uintptr_t pointer;
    uintptr_t adjustment;
  };
  auto words = bits_as<Words>(member);
#if defined(__aarch64__)
  bool is_virtual = words.adjustment == 1;
  uintptr_t offset = words.pointer;
#else
  bool is_virtual = words.adjustment == 0 && (words.pointer & 1);
  uintptr_t offset = words.pointer - 1;
#endif
  return is_virtual && offset % sizeof(void*) == 0 ? static_cast<int>(offset / sizeof(void*)) : -1;
}

// A class whose slots are known: 0, 1 and 2.
struct Known {
  virtual int zero() { return 0; }
  virtual int one(int, int) { return 1; }
  virtual int two() const { return 2; }
  int none() { return 3; }
};

void** table_of(void* object) {
  return *static_cast<void***>(object);
}

std::string object_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

} // namespace
} // namespace gradaudit
