//! Fuzz target: the name of a type of keys.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::text::key_type(data));
