// Element by element: neighbours that do so become one pass over memory, with 16 bytes a load where operands allow it,
// and ride along with what reads or writes their tensors.
//
// serves: Abs, Acos, Acosh, Add, Asin, Asinh, Atan, Atanh, Ceil, Celu, Clip, Cos, Cosh, Div, Elu, Equal, Erf, Exp
// serves: Floor, Gelu, Greater, GreaterOrEqual, HardSigmoid, HardSwish, Identity, LeakyRelu, Less, LessOrEqual, Log
// serves: Max, Mean, Min, Mish, Mul, Neg, PRelu, Pow, Reciprocal, Relu, Round, Selu, Shrink, Sigmoid, Sign, Sin, Sinh
// serves: Softplus, Softsign, Sqrt, Sub, Sum, Swish, Tan, Tanh, ThresholdedRelu, Where
// types: float32
// parts: any
#pragma once

#include "parts/packs.cuh"

KW_TUNE(CHAIN_BLOCK, 256, 128, 256, 512);
KW_TUNE(CHAIN_PACKS, 4, 2, 4, 8);

constexpr int threads = CHAIN_BLOCK;

#ifdef __CUDACC__
struct Absent {};  // an operand that is left out

__device__ inline float largest_float() { return __int_as_float(0x7f7fffff); }

__device__ inline float Abs(float a) { return fabsf(a); }
__device__ inline float Acos(float a) { return acosf(a); }
__device__ inline float Acosh(float a) { return acoshf(a); }
__device__ inline float Add(float a, float b) { return a + b; }
__device__ inline float Asin(float a) { return asinf(a); }
__device__ inline float Asinh(float a) { return asinhf(a); }
__device__ inline float Atan(float a) { return atanf(a); }
__device__ inline float Atanh(float a) { return atanhf(a); }
__device__ inline float Ceil(float a) { return ceilf(a); }
__device__ inline float Celu(float a, float alpha) { return a > 0 ? a : alpha * expm1f(a / alpha); }
template <class Low, class High>
__device__ inline float Clip(float a, Low low, High high) {
  if constexpr (sizeof(Low) == sizeof(float)) a = a < low ? low : a;
  if constexpr (sizeof(High) == sizeof(float)) a = a > high ? high : a;
  return a;
}
__device__ inline float Cos(float a) { return cosf(a); }
__device__ inline float Cosh(float a) { return coshf(a); }
__device__ inline float Div(float a, float b) { return a / b; }
__device__ inline float Elu(float a, float alpha) { return a >= 0 ? a : alpha * expm1f(a); }
__device__ inline bool Equal(float a, float b) { return a == b; }
__device__ inline float Erf(float a) { return erff(a); }
__device__ inline float Exp(float a) { return expf(a); }
__device__ inline float Floor(float a) { return floorf(a); }
// By erfc, which keeps its digits where 1 + erf would lose them.
__device__ inline float Gelu(float a) { return a * (0.5f * erfcf(-0.70710678f * a)); }
__device__ inline float Gelu_tanh(float a) {
  // a / (1 + exp(-2 z)) is a * (1 + tanh(z)) / 2 without its loss of digits.
  const float z = 0.79788456f * (a + 0.044715f * a * a * a);
  return a / (1 + expf(-2 * z));
}
__device__ inline bool Greater(float a, float b) { return a > b; }
__device__ inline bool GreaterOrEqual(float a, float b) { return a >= b; }
__device__ inline float HardSigmoid(float a, float alpha, float beta) {
  const float line = alpha * a + beta;
  return line < 0 ? 0.0f : line > 1 ? 1.0f : line;
}
__device__ inline float HardSwish(float a) { return a * HardSigmoid(a, 1 / 6.0f, 0.5f); }
template <class T>
__device__ inline T Identity(T a) {
  return a;
}
__device__ inline float LeakyRelu(float a, float alpha) { return a >= 0 ? a : alpha * a; }
__device__ inline bool Less(float a, float b) { return a < b; }
__device__ inline bool LessOrEqual(float a, float b) { return a <= b; }
__device__ inline float Log(float a) { return logf(a); }
template <class... Rest>
__device__ inline float Max(float a, Rest... rest) {
  ((a = a < rest || rest != rest ? rest : a), ...);
  return a;
}
template <class... Rest>
__device__ inline float Sum(float a, Rest... rest) {
  ((a += rest), ...);
  return a;
}
template <class... All>
__device__ inline float Mean(All... all) {
  return Sum(all...) / float(sizeof...(all));
}
template <class... Rest>
__device__ inline float Min(float a, Rest... rest) {
  ((a = rest < a || rest != rest ? rest : a), ...);
  return a;
}
__device__ inline float Softplus(float a) { return (a > 0 ? a : 0.0f) + log1pf(expf(-fabsf(a))); }
// tanh(log(1 + e)) is e (e + 2) / (e (e + 2) + 2).
__device__ inline float Mish(float a) {
  if (a > 20) return a;
  const float e = expf(a), n = e * (e + 2);
  return a * (n / (n + 2));
}
__device__ inline float Mul(float a, float b) { return a * b; }
__device__ inline float Neg(float a) { return -a; }
__device__ inline float Pow(float a, float b) { return powf(a, b); }
__device__ inline float PRelu(float a, float b) { return a > 0 ? a : b * a; }
__device__ inline float Reciprocal(float a) { return 1 / a; }
__device__ inline float Relu(float a) { return a > 0 ? a : a != a ? a : 0.0f; }
__device__ inline float Round(float a) { return rintf(a); }
__device__ inline float Selu(float a, float alpha, float gamma) { return gamma * (a > 0 ? a : alpha * expm1f(a)); }
__device__ inline float Shrink(float a, float bias, float lambd) {
  return a < -lambd ? a + bias : a > lambd ? a - bias : 0.0f;
}
__device__ inline float Sigmoid(float a) { return 1 / (1 + expf(-a)); }
__device__ inline float Sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
__device__ inline float Sin(float a) { return sinf(a); }
__device__ inline float Sinh(float a) { return sinhf(a); }
__device__ inline float Softsign(float a) { return a / (1 + fabsf(a)); }
__device__ inline float Sqrt(float a) { return sqrtf(a); }
__device__ inline float Sub(float a, float b) { return a - b; }
__device__ inline float Swish(float a, float alpha) { return a / (1 + expf(-alpha * a)); }
__device__ inline float Tan(float a) { return tanf(a); }
__device__ inline float Tanh(float a) { return tanhf(a); }
__device__ inline float ThresholdedRelu(float a, float alpha) { return a > alpha ? a : 0.0f; }
__device__ inline float Where(bool a, float b, float c) { return a ? b : c; }

template <int N, class X, class T>
__device__ void write_all(const X& x, T* y, int64_t count) {
  write_packs<N, threads, CHAIN_PACKS>(x, y, count);
}
#else
inline int64_t blocks_of(int64_t count) { return blocks_of_packs(count, threads, CHAIN_PACKS); }
#endif
