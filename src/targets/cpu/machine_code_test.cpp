#include "targets/cpu/machine_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "targets/cpu/control_flow.h"
#include "targets/cpu/cycle_model.h"

namespace kw::cpu {
namespace {

// As objdump shows a loop of clang's: eight floats a turn, a call and a spill.
TEST(MachineCode, SeesWhatALoopDoes) {
  const MachineCode code = loops_in(R"(
0000000000001100 <kw_run>:
kernel.cpp:12
    1100:	xor    %eax,%eax
kernel.cpp:14 (discriminator 2)
    1102:	vmovups (%rdi,%rax,4),%ymm0
    1107:	vmovaps %ymm1,0x20(%rsp)
    110d:	vfmadd213ps (%rsi,%rax,4),%ymm2,%ymm0
/kw/kernelwright.h:300
    1113:	vmovups %ymm0,(%rdx,%rax,4)
kernel.cpp:15
    1118:	call   1030 <expf@plt>
    111d:	add    $0x8,%rax
    1121:	cmp    %rcx,%rax
    1124:	jb     1102 <kw_run+0x2>
    1126:	addss  %xmm0,%xmm1
    112a:	jne    1126 <kw_run+0x26>
    112c:	jmp    1100 <kw_run>
)");
  ASSERT_EQ(code.loops.size(), 2u);
  const Loop& loop = code.loops[0];
  EXPECT_EQ(loop.instructions, 8);
  EXPECT_EQ(loop.depth, 2);
  EXPECT_EQ(loop.vector_bits, 256);
  EXPECT_TRUE(loop.vectorised());
  EXPECT_EQ(loop.fused, 1);
  EXPECT_EQ(loop.spills, 1);
  EXPECT_EQ(loop.stores, 2);
  EXPECT_EQ(loop.first_line, 14);
  EXPECT_EQ(loop.last_line, 15);
  EXPECT_EQ(loop.calls, std::vector<std::string>{"expf"});
  EXPECT_FALSE(code.loops[1].vectorised());
  EXPECT_NE(as_text(code).find("(SPILLS)"), std::string::npos);
  EXPECT_NE(as_text(code).find("CALLS expf"), std::string::npos);
  EXPECT_NE(as_text(code).find("(lines 14 to 15), 2 deep"), std::string::npos) << as_text(code);
}

// The rest of a row lies between the addresses of a loop and is no part of it: control leaves from there.
TEST(MachineCode, LeavesOutWhatLiesInALoopAndIsNotRunThere) {
  const MachineCode code = loops_in(R"(
0000000000001000 <kw_run>:
    1000:	vmovups (%rdi),%zmm0
    1004:	vaddps (%rsi),%zmm0,%zmm0
    1008:	cmp    %rcx,%rax
    100c:	jae    1020 <kw_run+0x20>
    1010:	vmovaps %zmm1,0x40(%rsp)
    1014:	vmovaps %zmm2,0x80(%rsp)
    1018:	ret
    1020:	vmovups %zmm0,(%rdi)
    1024:	jmp    1000 <kw_run>
)");
  ASSERT_EQ(code.loops.size(), 1u);
  EXPECT_EQ(code.loops[0].spills, 0) << "the tail's";
  EXPECT_EQ(code.loops[0].instructions, 6);
  EXPECT_EQ(code.loops[0].depth, 1);
}

TEST(MachineCode, LeavesOutWhatIsNotTimed) {
  const MachineCode code = loops_in(R"(
0000000000001000 <pack(float*)>:
    1000:	vmulps %ymm0,%ymm1,%ymm1
    1004:	jne    1000 <pack(float*)>
    1006:	ret
0000000000001100 <row(float*)>:
    1100:	vmaxps %ymm0,%ymm1,%ymm1
    1104:	jne    1100 <row(float*)>
    1106:	ret
0000000000001200 <kw_run>:
    1200:	call   1100 <row(float*)>
    1204:	jne    1200 <kw_run>
    1206:	ret
0000000000001300 <kw_prepare>:
    1300:	call   1000 <pack(float*)>
    1304:	jne    1300 <kw_prepare>
    1306:	ret
)");
  ASSERT_EQ(code.loops.size(), 2u) << as_text(code);
  EXPECT_EQ(code.loops[0].function, "row(float*)");
  EXPECT_EQ(code.loops[0].depth, 2) << "called in a loop";
  EXPECT_EQ(code.loops[0].vector_arithmetic, 1) << "a maximum is arithmetic";
  EXPECT_EQ(code.loops[1].function, "kw_run");
}

TEST(MachineCode, CountsComparisonsAndSelections) {
  const MachineCode code = loops_in(R"(
0000000000001000 <kw_run>:
    1000:	vcmpltps (%rdi),%zmm0,%k1
    1004:	vblendmps %zmm1,%zmm2,%zmm3{%k1}
    1008:	vpminsd %ymm1,%ymm2,%ymm3
    100c:	vpxor  %xmm1,%xmm1,%xmm1
    1010:	jne    1000 <kw_run>
)");
  ASSERT_EQ(code.loops.size(), 1u);
  EXPECT_EQ(code.loops[0].vector_arithmetic, 3) << "a zero is none";
  EXPECT_EQ(code.loops[0].scalar_arithmetic, 0);
  EXPECT_EQ(code.loops[0].vector_bits, 512);
}

TEST(MachineCode, PutsAMainLoopBeforeItsRest) {
  const MachineCode code = loops_in(R"(
0000000000001000 <kw_run>:
    1000:	addss  (%rdi),%xmm0
    1004:	jne    1000 <kw_run>
    1006:	vaddps (%rdi),%zmm0,%zmm0
    100a:	jne    1006 <kw_run+0x6>
    100c:	ret
)");
  ASSERT_EQ(code.loops.size(), 2u);
  EXPECT_TRUE(code.loops[0].vectorised());
}

// The deepest loop need not be where the time goes.
TEST(MachineCode, IsModelledWhereItMultipliesMostToo) {
  MachineCode code;
  code.loops.resize(8);
  code.loops[1].straight = false;
  code.loops[4].products = 16;
  code.loops[5].products = 48;
  code.loops[6].products = 48;
  code.loops[7].products = 96;
  code.loops[7].calls = {"expf"};
  EXPECT_EQ(loops_to_model(code), (std::vector<std::size_t>{0, 2, 5}));
  code.loops.resize(2);
  EXPECT_EQ(loops_to_model(code), (std::vector<std::size_t>{0}));
}

TEST(MachineCode, RanksLoopsByTheirShareOfTheTime) {
  const std::string text = R"(
0000000000001000 <kw_run>:
kernel.cpp:5
    1000:	addss  (%rdi),%xmm0
    1004:	jne    1000 <kw_run>
kernel.cpp:9
    1006:	vaddps (%rdi),%zmm0,%zmm0
    100a:	jne    1006 <kw_run+0x6>
    100c:	jne    1006 <kw_run+0x6>
    100e:	ret
)";
  std::vector<std::uint64_t> samples(60, 0x1004);
  samples.insert(samples.end(), 20, 0x1006);
  samples.insert(samples.end(), 10, 0x100e);
  samples.insert(samples.end(), 10, 0x7fff12345678);
  const MachineCode code = loops_in(text, samples);
  ASSERT_EQ(code.loops.size(), 2u);
  EXPECT_EQ(code.loops[0].first_line, 5) << as_text(code);
  EXPECT_NEAR(*code.loops[0].share, 0.6, 1e-9);
  EXPECT_NEAR(code.outside, 0.1, 1e-9);
  const std::string said = as_text(code);
  EXPECT_NE(said.find("by their share of its time, from 100 samples"), std::string::npos) << said;
  EXPECT_NE(said.find("(line 5), 60 % of the time, 1 deep"), std::string::npos) << said;
  MachineCode named = code;
  named.loops[0].function = "kw_run_body(kw::Call&) [clone .constprop.0]";
  named.loops[1].function = "exact_row(float const*, long, double, float const*)";
  EXPECT_NE(as_text(named).find("loop 1 (line 5)"), std::string::npos) << "an author knows no kw_run_body";
  EXPECT_NE(as_text(named).find("loop 2 in exact_row (line 9)"), std::string::npos) << as_text(named);
  EXPECT_NE(said.find("outside of innermost loops: 10 % of the time"), std::string::npos) << said;
  EXPECT_NE(said.find("in functions of libraries (the C library's, say): 10 % of the time"), std::string::npos) << said;
  // A few samples say nothing, and nothing is said.
  samples.resize(20);
  EXPECT_EQ(loops_in(text, samples).loops[0].first_line, 9);
  EXPECT_NE(as_text(loops_in(text, samples)).find("is not measured"), std::string::npos);
}

TEST(ControlFlow, GuessesNothingAboutJumpsThroughTables) {
  const auto functions = functions_in(R"(
0000000000001000 <kw_run>:
    1000:	jmp    *%rax
    1002:	addss  %xmm0,%xmm1
    1006:	jne    1002 <kw_run+0x2>
    1008:	ret
)");
  EXPECT_TRUE(natural_loops(functions.at(0)).empty());
}

// As objdump shows a kernel for aarch64, of which a device's own objdump says the format.
std::string for_arm(const std::string& text) { return "kernel:     file format elf64-littleaarch64\n" + text; }

TEST(MachineCodeOfArm, SeesWhatALoopDoes) {
  const MachineCode code = loops_in(for_arm(R"(
0000000000400340 <expf@plt>:
  400340:	adrp	x16, 420000 <expf@GLIBC_2.27>
  40034c:	br	x17
0000000000400350 <kw_run>:
kernel.cpp:12
  400350:	cmp	w3, #0x3
  400354:	b.eq	40049c <kw_run+0x14c>  // b.none
kernel.cpp:14
  400408:	ldp	q1, q4, [x19]
  40040c:	mov	v0.16b, v2.16b
  400410:	fmla	v0.4s, v1.4s, v3.s[0]
  400412:	str	q7, [sp, #32]
  400414:	str	q0, [x21, x0]
  400418:	add	x0, x0, #0x10
  400420:	b.ne	400408 <kw_run+0xb8>  // b.any
  400424:	ldr	s0, [x19], #4
  400428:	fadd	s8, s8, s0
  40042c:	bl	400340 <expf@plt>
  400430:	cbnz	x1, 400424 <kw_run+0xd4>
  40049c:	mov	w0, #0xffffffff            	// #-1
  4004a0:	ret
)"));
  ASSERT_EQ(code.loops.size(), 2u) << as_text(code);
  const Loop& loop = code.loops[0];
  EXPECT_EQ(loop.instructions, 7);
  EXPECT_EQ(loop.vector_bits, 128);
  EXPECT_EQ(loop.vector_arithmetic, 1) << "a move is none";
  EXPECT_EQ(loop.fused, 1);
  EXPECT_EQ(loop.products, 4);
  EXPECT_EQ(loop.loads, 1);
  EXPECT_EQ(loop.stores, 2);
  EXPECT_EQ(loop.spills, 1);
  EXPECT_EQ(loop.read_bytes, 32) << "two vectors";
  EXPECT_EQ(loop.written_bytes, 16) << "what goes to the stack is none";
  EXPECT_EQ(loop.first_line, 14);
  EXPECT_EQ(work_of(loop).unit, "multiply-add");
  EXPECT_NE(loop.code.find("b.ne turn"), std::string::npos) << loop.code;
  EXPECT_FALSE(code.loops[1].vectorised());
  EXPECT_EQ(code.loops[1].calls, std::vector<std::string>{"expf"});
  EXPECT_NE(code.loops[1].code.find("cbnz x1, turn"), std::string::npos) << code.loops[1].code;
}

// A function whose address is taken (work for threads) may run in a call: adrp and add make the address.
TEST(MachineCodeOfArm, FollowsAddressesOfFunctions) {
  const MachineCode code = loops_in(for_arm(R"(
0000000000400100 <body(void*)>:
  400100:	fmax	v0.4s, v0.4s, v1.4s
  400104:	cbnz	x1, 400100 <body(void*)>
  400108:	ret
0000000000400200 <unused(void*)>:
  400200:	fmin	v0.4s, v0.4s, v1.4s
  400204:	cbnz	x1, 400200 <unused(void*)>
  400208:	ret
0000000000400300 <kw_run>:
  400300:	adrp	x0, 400000 <_init>
  400304:	add	x0, x0, #0x100
  400308:	b	400400 <each@plt>
)"));
  ASSERT_EQ(code.loops.size(), 1u) << as_text(code);
  EXPECT_EQ(code.loops[0].function, "body(void*)");
}

TEST(MachineCodeOfArm, CountsDotProductsAndSums) {
  const MachineCode code = loops_in(for_arm(R"(
0000000000400100 <kw_run>:
  400100:	ld1	{v0.16b-v3.16b}, [x0], #64
  400104:	sdot	v4.4s, v0.16b, v1.16b
  400108:	zip1	v5.4s, v4.4s, v4.4s
  40010c:	faddp	s6, v5.2s
  400110:	fdiv	s6, s6, s7
  400114:	tbnz	w1, #3, 400100 <kw_run>
  400118:	ret
)"));
  ASSERT_EQ(code.loops.size(), 1u);
  const Loop& loop = code.loops[0];
  EXPECT_EQ(loop.products, 16);
  EXPECT_EQ(loop.read_bytes, 64);
  EXPECT_EQ(loop.vector_arithmetic, 2) << "the dot product and the sum, not the shuffle";
  EXPECT_EQ(loop.scalar_arithmetic, 1);
  EXPECT_EQ(loop.divisions, 1);
  EXPECT_NE(loop.code.find("tbnz w1, #3, turn"), std::string::npos) << loop.code;
}

TEST(MachineCode, OfOtherProcessorsSaysSo) {
  const MachineCode code = loops_in("kernel: file format elf64-powerpcle\n");
  EXPECT_NE(code.missing, "");
  EXPECT_EQ(as_text(code), "");
}

TEST(MachineCodeOfRiscV, SeesWhatALoopDoes) {
  const MachineCode code = loops_in(R"(kernel:     file format elf64-littleriscv
0000000000010100 <body(void*)>:
kernel.cpp:14
   10100:	flw	fa5,0(a5)
   10104:	fmadd.s	fa4,fa5,fa3,fa4
   10106:	fmv.s	fa2,fa4
   10108:	fsw	fa4,8(sp)
   1010a:	fsd	fa4,0(a4)
   1010e:	add	a5,a5,4
   10110:	bne	a5,a3,10100 <body(void*)>
   10114:	fdiv.s	fa4,fa4,fa5
   10116:	jal	10300 <expf@plt>
   1011a:	bnez	a0,10114 <body(void*)+0x14>
   1011c:	ret
0000000000010200 <kw_run>:
   10200:	auipc	a0,0x0
   10204:	addi	a0,a0,-256 # 10100 <body(void*)>
   10208:	j	10400 <each@plt>
)");
  ASSERT_EQ(code.loops.size(), 2u) << as_text(code);
  const Loop& loop = code.loops[0];
  EXPECT_EQ(loop.function, "body(void*)") << "its address is taken";
  EXPECT_EQ(loop.instructions, 7);
  EXPECT_FALSE(loop.vectorised());
  EXPECT_EQ(loop.scalar_arithmetic, 1) << "a move is none";
  EXPECT_EQ(loop.products, 1);
  EXPECT_EQ(loop.loads, 1);
  EXPECT_EQ(loop.stores, 2);
  EXPECT_EQ(loop.read_bytes, 4);
  EXPECT_EQ(loop.written_bytes, 8) << "what goes to the stack is none";
  EXPECT_EQ(loop.first_line, 14);
  EXPECT_NE(loop.code.find("bne a5,a3, turn"), std::string::npos) << loop.code;
  EXPECT_EQ(code.loops[1].calls, std::vector<std::string>{"expf"});
  EXPECT_EQ(code.loops[1].divisions, 1);
}

TEST(CycleModel, SaysWhoseModelLlvmTakes) {
  const std::string loops[] = {"turn:\nldr q0, [x0], #16\nfmla v1.4s, v0.4s, v2.4s\nsubs x1, x1, #0x1\nb.ne turn\n",
                               "turn:\nfadd v1.4s, v1.4s, v2.4s\ncbnz x0, turn\n"};
  const auto small = cycles_of(loops, {.core = "cortex-a55", .triple = "aarch64-linux-gnu"});
  if (!small.ok()) GTEST_SKIP() << small.error().message;
  ASSERT_TRUE(small->loops[0].has_value() && small->loops[1].has_value());
  EXPECT_GT(small->loops[0]->of_a_turn, 1);
  EXPECT_EQ(small->model.find("takes its model"), std::string::npos) << small->model;
  EXPECT_NE(small->model.find("cortex-a55"), std::string::npos) << small->model;
  const auto nobody = cycles_of(loops, {.core = "cortex-a999", .triple = "aarch64-linux-gnu"});
  ASSERT_FALSE(nobody.ok());
  EXPECT_NE(nobody.error().message.find("knows no core"), std::string::npos) << nobody.error().message;
}

TEST(CycleModel, IsOfThisCoreOrNone) {
  const auto cpu = [](const char* vendor, int family, int model) {
    return fmt::format("processor\t: 0\nvendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\nmodel name\t: x\n", vendor,
                       family, model);
  };
  EXPECT_EQ(modelled_core(cpu("GenuineIntel", 6, 85), 14), "skylake-avx512");
  EXPECT_EQ(modelled_core(cpu("GenuineIntel", 6, 143), 14), "") << "LLVM 14 takes the model of another core";
  EXPECT_EQ(modelled_core(cpu("GenuineIntel", 6, 143), 17), "sapphirerapids");
  EXPECT_EQ(modelled_core(cpu("AuthenticAMD", 25, 33), 14), "znver3");
  EXPECT_EQ(modelled_core(cpu("AuthenticAMD", 25, 17), 14), "");
  EXPECT_EQ(modelled_core("", 14), "");
}

}  // namespace
}  // namespace kw::cpu
