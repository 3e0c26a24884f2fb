//! The I/O layer: all access to files, time, threads and random numbers goes through this module.
//!
//! [`Storage`] is a flat directory of named files, an interface small enough for an object store, a simulated disk, a
//! fault injector or a meter to implement. `io` knows no file format.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the seam: files, clock and threads are reached here and nowhere else"
)]

mod clock;
mod direct;
mod discard;
pub(crate) mod fair;
mod fast_paths;
mod file_names;
mod frozen;
mod handoff;
mod large_buffer;
mod lenient;
mod links;
mod local;
mod local_file;
mod measure;
mod memory;
mod meter;
mod object_writer;
mod observer;
mod open_files;
#[cfg(test)]
#[cfg(unix)]
mod open_files_tests;
mod positional;
mod profile;
mod read_ahead;
mod read_pool;
mod schemes;
mod scratch;
mod spread;
mod stoppable;
mod storage;
mod stream;
pub(crate) mod sync;
mod telemetry;
#[cfg(test)]
pub(crate) mod test_schedule;
mod update;
mod worker;
mod wrapper;
mod write_behind;

pub use clock::{
    ModelledClock, Timer, available_threads, random_u64, seed_random, set_unix_time_s, unix_time_ms, unix_time_s,
};
pub use discard::DiscardStorage;
pub use fast_paths::FastPaths;
pub(crate) use frozen::FrozenFiles;
pub(crate) use handoff::Handoff;
pub(crate) use large_buffer::{LARGE_PAGE_BYTES, LargeBuffer};
pub(crate) use lenient::is_of_no_file;
pub use lenient::{LenientStorage, UnreadablePart};
pub use local::LocalStorage;
pub use measure::{MeasureOptions, MeasuredLevel, MeasuredPoint, MeasuredProfile, MeasuredStream, measure_profile};
pub use memory::MemoryStorage;
pub use meter::{Meter, MeterSnapshot, ReadCounts, UpdateCounts, WriteCounts};
pub use object_writer::ObjectWriter;
pub use open_files::OpenFiles;
pub(crate) use profile::save_text;
pub use profile::{Profile, ProfilePoint, ReadQuantiles};
pub use read_ahead::{PendingReads, RangeRequest, ReadBuffer};
pub use schemes::{
    FolderUrl, Place, local_path, locate, locate_folder, percent_decoded, register_scheme, remote_url, without_query,
};
pub use scratch::ScratchFolder;
pub(crate) use spread::{TimeSpread, quantile_of_mixture};
pub use stoppable::StoppableStorage;
pub use storage::{
    FileLock, FolderIdentity, FolderListing, ListedFile, Purpose, ReadRequest, ReadableFile, Storage, UpdatableFile,
    WritableFile, check_name, check_range, check_write, copy_file, not_for_objects, open_compared,
};
pub(crate) use storage::{open_expected, read_whole, remove_if_present, spoiled};
pub use telemetry::StorageTelemetry;
pub use worker::Worker;
pub(crate) use worker::spawn_helper;
#[cfg(test)]
pub(crate) use worker::tests::refusing;
pub use wrapper::{ReaderWrapper, StorageWrapper, UpdaterWrapper, WriterWrapper};
pub(crate) use write_behind::{BehindOptions, WriteBehind};
