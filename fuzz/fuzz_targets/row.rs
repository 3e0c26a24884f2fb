//! Fuzz target: rows of any type.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::row::value(data));
