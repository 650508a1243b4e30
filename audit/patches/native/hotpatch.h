// Puts a rule of our own in place of a primitive's vjp and jvp in the MLX library that is loaded.
//
// `Primitive::vjp` and `Primitive::jvp` are virtual, so a primitive's rule is two pointers in its virtual table. The
// table is read from an array made with the operation; the slots come from decoded pointers to members. Before a byte
// is touched the decoder, the name of the primitive, and the functions under the slots are checked, and anything that
// is not as expected is a message.
//
// Not safe while another thread records operations with the same primitive: it may see one rule for vjp and the other
// for jvp. Each pointer by itself is replaced atomically.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "mlx/mlx.h"
#include "mlx/primitives.h"

#if (defined(__x86_64__) || defined(__aarch64__)) && (defined(__linux__) || defined(__APPLE__))
#define GRADAUDIT_KNOWN_PLATFORM 1
#include "abi.h"
#include "memory.h"
#else
#define GRADAUDIT_KNOWN_PLATFORM 0
#endif

namespace gradaudit {
// Each patch is a library of its own: nothing here may be merged with the other's copy at load time.
namespace {

using Arrays = std::vector<mlx::core::array>;
using Vjp = Arrays (*)(mlx::core::Primitive*, const Arrays&, const Arrays&, const std::vector<int>&, const Arrays&);
using Jvp = Arrays (*)(mlx::core::Primitive*, const Arrays&, const Arrays&, const std::vector<int>&);

// What a patch gives.
struct Rule {
  const char* patch; // name of the patch, e.g. "mlx+divide"
  const char* primitive; // what Primitive::name() must say
  mlx::core::array (*example)(); // an array made by the primitive
  Vjp vjp;
  Jvp jvp;
};

enum Status { done = 0, refused = 1, occupied = 2 };

struct Answer {
  Status status = done;
  std::string message;
};

// The rule that was found in the table; call these for operands that the patch leaves alone.
struct Original {
  Vjp vjp = nullptr;
  Jvp jvp = nullptr;
};
Original original;

#if GRADAUDIT_KNOWN_PLATFORM

// A primitive without a rule: its table holds the base class's functions, as the headers lay them out.
struct Ruleless final : mlx::core::Primitive {
  using mlx::core::Primitive::Primitive;
  void eval_cpu(const Arrays&, Arrays&) override {}
  void eval_gpu(const Arrays&, Arrays&) override {}
  const char* name() const override { return "Ruleless"; }
};

// Name of the patch that a function belongs to, or "".
std::string patch_of(const void* function) {
  std::string file = object_of(function);
  void* handle = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) {
    return "";
  }
  auto name = reinterpret_cast<const char* (*)()>(dlsym(handle, "gradaudit_name"));
  std::string result = name ? name() : "";
  dlclose(handle);
  return result;
}

// Where a primitive's rule lies in memory.
struct Place {
  void** vjp = nullptr;
  void** jvp = nullptr;
};

int vjp_slot() {
  return slot_of(&mlx::core::Primitive::vjp);
}

int jvp_slot() {
  return slot_of(&mlx::core::Primitive::jvp);
}

Place place_in(mlx::core::Primitive* primitive) {
  void** table = table_of(primitive);
  return {table + vjp_slot(), table + jvp_slot()};
}

Answer refuse(const std::string& message) {
  return {refused, message};
}

bool holds(const Place& place, const Rule& rule) {
  return *place.vjp == bits_as<void*>(rule.vjp) && *place.jvp == bits_as<void*>(rule.jvp);
}

// Whether this compiler, these headers and the library that is loaded agree on how virtual functions are laid out.
Answer check_layout() {
  using mlx::core::Primitive;
  if (slot_of(&Known::zero) != 0 || slot_of(&Known::one) != 1 || slot_of(&Known::two) != 2 ||
      slot_of(&Known::none) != -1) {
    return refuse("pointers to virtual members are not laid out here as the C++ ABI of this platform says");
  }
  std::string compiled = std::to_string(MLX_VERSION_MAJOR) + "." + std::to_string(MLX_VERSION_MINOR) + "." +
      std::to_string(MLX_VERSION_PATCH);
  std::string loaded = mlx::core::version();
  if (loaded.rfind(compiled, 0) != 0) {
    return refuse("MLX's headers are " + compiled + ", but the library loaded is " + loaded);
  }
  if (vjp_slot() < 0 || jvp_slot() < 0 || vjp_slot() == jvp_slot()) {
    return refuse("Primitive::vjp and Primitive::jvp are not two virtual functions");
  }
  // The library's own idea of the slots: View has no rule, so its table holds the base class's functions there.
  auto view = mlx::core::view(mlx::core::array(1.0f), mlx::core::uint32);
  Place actual = place_in(&view.primitive());
  Ruleless ruleless(view.primitive().stream());
  Place expected = place_in(&ruleless);
  if (*actual.vjp != *expected.vjp || *actual.jvp != *expected.jvp) {
    return refuse("MLX's virtual tables are not laid out as its headers say");
  }
  return {};
}

// Whether the functions in the table are MLX's own.
Answer check_functions(const Rule& rule, const Place& place) {
  // Remembered: the memory map is long, and a patch may be put in and taken off thousands of times.
  static Original verified;
  Original found{bits_as<Vjp>(*place.vjp), bits_as<Jvp>(*place.jvp)};
  if (found.vjp == verified.vjp && found.jvp == verified.jvp) {
    return {};
  }
  auto view = mlx::core::view(mlx::core::array(1.0f), mlx::core::uint32);
  Place base = place_in(&view.primitive());
  std::string library = object_of(*base.vjp);
  for (void* function : {*place.vjp, *place.jvp}) {
    std::string other = patch_of(function);
    if (!other.empty()) {
      return {occupied, "the patch " + other + " is in place of " + rule.primitive + "'s rule; take it off first"};
    }
    std::string file = object_of(function);
    Protection text = protection_of(function);
    if (file != library || !text.known || !(text.flags & executable_flag)) {
      return refuse(
          std::string(rule.primitive) + "'s virtual table has changed: a rule in it lies in " +
          (file.empty() ? "unknown memory" : file) + ", not in MLX's library " + library);
    }
  }
  if (*place.vjp == *place.jvp || *place.vjp == *base.vjp || *place.jvp == *base.jvp) {
    return refuse(std::string(rule.primitive) + " has no rule of its own for vjp and jvp");
  }
  verified = found;
  return {};
}

Answer find(const Rule& rule, Place& place) {
  Answer layout = check_layout();
  if (layout.status != done) {
    return layout;
  }
  auto example = rule.example();
  if (!example.has_primitive() || std::strcmp(example.primitive().name(), rule.primitive) != 0) {
    std::string found = example.has_primitive() ? example.primitive().name() : "no primitive";
    return refuse("the operation makes the primitive " + found + ", not " + rule.primitive);
  }
  place = place_in(&example.primitive());
  return holds(place, rule) ? Answer{} : check_functions(rule, place);
}

Answer write(const Place& place, void* vjp, void* jvp) {
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto low = reinterpret_cast<uintptr_t>(std::min(place.vjp, place.jvp)) / page * page;
  auto high = reinterpret_cast<uintptr_t>(std::max(place.vjp, place.jvp) + 1);
  auto start = reinterpret_cast<void*>(low);
  size_t size = (high - low + page - 1) / page * page;
  // The loader makes the table read-only once, so what is read first stays true.
  static const Protection before = protection_of(place.vjp);
  if (!before.known || !protect(start, size, before.flags, true)) {
    return refuse("the memory of MLX's virtual table cannot be made writable here");
  }
  __atomic_store_n(place.vjp, vjp, __ATOMIC_RELEASE);
  __atomic_store_n(place.jvp, jvp, __ATOMIC_RELEASE);
  // Should this fail, the memory stays writable, which changes nothing of what the table does.
  protect(start, size, before.flags, false);
  return {};
}

Answer check(const Rule& rule) {
  Place place;
  return find(rule, place);
}

Answer install(const Rule& rule) {
  Place place;
  Answer answer = find(rule, place);
  if (answer.status != done) {
    return answer;
  }
  if (holds(place, rule)) {
    return {occupied, std::string("the patch ") + rule.patch + " is in place already"};
  }
  original = {bits_as<Vjp>(*place.vjp), bits_as<Jvp>(*place.jvp)};
  return write(place, bits_as<void*>(rule.vjp), bits_as<void*>(rule.jvp));
}

bool installed(const Rule& rule) {
  Place place;
  return find(rule, place).status == done && holds(place, rule);
}

Answer remove(const Rule& rule) {
  Place place;
  Answer answer = find(rule, place);
  if (answer.status != done) {
    return answer;
  }
  if (!holds(place, rule)) {
    return refuse(std::string("the patch ") + rule.patch + " is not in place");
  }
  return write(place, bits_as<void*>(original.vjp), bits_as<void*>(original.jvp));
}

#else

Answer unknown() {
  return {refused, "hot patches are written for Linux and macOS on x86-64 and AArch64 only"};
}
Answer check(const Rule&) { return unknown(); }
Answer install(const Rule&) { return unknown(); }
Answer remove(const Rule&) { return unknown(); }
bool installed(const Rule&) { return false; }

#endif

Answer guarded(Answer (*step)(const Rule&), const Rule& rule) {
  try {
    return step(rule);
  } catch (const std::exception& error) {
    return {refused, std::string("MLX raised: ") + error.what()};
  }
}

std::string last_message;

int report(const Answer& answer) {
  last_message = answer.message;
  return answer.status;
}

} // namespace
} // namespace gradaudit

#define GRADAUDIT_EXPORT extern "C" __attribute__((visibility("default")))

// Exports a rule: each function returns a Status, and gradaudit_message() says more about the last one.
#define GRADAUDIT_PATCH(rule)                                                                                \
  GRADAUDIT_EXPORT const char* gradaudit_name() { return (rule).patch; }                                     \
  GRADAUDIT_EXPORT const char* gradaudit_message() { return gradaudit::last_message.c_str(); }               \
  GRADAUDIT_EXPORT int gradaudit_check() { return gradaudit::report(gradaudit::guarded(gradaudit::check, rule)); } \
  GRADAUDIT_EXPORT int gradaudit_install() {                                                                 \
    return gradaudit::report(gradaudit::guarded(gradaudit::install, rule));                                  \
  }                                                                                                          \
  GRADAUDIT_EXPORT int gradaudit_remove() { return gradaudit::report(gradaudit::guarded(gradaudit::remove, rule)); } \
  GRADAUDIT_EXPORT int gradaudit_installed() { return gradaudit::installed(rule); }
