//! Fuzz target: a table file of any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::table::open(data));
