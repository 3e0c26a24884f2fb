//! Fuzz target: a design of any text.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::text::design(data));
