//! Whole runs of the command on object stores. Goal: what works on files works by URL, and what cannot is a clear
//! error. Method: the built program talks S3 with moto, a server that `cargo xtask test` installs; without it, or
//! Python, the tests say that they are skipped.

#![cfg(feature = "object-store")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod s3;
