//! Parquet files: footers, pages, and the decoding of their rows.

pub(crate) mod decode;
pub(crate) mod fetched;
pub(crate) mod footer;
pub(crate) mod footer_fields;
pub(crate) mod int96;
pub(crate) mod page_header;
pub(crate) mod pages;
pub(crate) mod walk;
