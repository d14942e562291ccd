// What a GPU does at most, for src/targets/cuda/roofs.cpp: loops over memory and over registers, whose results nobody
// needs. Each has the parameters (input, output, count of 16 bytes, passes or rounds).
#include <kernelwright_cuda.h>

#ifdef __CUDACC__

// What is near to a multiprocessor is passed by: a buffer that fits into the cache of all is read from there.
extern "C" __global__ void __launch_bounds__(256) kw_copy(const float4* in, float4* out, int64_t count, int64_t passes) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t pass = 0; pass < passes; ++pass) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
      const float4 a = __ldcg(in + i), b = __ldcg(in + i + step), c = __ldcg(in + i + 2 * step),
                   d = __ldcg(in + i + 3 * step);
      __stcg(out + i, a);
      __stcg(out + i + step, b);
      __stcg(out + i + 2 * step, c);
      __stcg(out + i + 3 * step, d);
    }
    for (; i < count; i += step) __stcg(out + i, __ldcg(in + i));
  }
}

extern "C" __global__ void __launch_bounds__(256) kw_read(const float4* in, float4* out, int64_t count, int64_t passes) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  float4 sum = {0, 0, 0, 0};
  const auto add = [&](const float4 a) { sum.x += a.x, sum.y += a.y, sum.z += a.z, sum.w += a.w; };
  for (int64_t pass = 0; pass < passes; ++pass) {
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
      const float4 a = __ldcg(in + i), b = __ldcg(in + i + step), c = __ldcg(in + i + 2 * step),
                   d = __ldcg(in + i + 3 * step);
      add(a), add(b), add(c), add(d);
    }
    for (; i < count; i += step) add(__ldcg(in + i));
  }
  if (sum.x == 1.25f && sum.y == -3.5f) out[0] = sum;  // as good as never
}

extern "C" __global__ void __launch_bounds__(256) kw_write(const float4* in, float4* out, int64_t count, int64_t passes) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t pass = 0; pass < passes; ++pass) {
    const float one = pass;
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
      __stcg(out + i, float4{one, one, one, one});
    }
  }
}

extern "C" __global__ void __launch_bounds__(1024) kw_fma(const float4* in, float4* out, int64_t count, int64_t rounds) {
  float d[16];
  for (int k = 0; k < 16; ++k) d[k] = threadIdx.x + k;
  const float a = 0.999f + blockIdx.x * 1e-9f, b = 0.001f;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 16; ++k) d[k] = fmaf(d[k], a, b);
  }
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += d[k];
  if (sum == 1.25f) out[0].x = sum;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Two operands in shared memory, without swizzling: 64 x 32 bytes and 256 x 32 bytes.
__device__ inline uint64_t descriptor_of(const void* memory) {
  const uint64_t address = __cvta_generic_to_shared(memory);
  return ((address & 0x3ffff) >> 4) | (uint64_t(128 >> 4) << 16) | (uint64_t(256 >> 4) << 32);
}

#define KW_PRODUCT(shape_and_types, how)                                                                       \
  asm volatile("wgmma.mma_async.sync.aligned." shape_and_types " {" \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
    "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, " \
    "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, " \
    "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
    "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
    "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, " \
    "%119, %120, %121, %122, %123, %124, %125, %126, %127" \
    "}, %128, %129, 1, 1, 1" how ";\n" : \
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),  \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),  \
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),  \
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),  \
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),  \
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),  \
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),  \
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]),  \
        "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]),  \
        "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]),  \
        "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]),  \
        "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]),  \
        "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]),  \
        "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),  \
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]),  \
        "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]),  \
        "+f"(d[126]), "+f"(d[127]) \
      : "l"(left), "l"(right))

// What products of random numbers draw in power is what programs' products do.
#define KW_TENSOR_LOOP(name, shape_and_types, how)                                                                \
  extern "C" __global__ void __launch_bounds__(256) name(const float4* in, float4* out, int64_t count, int64_t rounds) { \
    __shared__ __align__(128) unsigned operands[2][(64 + 256) * 8];                                               \
    unsigned state = 747796405u * (blockIdx.x * 256 + threadIdx.x + 1);                                           \
    for (int i = threadIdx.x; i < 2 * (64 + 256) * 8; i += 256) {                                                 \
      state = state * 1664525u + 1013904223u;                                                                     \
      (&operands[0][0])[i] = (state & 0x807f807fu) | 0x3f003f00u; /* numbers of magnitude near one */             \
    }                                                                                                             \
    __syncthreads();                                                                                              \
    asm volatile("fence.proxy.async;" ::: "memory");                                                              \
    const unsigned* mine = operands[threadIdx.x / 128];                                                           \
    const uint64_t left = descriptor_of(mine), right = descriptor_of(mine + 64 * 8);                              \
    float d[128];                                                                                                 \
    for (int k = 0; k < 128; ++k) d[k] = 0;                                                                       \
    for (int64_t round = 0; round < rounds; round += 8) {                                                         \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                     \
_Pragma("unroll") for (int k = 0; k < 8; ++k) KW_PRODUCT(shape_and_types, how);                                   \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                                              \
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                              \
    }                                                                                                             \
    float sum = 0;                                                                                                \
    for (int k = 0; k < 128; ++k) sum += d[k];                                                                    \
    if (sum == 1.25f) out[0].x = sum;                                                                             \
  }

KW_TENSOR_LOOP(kw_tf32, "m64n256k8.f32.tf32.tf32", "")
KW_TENSOR_LOOP(kw_bf16, "m64n256k16.f32.bf16.bf16", ", 0, 0")
#endif

#else
KW_PLAN(plan) {}
#endif
