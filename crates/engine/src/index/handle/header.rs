//! The index header in the page file: kind, widths and options. Layout: `docs/format/index.md`.

use crate::error::{Advice, Call, Error, Result};
use crate::index::entries::key;
use crate::index::entries::values::ValueForm;
use crate::index::entries::word::Word;
use crate::index::kinds::kind::{IndexKind, Tunable, reserved_name};
use crate::index::options::IndexOptions;
use crate::index::tree::layout::IndexLayout;
use crate::types::RecordType;
use std::path::Path;

/// The first bytes of the header of every index.
const MAGIC: [u8; 4] = *b"OGIX";
/// The version of this layout.
pub(in crate::index) const VERSION: u16 = 1;
/// Bytes before the tunables.
const FIXED_BYTES: usize = 14;
/// Bytes of one tunable: id and value.
const TUNABLE_BYTES: usize = 9;
/// Most bytes of a header: those that a page file keeps.
const HEADER_BYTES_MAX: usize = crate::page::USER_BYTES_MAX;
/// Most tunables that the header can count.
const TUNABLES_MAX: usize = u8::MAX as usize;
/// The only flag: keys may repeat.
const FLAG_DUPLICATES: u8 = 1;

/// Least number of entries that a page must hold, after [`NODE_HEADER_BYTES`], so that trees stay shallow.
const PAGE_ENTRIES_MIN: usize = 4;
/// Most bytes of any structure before the entries of a page, rounded up.
const NODE_HEADER_BYTES: usize = 64;
/// Bytes of a page that belong to the page layer.
const PAGE_TRAILER_BYTES: usize = 8;
/// The least fill for which leaves have several entries.
const FILL_PERCENT_MIN: u8 = 10;

/// The properties fixed when an index is created.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::index) struct IndexHeader {
    pub(in crate::index) kind: IndexKind,
    pub(in crate::index) types: RecordType,
    pub(in crate::index) layout: IndexLayout,
    /// All tunables of the kind, as its factory completed them.
    pub(in crate::index) tunables: Vec<Tunable>,
}

impl IndexHeader {
    /// The header of a new index.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for invalid options or combinations.
    pub(in crate::index) fn new(options: &IndexOptions, types: RecordType, payload_bytes: usize) -> Result<Self> {
        let key_type = types.keys;
        let invalid = |message: String| Err(Error::input(message));
        let IndexOptions { kind, fill_percent, duplicates, .. } = *options;
        if !kind.is_registered() {
            let error = Error::input(format!("the kind '{kind}' is not registered"));
            return Err(error.advise(Advice::Use(Call::RegisterKind)));
        }
        if !(FILL_PERCENT_MIN..=100).contains(&fill_percent) {
            return invalid(format!("leaves cannot be {fill_percent} % full; choose from {FILL_PERCENT_MIN} to 100"));
        }
        if duplicates && !kind.allows_duplicates() {
            let able: Vec<_> =
                IndexKind::all().into_iter().filter(|kind| kind.allows_duplicates()).map(IndexKind::name).collect();
            return invalid(format!("an index of kind {kind} has no duplicate keys; these have: {}", able.join(", ")));
        }
        let page_payload_bytes = options.pages.page_bytes.saturating_sub(PAGE_TRAILER_BYTES);
        let longest = payload_bytes_max(page_payload_bytes, key::word_bytes(key_type));
        if payload_bytes > longest {
            return invalid(format!(
                "payloads of {payload_bytes} bytes do not fit pages of {} bytes; \
                 with keys of type {key_type} they may have up to {longest}",
                options.pages.page_bytes
            ));
        }
        let layout = IndexLayout { payload_bytes, fill_percent, duplicates };
        if !ValueForm::of(&types.values).fits(&types.values, payload_bytes) {
            let values = &types.values;
            return invalid(match values.width() {
                Some(width) => format!("values of type {values} have payloads of {width} bytes, not {payload_bytes}"),
                None => format!("values of type {values} need payloads of 2 bytes and their own, up to 64 KiB"),
            });
        }
        let tunables = match kind.factory().tunables(&options.tunables) {
            Ok(tunables) if tunables.len() <= TUNABLES_MAX => tunables,
            Ok(_) => return invalid(format!("an index of kind {kind} has more than {TUNABLES_MAX} tunables")),
            Err(detail) => return invalid(format!("an index of kind {kind} takes {detail}")),
        };
        let types = types_of(types, &layout);
        let header = Self { kind, types, layout, tunables };
        let length = header.encode().len();
        if length > HEADER_BYTES_MAX {
            return invalid(format!(
                "the names and types of these columns take {length} bytes with the rest of the header, which may have \
                 {HEADER_BYTES_MAX}; choose fewer columns or shorter names"
            ));
        }
        Ok(header)
    }

    /// The stored form.
    pub(in crate::index) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + self.tunables.len() * TUNABLE_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[self.kind.code(), self.layout.fill_percent]);
        bytes.push(if self.layout.duplicates { FLAG_DUPLICATES } else { 0 });
        bytes.push(self.tunables.len() as u8);
        bytes.extend_from_slice(&(self.layout.payload_bytes as u32).to_le_bytes());
        for &(id, value) in &self.tunables {
            bytes.push(id);
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        bytes.extend_from_slice(&self.types.code());
        bytes
    }

    /// Reads the stored form from the header of the page file at `path`.
    ///
    /// # Errors
    /// `Cause::NotAnIndex`, `Cause::Version`, `Cause::UnregisteredKind`, `Cause::Damaged`.
    pub(in crate::index) fn decode(bytes: &[u8], page_payload_bytes: usize, path: &Path) -> Result<Self> {
        let not_an_index = |detail: &str| Error::not_an_index(path, detail);
        let fixed = bytes.first_chunk::<FIXED_BYTES>().ok_or_else(|| not_an_index("its header is too short"))?;
        let [m0, m1, m2, m3, v0, v1, kind, fill_percent, flags, count, p0, p1, p2, p3] = *fixed;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(not_an_index("it is a page file of another kind"));
        }
        let version = u16::from_le_bytes([v0, v1]);
        if version > VERSION {
            let (found, supported) = (u32::from(version), u32::from(VERSION));
            return Err(Error::version(path, found, supported));
        }
        let damaged = |detail: &str| Error::damaged(path, 0, detail);
        let kind = registered(kind, path)?;
        let types_at = FIXED_BYTES + usize::from(count) * TUNABLE_BYTES;
        let types = bytes.get(types_at..).and_then(RecordType::from_code);
        let types = types.filter(|types| key::check(types.keys).is_ok());
        let types = types.ok_or_else(|| damaged("its header names no type of keys"))?;
        let payload_bytes = u32::from_le_bytes([p0, p1, p2, p3]) as usize;
        let layout = IndexLayout { payload_bytes, fill_percent, duplicates: flags == FLAG_DUPLICATES };
        let valid = version == VERSION
            && ValueForm::of(&types.values).fits(&types.values, payload_bytes)
            && (FILL_PERCENT_MIN..=100).contains(&fill_percent)
            && flags <= FLAG_DUPLICATES
            && (!layout.duplicates || kind.allows_duplicates())
            && payload_bytes <= payload_bytes_max(page_payload_bytes, key::word_bytes(types.keys));
        let stored = bytes.get(FIXED_BYTES..types_at);
        let tunables = stored.and_then(|stored| kind.factory().tunables(&parse_tunables(stored)).ok());
        match tunables {
            Some(tunables) if valid => Ok(Self { kind, types: types_of(types, &layout), layout, tunables }),
            _ => Err(damaged("its header is not a valid index header")),
        }
    }
}

/// The types of entries of this layout: payloads of no bytes are no values.
fn types_of(types: RecordType, layout: &IndexLayout) -> RecordType {
    if layout.payload_bytes == 0 && types.values.is_bytes() { types.keys_only() } else { types }
}

/// The registered kind of a code.
fn registered(code: u8, path: &Path) -> Result<IndexKind> {
    match IndexKind::of_code(code) {
        Some(kind) => Ok(kind),
        None if code == 0 => Err(Error::damaged(path, 0, "its header names no kind of index")),
        None => Err(Error::unregistered_kind(path, code, reserved_name(code))),
    }
}

/// The tunables of stored bytes.
fn parse_tunables(stored: &[u8]) -> Vec<Tunable> {
    let entries = stored.chunks_exact(TUNABLE_BYTES);
    entries.map(|entry| (entry[0], <u64 as Word>::load(&entry[1..]))).collect()
}

/// The longest payload for pages and words of these sizes.
fn payload_bytes_max(page_payload_bytes: usize, word_bytes: usize) -> usize {
    let room = page_payload_bytes.saturating_sub(NODE_HEADER_BYTES);
    (room / PAGE_ENTRIES_MIN).saturating_sub(word_bytes)
}
