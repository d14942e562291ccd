# Each fuzzer runs for a while from the files kept in tests/corpus. What it finds lies in fuzz/ of the build folder; a
# new kind of input that is worth keeping goes into tests/corpus.
find_program(CLANGXX NAMES clang++ REQUIRED)
set(subjects onnx_file suite safetensors gguf tokenizer_json chat_template)
list(TRANSFORM subjects PREPEND kw_fuzz_ OUTPUT_VARIABLE programs)
list(JOIN programs " " programs)

add_test(NAME fuzz.build COMMAND sh -c "'${CMAKE_COMMAND}' --preset fuzz && '${CMAKE_COMMAND}' --build --preset fuzz --target ${programs}"
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
set_tests_properties(fuzz.build PROPERTIES LABELS slow FIXTURES_SETUP fuzzers TIMEOUT 1800 COST 200)

foreach(subject ${subjects})
  set(found ${CMAKE_BINARY_DIR}/fuzz/${subject})
  file(MAKE_DIRECTORY ${found})
  add_test(NAME fuzz.${subject}
           COMMAND ${CMAKE_SOURCE_DIR}/build/fuzz/bin/kw_fuzz_${subject} -max_total_time=4 -rss_limit_mb=2048 -timeout=5
                   -artifact_prefix=${found}- ${found} ${CMAKE_SOURCE_DIR}/tests/corpus/${subject})
  set_tests_properties(fuzz.${subject} PROPERTIES LABELS slow FIXTURES_REQUIRED fuzzers TIMEOUT 120)
endforeach()
