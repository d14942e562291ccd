// The ground of a program that runs on glibc and on Android's C library alike: it is built without the startup code,
// the C++ library and the symbol versions of either, calls nothing but plain functions that both have, and never
// throws.
#pragma once

#include <cstdlib>
#include <new>

extern "C" {
[[noreturn]] void _exit(int);
[[noreturn]] __attribute__((used)) void kw_begin(long* stack);
int kw_main(int argc, char** argv);

// Where the system begins: the count of arguments lies on the stack, they themselves above it.
#if defined(__x86_64__)
asm(".globl kw_start\nkw_start: xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call kw_begin\n");
#elif defined(__aarch64__)
asm(".globl kw_start\nkw_start: mov x29, #0\n mov x30, #0\n mov x0, sp\n bl kw_begin\n");
#elif defined(__riscv)
asm(".globl kw_start\nkw_start: mv a0, sp\n andi sp, sp, -16\n call kw_begin\n");
#endif

void kw_begin(long* stack) { _exit(kw_main(static_cast<int>(stack[0]), reinterpret_cast<char**>(stack + 1))); }
void __cxa_pure_virtual() { _exit(3); }
}

inline void* kw_room(std::size_t bytes) {
  void* room = std::malloc(bytes > 0 ? bytes : 1);
  if (room == nullptr) _exit(4);
  return room;
}
void* operator new(std::size_t bytes) { return kw_room(bytes); }
void* operator new[](std::size_t bytes) { return kw_room(bytes); }
void operator delete(void* room) noexcept { std::free(room); }
void operator delete[](void* room) noexcept { std::free(room); }
void operator delete(void* room, std::size_t) noexcept { std::free(room); }
void operator delete[](void* room, std::size_t) noexcept { std::free(room); }

// What the containers' code calls where it would throw.
namespace std {
void __throw_length_error(const char*) { _exit(5); }
void __throw_logic_error(const char*) { _exit(5); }
void __throw_bad_alloc() { _exit(4); }
void __throw_bad_array_new_length() { _exit(4); }
void __throw_out_of_range(const char*) { _exit(5); }
void __throw_out_of_range_fmt(const char*, ...) { _exit(5); }
}  // namespace std
