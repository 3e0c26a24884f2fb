//! Fuzz target: a packed block of any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::block::unpack(data));
