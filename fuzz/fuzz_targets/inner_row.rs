//! Fuzz target: coded inner nodes over any row of children lead every key to its child.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::inner::row(data));
