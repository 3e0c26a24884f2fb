//! Fuzz target: the record of a backup.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::backup::record(data));
