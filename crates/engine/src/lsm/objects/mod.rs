//! A store's folder on an object store: the same files, on a storage without append, rename and lock.
//!
//! A file that grows, a log or a manifest, is a *chain* of objects, its *parts*: each is put if absent when the file is
//! synced, and their concatenation is the file. A chain ends before the first absent part, or before a *seal*, a part
//! that an opening for writing puts there so that nothing can follow. All other files are objects. The first manifest
//! of a store becomes a *stub* when it is not needed any more, and keeps its name taken.
//!
//! [`ObjectFolder`] is a [`Storage`](crate::io::Storage) with whole file names, over the objects. `chain` has the
//! writable side of a chain, `seal` the part that ends it, `tag` what the others begin with, `stub` what stays of the
//! first manifest, `owner` whose the objects are, `foreign` those of other stores, `followed` what followers see of
//! them, `checks` the checks of listings and conditions, `listing` the names of objects, `object_file` files that are
//! written as a whole, `later_file` files that are opened when they are read, `parts_file` the parts of a chain as a
//! file, `retired` the files that wait for their removal.

mod chain;
mod checks;
mod folder;
mod followed;
mod foreign;
mod later_file;
mod listing;
mod object_file;
mod owner;
mod parts_file;
mod retired;
mod seal;
mod stub;
mod tag;
mod version;

pub(crate) use chain::{ChainWriter, PartInFlight};
pub(super) use checks::copy_in_the_way;
pub(crate) use folder::{FolderPurpose, KnownChain, ObjectFolder};
pub(crate) use later_file::KnownFile;
pub(super) use stub::stub_name;
pub use version::StoreVersion;
