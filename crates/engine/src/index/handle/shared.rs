//! The state shared by all handles of one open index.

use super::header::IndexHeader;
use crate::error::{Error, Result};
use crate::index::entries::key::{self, Key};
use crate::index::entries::payload::Payload;
use crate::index::entries::word::Word;
use crate::index::kinds::kind::FactoryWord;
use crate::index::options::IndexOptions;
use crate::index::tree::structure::Structure;
use crate::page::PageFile;
use crate::telemetry::{self, Counter};
use crate::types::{RecordType, ValueType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Payloads up to this size are read without allocating memory.
const INLINE_PAYLOAD_BYTES_MAX: usize = 32;

/// An open page file with its header and structure.
#[derive(Debug)]
pub(in crate::index) struct IndexShared<K: Key> {
    pub(in crate::index) path: PathBuf,
    pub(in crate::index) file: PageFile,
    pub(in crate::index) header: IndexHeader,
    pub(in crate::index) structure: Arc<dyn Structure<K::Word>>,
    pub(in crate::index) gets: Counter,
}

impl<K: Key> IndexShared<K> {
    pub(in crate::index) fn new(path: PathBuf, file: PageFile, header: IndexHeader) -> Self {
        let structure = K::Word::structure(header.kind.factory(), header.layout, &header.tunables);
        let gets = Counter::register(telemetry::INDEX_GETS, &[("index", &path.display().to_string())]);
        Self { path, file, header, structure, gets }
    }

    /// A buffer for one payload.
    pub(in crate::index) fn payload(&self) -> PayloadBuffer {
        PayloadBuffer::new(self.header.layout.payload_bytes)
    }

    /// Writes a payload into a buffer.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) if it has another size than those of the index.
    pub(in crate::index) fn store<V: Payload>(&self, value: &V, buffer: &mut [u8]) -> Result<()> {
        if value.size_bytes() != buffer.len() {
            return Err(Error::input(format!(
                "a payload of {} bytes does not fit {}, whose payloads have {} bytes",
                value.size_bytes(),
                self.path.display(),
                buffer.len()
            )));
        }
        value.store(buffer);
        Ok(())
    }
}

/// A buffer for one payload: short ones inline, long ones on the heap.
#[derive(Clone, Debug)]
pub(in crate::index) enum PayloadBuffer {
    Short([u8; INLINE_PAYLOAD_BYTES_MAX], usize),
    Long(Vec<u8>),
}

impl PayloadBuffer {
    pub(in crate::index) fn new(size_bytes: usize) -> Self {
        if size_bytes <= INLINE_PAYLOAD_BYTES_MAX {
            Self::Short([0; INLINE_PAYLOAD_BYTES_MAX], size_bytes)
        } else {
            Self::Long(vec![0; size_bytes])
        }
    }

    pub(in crate::index) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Short(bytes, size_bytes) => &bytes[..*size_bytes],
            Self::Long(bytes) => bytes,
        }
    }

    pub(in crate::index) fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            Self::Short(bytes, size_bytes) => &mut bytes[..*size_bytes],
            Self::Long(bytes) => bytes,
        }
    }
}

/// The types and the payload size of a new index with the types of a handle and options.
///
/// # Errors
/// `Cause::Input` if neither types nor options determine them, or if the two contradict each other.
pub(in crate::index) fn resolve_types<K: Key, V: Payload>(options: &IndexOptions) -> Result<(RecordType, usize)> {
    let invalid = |message: &str| Error::input(message);
    let key_type = match (K::TYPE, options.key_type) {
        (Some(own), Some(asked)) if own != asked => {
            return Err(Error::input(format!("keys of type {own} make no index of type {asked}")));
        }
        (own, asked) => own.or(asked).ok_or_else(|| invalid("an index of raw keys needs a key type in its options"))?,
    };
    key::check(key_type)?;
    if key::word_bytes(key_type) != <K::Word as Word>::BYTES {
        return Err(invalid("raw keys have 8 bytes for types of up to 8 bytes, and 16 bytes for longer ones"));
    }
    let values = match (V::TYPE.map(ValueType::Scalar), options.value_type.clone()) {
        (Some(own), Some(asked)) if own != asked => {
            return Err(Error::input(format!("values of type {own} make no index of type {asked}")));
        }
        (own, asked) => own.or(asked).unwrap_or_default(),
    };
    let types = RecordType::new(key_type, values).key_columns(options.key_columns.clone());
    types.check()?;
    let payload_bytes = match (V::BYTES, options.payload_bytes.or(types.values.width())) {
        (Some(own), Some(asked)) if own != asked => {
            return Err(Error::input(format!("payloads of {own} bytes make no index of {asked} bytes each")));
        }
        (own, asked) => own
            .or(asked)
            .ok_or_else(|| invalid("an index of payloads of any size needs a payload size in its options"))?,
    };
    Ok((types, payload_bytes))
}

/// Checks the types of a handle against those of the file.
///
/// # Errors
/// [`Cause::WrongType`](crate::Cause::WrongType).
pub(in crate::index) fn check_types<K: Key, V: Payload>(header: &IndexHeader, path: &Path) -> Result<()> {
    let wrong = |detail: String| Err(Error::wrong_type(path, &detail));
    let found = header.types.keys;
    match K::TYPE {
        Some(own) if own != found => return wrong(format!("its keys are of type {found}, not {own}")),
        None if key::word_bytes(found) != <K::Word as Word>::BYTES => {
            return wrong(format!(
                "its keys are of type {found}, which makes words of {} bytes",
                key::word_bytes(found)
            ));
        }
        _ => {}
    }
    let values = &header.types.values;
    match V::TYPE {
        Some(own) if !values.is_bytes() && *values != ValueType::Scalar(own) => {
            return wrong(format!("its values are of type {values}, not {own}"));
        }
        _ => {}
    }
    match V::BYTES {
        Some(own) if own != header.layout.payload_bytes => {
            wrong(format!("its payloads have {} bytes, not {own}", header.layout.payload_bytes))
        }
        _ => Ok(()),
    }
}
