//! Formats of files by their names.

use super::content::Content;
use super::format::Format;
use std::path::{Path, PathBuf};

/// Extensions of compressed files; the one before says what they contain.
const COMPRESSED_EXTENSIONS: [&str; 4] = ["gz", "gzip", "zst", "zstd"];

/// What text may be whose fields are not clear.
pub(super) const UNCLEAR: &str = "CSV or lines of text";

/// The path without the extension of its compression.
pub(super) fn inner_name(path: &Path) -> PathBuf {
    let is_compressed = COMPRESSED_EXTENSIONS.contains(&extension(path).as_str());
    if is_compressed { path.with_extension("") } else { path.to_owned() }
}

/// Bytes per key in a SOSD file, if the name is that of one.
pub(super) fn sosd_key_bytes(path: &Path) -> Option<u64> {
    let name = inner_name(path).file_name()?.to_str()?.to_ascii_lowercase();
    if name.ends_with(".u64") || name.ends_with("_uint64") {
        Some(8)
    } else if name.ends_with(".u32") || name.ends_with("_uint32") {
        Some(4)
    } else {
        None
    }
}

/// Whether a name states a format.
pub(super) fn is_named_as_input(path: &Path) -> bool {
    by_name(&inner_name(path)).is_some()
}

/// The format that a name states.
pub(super) fn by_name(path: &Path) -> Option<Format> {
    if sosd_key_bytes(path).is_some() {
        return Some(Format::Sosd);
    }
    match extension(path).as_str() {
        "csv" => Some(Format::Csv),
        "tsv" => Some(Format::Tsv),
        "json" | "jsonl" | "ndjson" => Some(Format::Jsonl),
        "parquet" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

/// Whether a name states a format that is not known, such as that of a configuration.
pub(super) fn is_named_otherwise(path: &Path) -> bool {
    !matches!(&*extension(path), "" | "txt" | "text" | "log" | "keys" | "lst" | "list" | "gz" | "zst" | "dat" | "data")
}

/// The extension of a path in small letters.
pub(super) fn extension(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// The format of a file that can be read, by its name, or else by its first bytes.
pub(crate) fn format_name(path: &Path, head: &[u8]) -> Option<&'static str> {
    if let Some(format) = by_name(&inner_name(path)) {
        return Some(format.name());
    }
    match Content::of(head, b"") {
        _ if head.is_empty() => None,
        Content::Of(format) => Some(format.name()),
        Content::Separated(b'\t') => Some(Format::Tsv.name()),
        Content::Separated(_) => Some(Format::Csv.name()),
        Content::Unclear(_) => Some(UNCLEAR),
        Content::Text => Some(Format::Lines.name()),
        Content::Foreign(_) | Content::Zeros | Content::Utf16(_) => None,
    }
}
