//! The chart library of reports: fetched by npm as its lock file states, and checked in as one file.

use crate::Failure;
use crate::process::Step;
use std::fs;
use std::path::Path;

/// The folder of the lock file and of the checked-in files.
const ASSETS: &str = "crates/report/assets";
/// Files of the package, and their names here.
const FILES: [(&str, &str); 3] =
    [("dist/uPlot.iife.min.js", "uplot.min.js"), ("dist/uPlot.min.css", "uplot.min.css"), ("LICENSE", "LICENSE-uPlot")];

/// Fetches the library in `target/charts` and copies its files.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let (assets, scratch) = (root.join(ASSETS), root.join("target/charts"));
    let failed = |error| Failure::Check(format!("cannot copy the chart library: {error}"));
    fs::create_dir_all(&scratch).map_err(failed)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(assets.join(name), scratch.join(name)).map_err(failed)?;
    }
    Step::new("charts", "npm ci --ignore-scripts --no-audit --no-fund").run(&scratch)?;
    for (from, to) in FILES {
        fs::copy(scratch.join("node_modules/uplot").join(from), assets.join(to)).map_err(failed)?;
    }
    println!("copied {} files to {ASSETS}; `cargo xtask tidy` compares their version with the lock file", FILES.len());
    Ok(())
}
