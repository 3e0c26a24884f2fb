//! Fuzz target: a storage profile in JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::profile::json(data));
