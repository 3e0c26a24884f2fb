//! Fuzz target: a key of any text or bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::text::key(data));
