//! Tables, inputs, joins and failures on S3.

#[cfg(feature = "parquet")]
mod answers;
mod failures;
mod proxy;
mod server;
mod stores;
mod tables;
