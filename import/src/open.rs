//! The opening of a source by its kind.

use crate::arguments::Arguments;
use crate::choice::Choice;
#[cfg(not(all(feature = "sqlite", feature = "lmdb", feature = "rocksdb")))]
use crate::failure::Failure;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::kind::Kind;
use crate::source::Source;

/// Opens a source, and finds what it has.
///
/// # Errors
/// [`Failure::Source`] and [`Failure::Refused`].
pub(crate) fn open<'a>(
    kind: Kind,
    arguments: &'a Arguments,
    choice: &Choice,
    interrupt: &Interrupt,
) -> Result<Box<dyn Source + 'a>> {
    _ = (arguments, choice, interrupt);
    match kind {
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => crate::sqlite::open(arguments, choice, interrupt),
        #[cfg(feature = "lmdb")]
        Kind::Lmdb => crate::lmdb::open(arguments, choice),
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => crate::rocksdb::open(arguments, choice),
        #[cfg(not(all(feature = "sqlite", feature = "lmdb", feature = "rocksdb")))]
        kind => Err(Failure::refused(
            format!("this program was built without the feature {}", kind.name()),
            format!("build it with `cargo install --path import --features {}` (import/README.md)", kind.name()),
        )),
    }
}
