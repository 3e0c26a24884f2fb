//! Fuzz target: step nodes of any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::nodes::steps(data));
