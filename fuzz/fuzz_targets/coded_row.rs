//! Fuzz target: coded steps over any row of children lead every key to its child.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::coded::row(data));
