//! Fuzz target: an index whose header has any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::index::header(data));
