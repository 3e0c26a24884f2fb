//! Fuzz target: forged routers over both types of keys.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::coded::router(data));
