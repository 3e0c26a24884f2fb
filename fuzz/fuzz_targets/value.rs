//! Fuzz target: a pointer to a long value, and the chunks that it leads to.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::value::stream(data));
