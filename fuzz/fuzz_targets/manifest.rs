//! Fuzz target: the manifest of a store, and repairs of it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::manifest::open(data));
