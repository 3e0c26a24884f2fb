//! Fuzz target: a page of a filter of any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::filter::page(data));
