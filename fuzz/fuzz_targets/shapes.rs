//! Fuzz target: the writers, on input of any shape.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::shapes::check(data));
