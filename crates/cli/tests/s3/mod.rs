//! Tables, inputs, joins and failures on S3.

#[cfg(feature = "parquet")]
mod answers;
mod failures;
#[cfg(feature = "parquet")]
mod proxy;
mod server;
mod stores;
mod tables;
