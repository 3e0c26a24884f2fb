//! Tables, inputs, joins and failures on S3.

mod failures;
mod server;
mod stores;
mod tables;
