// Protection of memory pages: read, and lifted while a virtual table is written.

#pragma once

#include <cstdint>
#include <cstdio>

#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#include <mach/mach_vm.h>
#endif

namespace gradaudit {
namespace {

struct Protection {
  bool known = false;
  int flags = 0;
};

#if defined(__APPLE__)

Protection protection_of(const void* address) {
  mach_vm_address_t start = reinterpret_cast<mach_vm_address_t>(address);
  mach_vm_size_t size = 0;
  vm_region_basic_info_data_64_t info;
  mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
  mach_port_t object;
  kern_return_t result = mach_vm_region(
      mach_task_self(), &start, &size, VM_REGION_BASIC_INFO_64, reinterpret_cast<vm_region_info_t>(&info), &count, &object);
  return {result == KERN_SUCCESS, static_cast<int>(info.protection)};
}

constexpr int executable_flag = VM_PROT_EXECUTE;

// The table lies in a read-only const segment, which must be copied before it can be written. Written from Apple's
// documentation and not run.
bool protect(void* start, size_t size, int flags, bool writable) {
  vm_prot_t wanted = writable ? VM_PROT_READ | VM_PROT_WRITE | VM_PROT_COPY : flags;
  auto address = reinterpret_cast<mach_vm_address_t>(start);
  return mach_vm_protect(mach_task_self(), address, size, FALSE, wanted) == KERN_SUCCESS;
}

#else

Protection protection_of(const void* address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  Protection result;
  char line[4096];
  while (maps && std::fgets(line, sizeof line, maps)) {
    unsigned long first, last;
    char flags[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &first, &last, flags) != 3) {
      continue;
    }
    auto at = reinterpret_cast<uintptr_t>(address);
    if (first <= at && at < last) {
      int bits = (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) |
          (flags[2] == 'x' ? PROT_EXEC : 0);
      result = {true, bits};
      break;
    }
  }
  if (maps) {
    std::fclose(maps);
  }
  return result;
}

constexpr int executable_flag = PROT_EXEC;

bool protect(void* start, size_t size, int flags, bool writable) {
  return mprotect(start, size, writable ? flags | PROT_WRITE : flags) == 0;
}

#endif

} // namespace
} // namespace gradaudit
