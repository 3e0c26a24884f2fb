//! The I/O layer: all access to files, time, threads and random numbers goes through this module.
//!
//! [`Storage`] is a flat directory of named files, an interface small enough for an object store, a simulated disk, a
//! fault injector or a meter to implement. `io` knows no file format.
//!
//! | room | contents |
//! |---|---|
//! | `storage` | the traits, URLs (`schemes`), memory, and wrappers, such as `stoppable`, which ends long work |
//! | `local` | files of the local system: page cache, direct reads, the limit of open files, temporary folders |
//! | `objects` | files as the objects of an object store |
//! | `reads` | reads in flight: reader threads, read-ahead, write-behind, hand-over between threads |
//! | `profile` | T(n) and its measurement; the clock and random numbers |
//! | `meter` | counts of requests and bytes; events of slow reads |

#![expect(
    clippy::disallowed_methods,
    reason = "this is the seam: files, clock and threads are reached here and nowhere else"
)]

mod fast_paths;
pub(crate) mod local;
mod meter;
mod objects;
mod profile;
pub(crate) mod reads;
mod storage;

pub use fast_paths::FastPaths;
pub use local::folder::LocalStorage;
pub(crate) use local::large_buffer::{LARGE_PAGE_BYTES, LargeBuffer};
pub(crate) use profile::boot::SinceBoot;
pub(crate) use profile::clock::unix_time_s;
pub(crate) use profile::curve::save_text;
pub use profile::curve::{Profile, ProfilePoint, ReadQuantiles};
pub use profile::measure::{MeasureOptions, MeasuredProfile};
pub(crate) use profile::spread::{TimeSpread, quantile_of_mixture};
pub(crate) use reads::call_pool::CallPool;
pub(crate) use reads::handoff::Handoff;
pub(crate) use reads::long_reads::{LongFile, LongPieces, LongReads, PieceShape};
pub use reads::read_ahead::{PendingReads, RangeRequest, ReadBuffer};
pub(crate) use reads::worker::spawn_helper;
#[cfg(test)]
pub(crate) use reads::worker::tests::refusing;
pub(crate) use reads::write_behind::{BehindOptions, WriteBehind};
pub(crate) use storage::frozen::FrozenFiles;
pub(crate) use storage::lenient::is_of_no_file;
pub use storage::memory::MemoryStorage;
pub use storage::place::Place;
pub use storage::request::{Purpose, ReadRequest};
pub use storage::schemes::{FolderUrl, register_scheme};
pub use storage::traits::{
    FileLock, FolderIdentity, FolderListing, ListedFile, ReadableFile, Storage, UpdatableFile, WritableFile,
};
pub(crate) use storage::traits::{open_expected, read_whole, remove_if_present, spoiled};
pub use storage::wrapper::{ReaderWrapper, StorageWrapper};

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    local::open_files::OpenFiles,
    local::scratch::ScratchFolder,
    meter::counts::{Meter, MeterSnapshot, ReadCounts, UpdateCounts, WriteCounts},
    meter::telemetry::StorageTelemetry,
    objects::object_writer::ObjectWriter,
    profile::clock::{Timer, available_threads, random_u64, seed_random, set_unix_time_s, unix_time_ms},
    profile::measure::{MeasuredLevel, MeasuredPoint, MeasuredStream},
    profile::modelled_clock::ModelledClock,
    profile::moved_clock::Clock,
    reads::worker::Worker,
    storage::discard::DiscardStorage,
    storage::lenient::LenientStorage,
    storage::request::UnreadablePart,
    storage::schemes::{LocatedFile, local_path, locate, locate_folder, percent_decoded, remote_url, without_query},
    storage::stoppable::StoppableStorage,
    storage::traits::{FileCopy, check_name, check_range, check_write, copy_file, not_for_objects, open_compared},
    storage::wrapper::{UpdaterWrapper, WriterWrapper},
};
