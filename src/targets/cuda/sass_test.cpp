#include "targets/cuda/sass.h"

#include <gtest/gtest.h>

namespace kw::cuda {
namespace {

// As nvdisasm -c -g prints a kernel: a loop inside of another one, and what stands behind every kernel's end.
constexpr char kPrinted[] = R"(	.section	.text.tiles,"ax",@progbits
        .global         tiles
tiles:
.text.tiles:
	//## File "/tmp/k.cu", line 7
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   FADD R2, R2, R3 ;
.L_x_1:
	//## File "/tmp/k.cu", line 12
        /*0020*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0030*/                   LDGSTS.E.BYPASS.128 [R8], desc[UR4][R2.64] ;
	//## File "/tmp/k.cu", line 14
        /*0040*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16].tnspA, R24, gsb0 ;
        /*0050*/                   FFMA R9, R9, R10, R11 ;
        /*0060*/                   STL [R1], R9 ;
        /*0070*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0080*/              @!P0 BRA `(.L_x_1) ;
        /*0090*/               @P1 BRA `(.L_x_0) ;
        /*00a0*/                   EXIT ;
.L_x_2:
        /*00b0*/                   BRA `(.L_x_2) ;
        /*00c0*/                   NOP ;
)";

TEST(CudaSass, TellsWhatALoopConsistsOf) {
  const auto loops = sass_loops_in(kPrinted);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].kernel, "tiles");
  EXPECT_EQ(loops[0].depth, 2);
  EXPECT_EQ(loops[0].first_line, 12);
  EXPECT_EQ(loops[0].last_line, 14);
  EXPECT_EQ(loops[0].instructions, 7);
  const std::map<std::string, int> counts = {{"LDG.128", 1}, {"LDGSTS.128", 1}, {"HGMMA.64x256x16", 1}, {"FFMA", 1},
                                             {"STL.32", 1},  {"BAR", 1},        {"branches", 1}};
  EXPECT_EQ(loops[0].counts, counts);
  EXPECT_EQ(loops[0].count("LDG"), 1);  // and not LDGSTS
  // The one around it has the rest.
  EXPECT_EQ(loops[1].depth, 1);
  EXPECT_EQ(loops[1].counts, (std::map<std::string, int>{{"FADD", 1}, {"branches", 1}}));
  EXPECT_TRUE(sass_loops_in("").empty());
}

TEST(CudaSass, SaysWhatIsMissing) {
  const auto notes = notes_on({{.kernel = "k", .registers = 32}}, "no machine code");
  EXPECT_NE(notes.text.find("k: 32 registers"), std::string::npos);
  EXPECT_NE(notes.text.find("nvdisasm"), std::string::npos) << notes.text;
}

}  // namespace
}  // namespace kw::cuda
