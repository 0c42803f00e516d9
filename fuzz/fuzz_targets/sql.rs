#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| scaledb_fuzzing::targets::sql(input));
