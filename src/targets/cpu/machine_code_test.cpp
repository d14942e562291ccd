#include "targets/cpu/machine_code.h"

#include <gtest/gtest.h>

namespace kw::cpu {
namespace {

// As objdump shows a loop of clang's: eight floats a turn, a call and a spill.
TEST(MachineCode, SeesWhatALoopDoes) {
  const MachineCode code = loops_in(R"(
0000000000001100 <kw_run>:
    1100:	xor    %eax,%eax
    1102:	vmovups (%rdi,%rax,4),%ymm0
    1107:	vmovaps %ymm1,0x20(%rsp)
    110d:	vfmadd213ps (%rsi,%rax,4),%ymm2,%ymm0
    1113:	vmovups %ymm0,(%rdx,%rax,4)
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
  EXPECT_EQ(loop.calls, std::vector<std::string>{"expf"});
  EXPECT_FALSE(code.loops[1].vectorised());
  EXPECT_NE(as_text(code).find("1 SPILLS to the stack"), std::string::npos);
  EXPECT_NE(as_text(code).find("CALLS expf"), std::string::npos);
}

}  // namespace
}  // namespace kw::cpu
