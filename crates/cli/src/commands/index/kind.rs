//! Whether a file is an index.

use crate::failure::Result;
use ogive::index::AnyIndex;
use ogive::io::Storage;
use ogive::page::PageOptions;
use ogive::{Error, FileFormat};
use std::sync::Arc;
