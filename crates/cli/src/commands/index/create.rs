//! `ogive index create`: creates an empty index.

use super::file::Paging;
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::replace::refuse_reserved;
use crate::values::size::{ByteSize, human_bytes, whole_number};
use ogive::KeyType;
use ogive::index::{AnyIndex, IndexKind, IndexOptions};
use ogive::io::LocalStorage;
use ogive::types::{RecordType, ValueType};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive index create ids.ogx                                 u64 keys without payloads: a set
  ogive index create ids.ogx --value-bytes 8                 u64 keys with payloads of 8 bytes
  ogive index create uuids.ogx --key-type uuid --kind btree  a B+-tree of UUIDs
  ogive index create ages.ogx --value-type u8                values with a type
  ogive index create pets.ogx --value-type '{name:text,born:date?}' --value-bytes 40
                                                             rows of up to 40 bytes
  ogive index create tags.ogx --duplicates --value-bytes 4   several entries per key
  ogive index create ids.ogx --page-size 16KiB --fill 100    densely packed, with large pages

These options are stored in the file. Never replaces an existing file.";

/// The names of the kinds that this program has, among those that hold.
fn kinds(holds: impl Fn(&IndexKind) -> bool) -> String {
    let names: Vec<&str> = IndexKind::all().into_iter().filter(holds).map(IndexKind::name).collect();
    names.join(", ")
}

fn help_of_kinds() -> String {
    format!("Structure: {}", kinds(|_| true))
}

fn help_of_duplicates() -> String {
    format!("Allow several entries per key; of these kinds: {}", kinds(|kind| kind.allows_duplicates()))
}

/// Create an empty index
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexCreate {
    /// Index to create
    #[arg(value_name = "INDEX")]
    path: PathBuf,

    #[arg(long, value_name = "KIND", default_value_t, help = help_of_kinds())]
    kind: IndexKind,

    /// Type of the keys, of a fixed width up to 16 bytes: u8 to u128, i8 to i128, bool, f32, f64, uuid, date,
    /// time(UNIT), timestamp(UNIT), decimal(P,S), bytes1 to bytes16, or a tuple of these such as '(u32, date desc)'
    #[arg(long, alias = "key", value_name = "TYPE", default_value_t = KeyType::U64)]
    key_type: KeyType,

    /// Type of the values: one of those of --key-type, text, or a row such as '{name: text, born: date?}' [default:
    /// bytes of one length]
    #[arg(long, value_name = "TYPE", default_value_t, hide_default_value = true)]
    value_type: ValueType,

    /// Bytes of each value; of the longest one, for types of varying length [default: those of the type, else 0]
    #[arg(long, value_name = "N")]
    value_bytes: Option<ByteSize>,

    #[arg(long, help = help_of_duplicates())]
    duplicates: bool,

    /// Size of a page: a power of two from 512 B to 64 KiB
    #[arg(long, value_name = "N", default_value = "4KiB")]
    page_size: ByteSize,

    /// Fill factor of leaves in a bulk load, in percent
    #[arg(long, value_name = "PERCENT", value_parser = whole_number::<u8>)]
    #[arg(default_value_t = IndexOptions::default().fill_percent)]
    fill: u8,

    #[command(flatten)]
    paging: Paging,
}

impl IndexCreate {
    /// Bytes of each payload.
    fn payload_bytes(&self) -> Result<usize> {
        let given = self.value_bytes.map(|given| bytes(given, "values")).transpose()?;
        match (self.value_type.width(), given) {
            (Some(width), given) => Ok(given.unwrap_or(width)),
            (None, given) if self.value_type.is_bytes() => Ok(given.unwrap_or(0)),
            (None, Some(longest)) => Ok(longest.saturating_add(IndexOptions::LENGTH_BYTES)),
            (None, None) => Err(Failure::usage(
                format!("values of type {} have no fixed length", self.value_type),
                "give the bytes of the longest one with --value-bytes",
            )),
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &IndexCreate, output: &mut Output) -> Result<Outcome> {
    crate::urls::refuse_updated(&arguments.path)?;
    let (folder, name) = LocalStorage::split_path(&arguments.path)?;
    refuse_reserved(&arguments.path)?;
    let mut pages = arguments.paging.options();
    pages.page_bytes = bytes(arguments.page_size, "pages")?;
    let options = IndexOptions::default()
        .kind(arguments.kind)
        .record_type(RecordType::new(arguments.key_type, arguments.value_type.clone()))
        .payload_bytes(arguments.payload_bytes()?)
        .fill_percent(arguments.fill)
        .duplicates(arguments.duplicates)
        .pages(pages);
    let index = AnyIndex::create((&arguments.paging.storage(folder), &name), &options)?;
    let (kind, types, layout) = (index.kind(), index.record_type().clone(), index.layout());
    index.close()?;
    if output.is_json() {
        output.json(&json!({
            "kind": kind.name(),
            "key_type": types.keys.to_string(),
            "value_type": types.value_name(),
            "payload_bytes": layout.payload_bytes,
            "duplicates": layout.duplicates,
            "fill_percent": layout.fill_percent,
            "page_bytes": options.pages.page_bytes,
        }))?;
    } else {
        output.line(format_args!(
            "{}: empty {} index of {}, with payloads of {} and pages of {}",
            arguments.path.display(),
            kind,
            types,
            human_bytes(layout.payload_bytes as u64),
            human_bytes(options.pages.page_bytes as u64),
        ))?;
    }
    Ok(Outcome::Done)
}

/// Converts a size; the engine checks whether it is valid.
fn bytes(size: ByteSize, what: &str) -> Result<usize> {
    usize::try_from(size.0)
        .map_err(|_| Failure::usage(format!("{what} of {} bytes are too large", size.0), "use a smaller size"))
}
