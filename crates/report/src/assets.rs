//! The files that pages carry: styles, our scripts, and the chart library.

/// The style of all pages.
pub(crate) const PAGE_CSS: &str = include_str!("../assets/page.css");
/// The chart library, and its style; version and source are in `assets/package-lock.json`.
pub(crate) const UPLOT_JS: &str = include_str!("../assets/uplot.min.js");
pub(crate) const UPLOT_CSS: &str = include_str!("../assets/uplot.min.css");
/// Charts: size, colours, zoom by wheel, touch and keys.
pub(crate) const CHARTS_JS: &str = include_str!("../assets/charts.js");

/// The licence of the chart library, which pages that carry it name.
pub(crate) const UPLOT_NOTICE: &str = "uPlot (c) Leon Sorokin, MIT licence";
