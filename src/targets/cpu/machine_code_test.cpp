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
