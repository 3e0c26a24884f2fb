//! Fuzz target: what a store keeps for its followers.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::changes::follow(data));
