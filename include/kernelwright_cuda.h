/* kernelwright_cuda.h, version 1: the contract between a CUDA kernel and whoever launches it.
 *
 * A CUDA kernel is one .cu source that is compiled twice: by NVRTC, for its device code, and by the host's C++
 * compiler, for its plan. The plan is a function that looks at the shapes and attributes of a call and writes down what
 * is to be launched. It never touches the GPU: it runs locked up, returns data, and the caller checks that data and
 * launches it as one graph.
 *
 *     #include <kernelwright_cuda.h>
 *
 *     KW_TUNE(BLOCK, 256, 128, 256, 512);
 *
 *     #ifdef __CUDACC__
 *     extern "C" __global__ void relu(const float* x, float* y, int64_t count) {
 *       const int64_t i = int64_t(blockIdx.x) * BLOCK + threadIdx.x;
 *       if (i < count) y[i] = x[i] > 0 ? x[i] : 0;
 *     }
 *     #else
 *     KW_PLAN(plan) {
 *       const int64_t count = plan.input(0).count();
 *       plan.launch("relu", kw::blocks(count, BLOCK), BLOCK, plan.input(0), plan.output(0), count);
 *     }
 *     #endif
 *
 * Device code
 *   - Kernels are extern "C" __global__ functions; what says nothing is a device function. NVRTC compiles C++20 for
 * exactly the device's architecture. CUDA's own headers may be included where the toolkit has them (<cuda_fp16.h>,
 * <mma.h>, <cuda/barrier>), nothing else.
 *   - No kernel launches another one, prints, or allocates.
 * The plan
 *   - An argument of a launch is a tensor of the call, memory from plan.scratch or plan.keep, a TMA descriptor
 *     (plan.tensor_map), or a value: a number, or a structure of numbers of at most 2,048 bytes, passed as its bytes.
 * Types must be those of the kernel's parameters: int64_t for int64_t, float for float.
 *   - Launches run one after another: each sees all that those before it wrote. Those made with plan.prepare run once
 *     for given shapes and constants, untimed, and see constants and kept memory only: to pack weights.
 *   - Of constant inputs of at most 4,096 bytes the plan sees the values (`data<T>()`); of others the shape.
 *   - plan.fail("why") says that this call cannot be served.
 * What the caller promises
 *   - Tensors are dense and row-major, aligned to their element's size and no further. A tensor may be empty. Tensors
 * do not overlap. Memory before the first and after the last element is not the kernel's to read or to write.
 *   - Inputs are read-only. Outputs and scratch memory hold anything when a call begins.
 * What the kernel promises
 *   - Every element of every output is written, from the inputs, the attributes and kept memory: from nothing else. The
 *     same inputs give the same bits at any address, whatever ran before (or it says KW_VARIES).
 *   - It keeps the precision of its tensors' type: float32 means float32, and not TF32 but for products of a task that
 * allows it. Products of float16 and bfloat16 are summed in float32.
 *
 * Stability: within version 1 things are only added.
 */
#ifndef KERNELWRIGHT_CUDA_H
#define KERNELWRIGHT_CUDA_H

#ifdef __CUDACC__ /* device code */

#define KW_CONTRACT_VERSION 1
#define KW_MAX_RANK 8

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
#else
#include <stdint.h>
#endif

/* As in kernelwright.h. */
#define KW_SECOND_(first, second, ...) second
#define KW_SECOND(...) KW_SECOND_(__VA_ARGS__)
#define KW_TUNE(NAME, DEFAULT, ...) static constexpr int NAME = KW_SECOND(KW_SET_##NAME, DEFAULT, 0)
#define KW_REQUIRE(...) static_assert(__VA_ARGS__, "KW_REQUIRE")
#define KW_FLAGS(...) extern int kw_declared
#define KW_VARIES() extern int kw_declared

/* Instructions that CUDA has no functions for. Used by these names, they run on the emulated GPU too. */
#if defined(__CUDACC_RTC__) || defined(__NVCC__)
namespace kw {

/* Products of Hopper's tensor cores: d += a * b, of 64 x `columns` results and eight of k, by four warps at once, the
 * first of which is a multiple of four, and beside what follows. Of a float32 the upper 19 bits count; sums are rounded
 * towards zero. With g = lane / 4 and t = lane % 4, warp w has rows 16 w + g, + g + 8, + g, + g + 8 of a, in k: t, t, t
 * + 4, t + 4; and d[4 i] to d[4 i + 3] are rows g, g, g + 8, g + 8 of its 16 in columns 8 i + 2 t, + 1, 8 i + 2 t, + 1.
 * b lies in shared memory with a column's 32 numbers along k in 128 bytes one after the other, 1,024-aligned as a
 * whole, and within each 128 bytes the 16 bytes at place p are at p ^ (column % 8): where `b` points says which eight
 * of k. `add`: else d begins at 0. mma_fence stands before the first of some products and after their registers were
 * last changed; what they need of shared memory is shown to them by shared_fence, by those who wrote it, before a
 * barrier. After wait_mma d is there. */
template <int columns>
__device__ __forceinline__ void wgmma_tf32(float (&d)[columns / 2], const uint32_t (&a)[4], const float* b, bool add) {
  static_assert(columns == 32 || columns == 64 || columns == 128 || columns == 256, "32, 64, 128 or 256 columns");
  const uint64_t from = (uint64_t(__cvta_generic_to_shared(b)) & 0x3ffff) >> 4 | uint64_t(1) << 16 |
                        uint64_t(64) << 32 | uint64_t(1) << 62;
  if constexpr (columns == 32) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %21, 0; "
        "wgmma.mma_async.sync.aligned.m64n32k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
        "%11, %12, %13, %14, %15}, {%16, %17, %18, %19}, %20, p, 1, 1; "
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(from), "r"(int(add)));
  } else if constexpr (columns == 64) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %37, 0; "
        "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
        "%11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
        "%31}, {%32, %33, %34, %35}, %36, p, 1, 1; "
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(from), "r"(int(add)));
  } else if constexpr (columns == 128) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %69, 0; "
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
        "%11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, "
        "%31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, "
        "%51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, 1, "
        "1; "
        "}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
          "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
          "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(from), "r"(int(add)));
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %133, 0; wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {%0, %1, "
        "%2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
        "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "
        "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, "
        "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "
        "%121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132, p, 1, 1; }"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
          "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
          "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
          "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
          "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
          "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
          "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
          "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
          "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),
          "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),
          "+f"(d[126]), "+f"(d[127])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(from), "r"(int(add)));
  }
}
/* The same of float16 or bfloat16 numbers, in bits, 16 of k: both operands lie in shared memory, and d is as above with
 * rows of a in place of its rows. `a` has 64 rows, b `columns` columns. An operand that lies along k has a row's (or
 * column's) 64 numbers of k in 128 bytes one after the other, those of the next row behind; where it points says which
 * 16 of k. One that does not has 64 rows (or columns) in 128 bytes, the next k behind, and after 64 of k, 8,192 bytes
 * on, the next 64 columns. Places of 16 bytes within each 128 are mixed as above, by the number of the line. */
template <int columns, bool bfloat, bool a_along_k, bool b_along_k>
__device__ __forceinline__ void wgmma_half(float (&d)[columns / 2], const uint16_t* a, const uint16_t* b, bool add) {
  static_assert(columns == 64 || columns == 128 || columns == 256, "64, 128 or 256 columns");
  constexpr uint64_t layout = uint64_t(64) << 32 | uint64_t(1) << 62, along_k = uint64_t(1) << 16,
                     across_k = uint64_t(512) << 16;
  const uint64_t left =
      (uint64_t(__cvta_generic_to_shared(a)) & 0x3ffff) >> 4 | layout | (a_along_k ? along_k : across_k);
  const uint64_t right =
      (uint64_t(__cvta_generic_to_shared(b)) & 0x3ffff) >> 4 | layout | (b_along_k ? along_k : across_k);
  if constexpr (columns == 64) {
    if constexpr (bfloat) {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, "
          "%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
          "%25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, %35, %36; }"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
          : "l"(left), "l"(right), "r"(int(add)), "n"(int(!a_along_k)), "n"(int(!b_along_k)));
    } else {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, "
          "%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
          "%25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, %35, %36; }"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
          : "l"(left), "l"(right), "r"(int(add)), "n"(int(!a_along_k)), "n"(int(!b_along_k)));
    }
  } else if constexpr (columns == 128) {
    if constexpr (bfloat) {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, "
          "%2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
          "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
          "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
          "%64, %65, p, 1, 1, %67, %68; }"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
            "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
            "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
            "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
            "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
          : "l"(left), "l"(right), "r"(int(add)), "n"(int(!a_along_k)), "n"(int(!b_along_k)));
    } else {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, "
          "%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
          "%25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, "
          "%45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, "
          "%65, p, 1, 1, %67, %68; }"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
            "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
            "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
            "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
            "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
          : "l"(left), "l"(right), "r"(int(add)), "n"(int(!a_along_k)), "n"(int(!b_along_k)));
    }
  } else if constexpr (columns == 256) {
    if constexpr (bfloat) {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0, %1, "
          "%2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
          "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
          "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
          "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, "
          "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, "
          "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "
          "%121, %122, %123, %124, %125, %126, %127}, %128, %129, p, 1, 1, %131, %132; }"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
            "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
            "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
            "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
            "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
            "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
            "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
            "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
            "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
            "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
            "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
            "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),
            "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),
            "+f"(d[126]), "+f"(d[127])
          : "l"(left), "l"(right), "r"(int(add)), "n"(int(!a_along_k)), "n"(int(!b_along_k)));
    } else {
      asm volatile(
          "{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {%0, %1, %2, "
          "%3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, "
          "%25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, "
          "%45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, "
          "%65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, "
          "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, "
          "%104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, "
          "%121, %122, %123, %124, %125, %126, %127}, %128, %129, p, 1, 1, %131, %132; }"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
            "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
            "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
            "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
            "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
            "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
            "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
            "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),
            "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),
            "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),
            "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),
            "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),
            "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),
            "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
            "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),
            "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),
            "+f"(d[126]), "+f"(d[127])
          : "l"(left), "l"(right), "r"(int(add)), "n"(int(!a_along_k)), "n"(int(!b_along_k)));
    }
  }
}
/* A float32 as the nearest float16 or bfloat16, in bits. */
__device__ __forceinline__ uint16_t float16_bits(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ uint16_t bfloat16_bits(float x) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ void mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_mma() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/* Until at most the last `under_way` groups are not done; of those before it d must not be touched. */
template <int under_way>
__device__ __forceinline__ void wait_mma() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(under_way) : "memory");
}
template <int under_way, int count>
__device__ __forceinline__ void wait_mma(float (&d)[count]) {
  wait_mma<under_way>();
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
__device__ __forceinline__ void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Copies from global to shared memory that run beside what follows: 4, 8 or 16 bytes, aligned so, of which the first
 * `valid` are read and the others become zero. A thread's copies up to commit_copies are a group; wait_copies<N> waits
 * until at most the last N groups of this thread are under way, and a barrier shows them to the others. */
template <int bytes>
__device__ __forceinline__ void copy_async(void* shared, const void* global, int valid = bytes) {
  const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(valid) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(global), "r"(valid), "n"(bytes)
                 : "memory");
  }
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int under_way>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(under_way) : "memory");
}

} /* namespace kw */
#endif

#else /* the plan */

#include <kernelwright.h>

namespace kw {

/* How many blocks of this size hold `count` elements. */
inline int64_t blocks(int64_t count, int64_t block) { return (count + block - 1) / block; }

struct Dim3 {
  int64_t x = 1, y = 1, z = 1;
  Dim3(int64_t x_ = 1, int64_t y_ = 1, int64_t z_ = 1) : x(x_), y(y_), z(z_) {}
};

/* A tensor of the call, as the plan knows it. */
class PlanTensor {
 public:
  PlanTensor(const kw_tensor* tensor, int kind, int index) : tensor_(tensor), kind_(kind), index_(index) {}
  Shape shape() const { return Shape(tensor_->rank, tensor_->shape); }
  int64_t shape(int axis) const { return shape()[axis]; }
  int rank() const { return tensor_->rank; }
  int64_t count() const { return tensor_->count; }
  int dtype() const { return tensor_->dtype; }
  /* The values of a small constant; null of any other tensor. */
  template <class T>
  const T* data() const {
    return static_cast<const T*>(tensor_->data);
  }
  int kind() const { return kind_; }
  int index() const { return index_; }

 private:
  const kw_tensor* tensor_;
  int kind_, index_;
};

/* Memory on the device that the plan asked for: a place in the call's scratch memory or in what is kept. */
struct PlanMemory {
  int kind;
  int64_t offset;
};

/* A TMA descriptor in words: the caller encodes it. Lengths, strides and boxes from the innermost axis on; strides in
 * bytes, without that of the innermost axis. `swizzle`: 0, 32, 64 or 128 bytes. `fill_nan`: what lies outside is NaN
 * instead of zero. */
struct TensorMap {
  PlanMemory memory{-1, 0}; /* or a tensor, below */
  int tensor_kind = -1, tensor_index = 0;
  int dtype = KW_FLOAT32;
  int rank = 0;
  int64_t lengths[5] = {}, strides[4] = {}, box[5] = {};
  int swizzle = 0;
  int l2_promotion = 128;
  int fill_nan = 0;
};

/* What is launched, as bytes. The caller reads it with the same layout (src/targets/cuda/plan.cpp). */
class Plan : public Node {
 public:
  enum Kind { kInput = 0, kOutput = 1, kScratch = 2, kKept = 3, kValue = 4, kTensorMap = 5, kFoundShape = 6 };

  Plan(kw_call* call, unsigned char* bytes, int64_t room) : Node(call, 0), bytes_(bytes), room_(room) {}

  int inputs() const { return call_->input_count; }
  int outputs() const { return call_->output_count; }
  PlanTensor input(int index) const {
    return {index < call_->input_count ? &call_->inputs[index] : &none_, kInput, index};
  }
  PlanTensor output(int index) const {
    return {index < call_->output_count ? &call_->outputs[index] : &none_, kOutput, index};
  }
  Node node(int index) const { return Node(call_, index); }

  /* Device memory for a call, with anything in it; aligned to 256 bytes. */
  PlanMemory scratch(int64_t size_bytes) { return {kScratch, take(&scratch_, size_bytes)}; }
  /* Device memory that lasts, for launches of plan.prepare to fill; aligned to 256 bytes. */
  PlanMemory keep(int64_t size_bytes) { return {kKept, take(&kept_, size_bytes)}; }
  /* Where a kernel writes the shape that it found of an output whose shape depends on values: int64_t rank, then the
   * lengths. */
  PlanMemory found_shape(int output) const { return {kFoundShape, output}; }

  /* The next launch's, where it has them. */
  Plan& shared(int64_t size_bytes) {
    shared_ = size_bytes;
    return *this;
  }
  Plan& cluster(Dim3 blocks) {
    cluster_ = blocks;
    return *this;
  }

  template <class... Arguments>
  void launch(const char* kernel, Dim3 grid, Dim3 block, const Arguments&... arguments) {
    begin(kernel, 0, grid, block, sizeof...(arguments));
    (add(arguments), ...);
  }
  template <class... Arguments>
  void prepare(const char* kernel, Dim3 grid, Dim3 block, const Arguments&... arguments) {
    begin(kernel, 1, grid, block, sizeof...(arguments));
    (add(arguments), ...);
  }

  void fail(const char* why) {
    if (call_->message[0] == 0) strncpy(call_->message, why, sizeof call_->message - 1);
    failed_ = true;
  }

  /* For KW_PLAN alone. */
  int finish() {
    if (failed_) return KW_FAILED;
    const int64_t end = at_;
    at_ = 0;
    number(kMagic);
    number(launches_);
    number(scratch_);
    number(kept_);
    number(end);
    return KW_OK;
  }
  static constexpr int64_t kMagic = 0x314e414c50574b; /* KWPLAN1 */
  static constexpr int64_t kHeadBytes = 40;

 private:
  int64_t take(int64_t* used, int64_t size_bytes) {
    const int64_t begin = (*used + 255) / 256 * 256;
    if (size_bytes < 0 || size_bytes > (int64_t{1} << 46)) {
      fail("the plan asks for an impossible amount of memory");
      return 0;
    }
    *used = begin + size_bytes;
    return begin;
  }
  void put(const void* data, int64_t size_bytes) {
    if (size_bytes > room_ - at_) return fail("the plan is longer than the room that there is for it");
    memcpy(bytes_ + at_, data, static_cast<size_t>(size_bytes));
    at_ += size_bytes;
  }
  void number(int64_t value) { put(&value, 8); }
  void text(const void* data, int64_t size_bytes) {
    number(size_bytes);
    put(data, size_bytes);
  }
  void begin(const char* kernel, int once, Dim3 grid, Dim3 block, int64_t count) {
    ++launches_;
    text(kernel, static_cast<int64_t>(strlen(kernel)));
    number(once);
    for (const Dim3& one : {grid, block, cluster_}) number(one.x), number(one.y), number(one.z);
    number(shared_);
    number(count);
    shared_ = 0;
    cluster_ = Dim3();
  }
  void add(const PlanTensor& tensor) { number(tensor.kind()), number(tensor.index()); }
  void add(const PlanMemory& memory) { number(memory.kind), number(memory.offset); }
  void add(const TensorMap& map) {
    number(kTensorMap);
    const bool tensor = map.tensor_kind >= 0;
    number(tensor ? map.tensor_kind : map.memory.kind), number(tensor ? map.tensor_index : map.memory.offset);
    number(map.dtype), number(map.rank);
    for (int64_t one : map.lengths) number(one);
    for (int64_t one : map.strides) number(one);
    for (int64_t one : map.box) number(one);
    number(map.swizzle), number(map.l2_promotion), number(map.fill_nan);
  }
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && sizeof(T) <= 2048,
                  "an argument is a tensor, memory of the plan, or a value of at most 2,048 bytes");
    number(kValue);
    text(&value, sizeof value);
  }

  static inline const kw_tensor none_ = {};
  unsigned char* bytes_;
  int64_t room_;
  int64_t at_ = kHeadBytes;
  int64_t launches_ = 0, scratch_ = 0, kept_ = 0, shared_ = 0;
  Dim3 cluster_;
  bool failed_ = false;
};

/* The call that a plan is made for comes as bytes (a kw_call with offsets in place of pointers, then the values of
 * small constants), and the plan leaves as bytes. */
template <class Function>
int run_plan(kw_call* outer, Function function) {
  const auto* from = static_cast<const unsigned char*>(outer->inputs[0].data);
  const int64_t size_bytes = outer->inputs[0].count;
  auto* image = static_cast<unsigned char*>(kw_scratch(outer, size_bytes));
  if (image == nullptr) return KW_FAILED;
  memcpy(image, from, static_cast<size_t>(size_bytes));
  const auto pointer = [image](auto*& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    field = field == nullptr ? nullptr : reinterpret_cast<Field>(image + reinterpret_cast<size_t>(field));
  };
  auto* call = reinterpret_cast<kw_call*>(image);
  pointer(call->inputs);
  pointer(call->outputs);
  pointer(call->attributes);
  for (int i = 0; i < call->input_count; ++i) pointer(const_cast<kw_tensor&>(call->inputs[i]).data);
  for (int i = 0; i < call->attribute_count; ++i) {
    auto& attribute = const_cast<kw_attribute&>(call->attributes[i]);
    pointer(attribute.name);
    pointer(attribute.integers);
    pointer(attribute.reals);
    pointer(attribute.texts);
    for (int k = 0; attribute.texts != nullptr && k < attribute.count; ++k) {
      pointer(const_cast<const char*&>(attribute.texts[k]));
    }
  }
  Plan plan(call, static_cast<unsigned char*>(outer->outputs[0].data), outer->outputs[0].count);
  function(plan);
  const int status = plan.finish();
  memcpy(outer->message, call->message, sizeof outer->message);
  return status;
}

} /* namespace kw */

#define KW_PLAN(plan)                                                                   \
  static void kw_plan_of_a_call(kw::Plan& plan);                                        \
  KW_EXPORT int kw_run(kw_call* call) { return kw::run_plan(call, kw_plan_of_a_call); } \
  static void kw_plan_of_a_call([[maybe_unused]] kw::Plan& plan)

#endif
#endif
