//! The options that a keyspace has of its own, as arguments and as text.

use crate::values::size::{ByteSize, exact_size, positive_duration};
use ogive::block::compress::Compression;
use ogive::lsm::{ExpiryRule, KeyspaceOptions};
use serde_json::{Value, json};

/// The word for what the options of the store say.
const AS_STORE: &str = "store";

/// The word for no separation, and no expiry.
const NEVER: &str = "never";

/// The level of zstd that programs take unless told otherwise.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 3;

/// An option of a keyspace; `None` for that of the store.
#[derive(Clone, Copy, Debug)]
struct Own<T>(Option<T>);

/// Options of a keyspace to be set.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options of the keyspace")]
pub(crate) struct OwnOptions {
    /// Compression of its tables and of its values in value files: none, lz4, zstd; or 'store'
    #[arg(long, value_name = "CODEC", value_parser = compression)]
    compression: Option<Own<Compression>>,

    /// Bits per key of its filters, up to 32; 0 for no filters; or 'store'
    #[arg(long, value_name = "N", value_parser = filter_bits)]
    filter_bits: Option<Own<u32>>,

    /// Store values of at least this size in value files, apart from their keys; or 'never', or 'store'
    #[arg(long, value_name = "SIZE", value_parser = separation)]
    separate_from: Option<Own<u64>>,

    /// Size of its data blocks, a power of two; or 'store'
    #[arg(long, value_name = "SIZE", value_parser = block_bytes)]
    block_bytes: Option<Own<u32>>,

    /// Let records expire so long after they are written, from now on, as in 30m or 90d; or 'never'
    #[arg(long, value_name = "TIME", value_parser = expire_after, allow_hyphen_values = true)]
    expire_after: Option<Own<ExpiryRule>>,

    /// Let records expire at the time in this field, a timestamp in UTC, from now on
    #[arg(long, value_name = "NAME", conflicts_with = "expire_after")]
    expire_at: Option<String>,
}

fn own<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Own<T>, String> {
    if text == AS_STORE { Ok(Own(None)) } else { parse(text).map(|value| Own(Some(value))) }
}

fn compression(text: &str) -> Result<Own<Compression>, String> {
    own(text, |text| match text {
        "none" => Ok(Compression::None),
        "lz4" => Ok(Compression::Lz4),
        #[cfg(feature = "zstd")]
        "zstd" => Ok(Compression::Zstd { level: ZSTD_LEVEL }),
        #[cfg(not(feature = "zstd"))]
        "zstd" => Err("this program was built without zstd".to_owned()),
        _ => Err(format!("use none, lz4, zstd or {AS_STORE}")),
    })
}

fn filter_bits(text: &str) -> Result<Own<u32>, String> {
    own(text, |text| match text.parse() {
        Ok(bits @ 0..=32) => Ok(bits),
        _ => Err(format!("use a number from 0 to 32, or {AS_STORE}")),
    })
}

fn separation(text: &str) -> Result<Own<u64>, String> {
    own(text, |text| if text == NEVER { Ok(u64::MAX) } else { text.parse().map(|ByteSize(bytes)| bytes) })
}

fn expire_after(text: &str) -> Result<Own<ExpiryRule>, String> {
    match text {
        NEVER => Ok(Own(None)),
        _ => positive_duration(text).map(|after| Own(Some(ExpiryRule::After(after)))),
    }
}

fn block_bytes(text: &str) -> Result<Own<u32>, String> {
    own(text, |text| {
        let ByteSize(bytes) = text.parse()?;
        u32::try_from(bytes).map_err(|_| "a block has less than 4 GiB".to_owned())
    })
}

impl OwnOptions {
    /// Whether none is to be set.
    pub(crate) fn is_empty(&self) -> bool {
        self.compression.is_none()
            && self.filter_bits.is_none()
            && self.separate_from.is_none()
            && self.block_bytes.is_none()
            && self.expire_after.is_none()
            && self.expire_at.is_none()
    }

    /// The options of a keyspace, with those to be set in their places.
    pub(crate) fn of(&self, mut options: KeyspaceOptions) -> KeyspaceOptions {
        if let Some(Own(compression)) = self.compression {
            options = options.compression(compression);
        }
        if let Some(Own(bits)) = self.filter_bits {
            options = options.filter_bits_per_key(bits);
        }
        if let Some(Own(bytes)) = self.separate_from {
            options = options.separation_bytes(bytes);
        }
        if let Some(Own(bytes)) = self.block_bytes {
            options = options.block_bytes(bytes);
        }
        if let Some(Own(rule)) = &self.expire_after {
            options = options.expiry(rule.clone());
        }
        if let Some(field) = &self.expire_at {
            options = options.expiry(ExpiryRule::AtField(field.clone()));
        }
        options
    }
}

/// The options of a keyspace in words; `None` if all are those of the store.
pub(crate) fn shown(options: &KeyspaceOptions) -> Option<String> {
    let mut words = Vec::new();
    words.extend(options.compression.map(|compression| format!("compression {}", compression.name())));
    words.extend(options.filter_bits_per_key.map(|bits| match bits {
        0 => "no filters".to_owned(),
        bits => format!("filters of {bits} bits per key"),
    }));
    words.extend(options.separation_bytes.map(|bytes| match bytes {
        u64::MAX => "no value files".to_owned(),
        bytes => format!("value files from {}", exact_size(bytes)),
    }));
    words.extend(options.block_bytes.map(|bytes| format!("blocks of {}", exact_size(bytes.into()))));
    words.extend(options.expiry.as_ref().map(|rule| match rule {
        ExpiryRule::AtField(field) => format!("expiry at the field {field:?}"),
        ExpiryRule::After(after) => format!("expiry {after:?} after the write"),
        other => format!("expiry by {other:?}"),
    }));
    if words.is_empty() { None } else { Some(words.join(", ")) }
}

/// Facts of a keyspace with its options, if it has any.
pub(crate) fn add_to(mut facts: Value, options: &KeyspaceOptions) -> Value {
    if *options != KeyspaceOptions::default()
        && let Some(facts) = facts.as_object_mut()
    {
        facts.insert("options".to_owned(), json!(options));
    }
    facts
}
