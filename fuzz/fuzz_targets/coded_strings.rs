//! Fuzz target: coded steps over byte strings, searched in a forged layer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::coded::strings(data));
