//! Fuzz target: a segment of an archive.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::archive::segment(data));
