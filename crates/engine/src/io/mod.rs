//! The one seam to the outside: everything that the engine reads, writes, times or draws at random passes here.
//!
//! [`Storage`] is a flat directory of named files, narrow enough that an object store, a simulated disk, a fault
//! injector and a meter are each one implementation of it. `io` knows no format.

mod local;
mod memory;
mod positional;
mod profile;
mod storage;

pub use local::LocalStorage;
pub use memory::MemoryStorage;
pub use profile::{Profile, ProfilePoint};
pub use storage::{
    FileLock, Purpose, ReadRequest, ReadableFile, Storage, WritableFile, check_name, check_range, write_past_end,
};
