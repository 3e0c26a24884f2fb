//! Fuzz target: a store, one of whose files is any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::store::open(data));
