//! Fuzz target: forged catalogs of indexes beside Parquet files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ogive_fuzz::parquet::catalog(data));
