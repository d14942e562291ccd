/* Runs the model in this folder from C, in an unmodified ONNX Runtime that is found when it runs:
 *
 *   cc -O2 run.c -o run -ldl && ./run /path/to/libonnxruntime.so
 *
 * Whoever has onnxruntime_c_api.h writes api->CreateEnv(...) in place of the macros below; they are the entries of the
 * same table by their places, which never change. Floating-point inputs are filled with ones. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  void *const *(*get_api)(uint32_t version);
  const char *(*version)(void);
} ApiBase;

static void *const *api;

static void check(void *status, const char *what) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", what, ((const char *(*)(const void *))api[2])(status));
  exit(1);
}

#define CREATE_ENV(level, name, to) ((void *(*)(int, const char *, void **))api[3])(level, name, to)
#define CREATE_SESSION(env, file, options, to) \
  ((void *(*)(const void *, const char *, const void *, void **))api[7])(env, file, options, to)
#define RUN(session, in_names, in, ins, out_names, outs, out)                                                        \
  ((void *(*)(void *, const void *, const char *const *, const void *const *, size_t, const char *const *, size_t, \
              void **))api[9])(session, NULL, in_names, in, ins, out_names, outs, out)
#define CREATE_OPTIONS(to) ((void *(*)(void **))api[10])(to)
#define SET_INTRA_OP_NUM_THREADS(options, count) ((void *(*)(void *, int))api[24])(options, count)
#define INPUT_COUNT(session, to) ((void *(*)(const void *, size_t *))api[30])(session, to)
#define OUTPUT_COUNT(session, to) ((void *(*)(const void *, size_t *))api[31])(session, to)
#define INPUT_TYPE(session, i, to) ((void *(*)(const void *, size_t, void **))api[33])(session, i, to)
#define INPUT_NAME(session, i, allocator, to) \
  ((void *(*)(const void *, size_t, void *, char **))api[36])(session, i, allocator, to)
#define OUTPUT_NAME(session, i, allocator, to) \
  ((void *(*)(const void *, size_t, void *, char **))api[37])(session, i, allocator, to)
#define CREATE_TENSOR(allocator, shape, rank, type, to) \
  ((void *(*)(void *, const int64_t *, size_t, int, void **))api[48])(allocator, shape, rank, type, to)
#define TENSOR_DATA(value, to) ((void *(*)(void *, void **))api[51])(value, to)
#define TENSOR_INFO(type, to) ((void *(*)(const void *, const void **))api[55])(type, to)
#define ELEMENT_TYPE(info, to) ((void *(*)(const void *, int *))api[60])(info, to)
#define RANK(info, to) ((void *(*)(const void *, size_t *))api[61])(info, to)
#define LENGTHS(info, to, rank) ((void *(*)(const void *, int64_t *, size_t))api[62])(info, to, rank)
#define ELEMENTS(info, to) ((void *(*)(const void *, size_t *))api[64])(info, to)
#define TYPE_AND_SHAPE(value, to) ((void *(*)(const void *, void **))api[65])(value, to)
#define DEFAULT_ALLOCATOR(to) ((void *(*)(void **))api[78])(to)
#define REGISTER_LIBRARY(options, file) ((void *(*)(void *, const char *))api[228])(options, file)

enum { kMost = 64, kFloat = 1 };

int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "libonnxruntime.so", RTLD_NOW);
  const ApiBase *(*get_base)(void) = NULL;
  if (library != NULL) *(void **)&get_base = dlsym(library, "OrtGetApiBase");
  if (get_base == NULL) {
    fprintf(stderr, "no ONNX Runtime: %s\n", dlerror());
    return 1;
  }
  api = get_base()->get_api(16);
  if (api == NULL) {
    fprintf(stderr, "ONNX Runtime %s is older than 1.16\n", get_base()->version());
    return 1;
  }
  void *env, *options, *session, *allocator;
  check(CREATE_ENV(3, "run", &env), "environment");
  check(CREATE_OPTIONS(&options), "options");
  check(SET_INTRA_OP_NUM_THREADS(options, 1), "threads");
  check(REGISTER_LIBRARY(options, "./libkernels.so"), "libkernels.so");
  check(CREATE_SESSION(env, "model.onnx", options, &session), "model.onnx");
  check(DEFAULT_ALLOCATOR(&allocator), "allocator");

  size_t ins, outs;
  char *in_names[kMost], *out_names[kMost];
  void *in[kMost], *out[kMost];
  check(INPUT_COUNT(session, &ins), "inputs");
  check(OUTPUT_COUNT(session, &outs), "outputs");
  if (ins > kMost || outs > kMost) return 1;
  for (size_t i = 0; i < ins; ++i) {
    void *type, *data;
    const void *info;
    int element;
    size_t rank, count = 1;
    int64_t lengths[kMost];
    check(INPUT_NAME(session, i, allocator, &in_names[i]), "input");
    check(INPUT_TYPE(session, i, &type), "input");
    check(TENSOR_INFO(type, &info), "input");
    check(ELEMENT_TYPE(info, &element), "input");
    check(RANK(info, &rank), "input");
    if (rank > kMost) return 1;
    check(LENGTHS(info, lengths, rank), "input");
    for (size_t k = 0; k < rank; ++k) count *= (size_t)lengths[k];
    check(CREATE_TENSOR(allocator, lengths, rank, element, &in[i]), "input");
    check(TENSOR_DATA(in[i], &data), "input");
    if (element == kFloat) {
      for (size_t k = 0; k < count; ++k) ((float *)data)[k] = 1;
    } else {
      fprintf(stderr, "%s is not of floats: fill it here\n", in_names[i]);
      return 1;
    }
  }
  for (size_t i = 0; i < outs; ++i) check(OUTPUT_NAME(session, i, allocator, &out_names[i]), "output");
  memset(out, 0, sizeof out);
  check(RUN(session, (const char *const *)in_names, (const void *const *)in, ins, (const char *const *)out_names, outs,
            out),
        "run");
  for (size_t i = 0; i < outs; ++i) {
    void *info, *data;
    size_t count;
    int element;
    check(TYPE_AND_SHAPE(out[i], &info), "output");
    check(ELEMENTS(info, &count), "output");
    check(ELEMENT_TYPE(info, &element), "output");
    check(TENSOR_DATA(out[i], &data), "output");
    printf("%s: %zu elements", out_names[i], count);
    if (element == kFloat && count > 0) printf(", the first is %g", ((float *)data)[0]);
    printf("\n");
  }
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < 20; ++i) {
    memset(out, 0, sizeof out); /* a program that runs long releases its outputs */
    check(RUN(session, (const char *const *)in_names, (const void *const *)in, ins, (const char *const *)out_names, outs,
              out),
          "run");
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.2f ms a call\n",
         ((double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6) / 20);
  return 0;
}
