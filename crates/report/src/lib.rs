//! Self-contained pages (HTML) and figures (SVG) of Ogive's files and experiments.
//!
//! Pure functions from data to text: this crate reads no file, no clock and no environment. A [`Page`] is one HTML file
//! that opens from disk, loads nothing, and runs only the scripts that it was built with: its Content-Security-Policy
//! lists their hashes. Everything that comes from files (keys, values, names) is escaped on its way into the page
//! ([`escape`]).
//!
//! There are two ways to draw:
//!
//! * [`svg`]: static figures, drawn here, for pages, documents and notebooks;
//! * [`Chart`]: interactive charts with zoom, drawn in the browser by uPlot.
//!
//! Each figure of a page carries the numbers behind it as a table, for readers who cannot see it.
//!
//! ```
//! use ogive_report::{DataTable, Figure, Page, svg};
//!
//! let bars = svg::BarChart::new("Bytes by part", svg::Unit::Bytes)
//!     .parts(["data", "index"])
//!     .row("words.ogive", &[4096.0, 128.0]);
//! let table = DataTable::new(["part", "bytes"]).row(["data", "4,096"]).row(["index", "128"]);
//! let page = Page::new("words.ogive")
//!     .command("ogive report words.ogive -o report.html")
//!     .section("Parts", |section| section.figure(Figure::of_svg("What the file holds", &bars).table(table)));
//! let html = page.to_html();
//! assert!(html.starts_with("<!doctype html>") && html.contains("Content-Security-Policy"));
//! ```

mod assets;
mod chart;
mod data_table;
pub mod escape;
mod figure;
pub mod format;
pub mod index;
pub mod join;
mod key_axis;
pub mod notebook;
mod page;
pub mod parquet;
pub mod plan;
pub mod profile;
mod section;
pub mod store;
pub mod svg;
pub mod table;
pub mod tune;

pub use chart::{Chart, ChartSeries, SeriesStyle};
pub use data_table::DataTable;
pub use figure::Figure;
pub use page::Page;
pub use section::Section;

/// The element near the beginning of every page by which it is known.
pub const PAGE_MARK: &str = "<meta name=\"generator\" content=\"ogive\">";

/// Largest size of a page without the layers of an index, in bytes.
pub const PAGE_BYTES_MAX: usize = 300_000;
/// Largest size of a page in all, in bytes.
pub const PAGE_WITH_LAYERS_BYTES_MAX: usize = 2_000_000;
