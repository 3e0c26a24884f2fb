//! Fuzz target: a forged coded inner node.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::inner::node(data));
