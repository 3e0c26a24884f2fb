//! The page of an index beside Parquet files: the files, what the index is made of, and what lookups read of both.

mod lookups;
mod page;
mod picture;

pub use picture::{CurveKey, DataFile, FileLookup, FileRequest, ParquetPicture, SortedRun};
