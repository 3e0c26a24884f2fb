//! Settings shared by these experiments: key sets, profiles, designs, threads.

use anyhow::Result;
use ogive::io::{Profile, available_threads};
use ogive::tune::{DesignRequest, DesignSearchOptions};

use crate::experiments::Context;
pub(super) use crate::experiments::progress::Progress;

/// The key sets with known figures of AirIndex.
pub(super) const KEY_SETS: [&str; 3] = ["lognormal", "uniform", "step"];

/// The requested profiles, else `default`.
pub(super) fn profiles(context: &Context, default: &[&str]) -> Result<Vec<Profile>> {
    context.profiles_or(default)
}

/// The requested designs, else `default`.
pub(super) fn designs(context: &Context, default: &[&str]) -> Result<Vec<DesignRequest>> {
    let parse = |name: &str| Ok(name.parse::<DesignRequest>()?);
    match context.designs.as_slice() {
        [] => default.iter().map(|name| parse(name)).collect(),
        asked => asked.iter().map(|name| parse(name)).collect(),
    }
}

/// Whether a design is searched for with T(n) of the storage.
pub(super) fn is_searched(design: &DesignRequest) -> bool {
    match design {
        DesignRequest::Tuned => true,
        // Of the papers' designs, all but those whose errors are stated.
        DesignRequest::Given(design) => !["pgm:", "radix-spline:"].iter().any(|fixed| design.name().starts_with(fixed)),
        _ => false,
    }
}

/// The default search, on all processors.
pub(super) fn search() -> DesignSearchOptions {
    DesignSearchOptions::default().threads(available_threads())
}

#[cfg(test)]
mod tests {
    use super::super::keys::Keys;
    use super::super::rows::{IntegerRecords, kinds};
    use super::*;
    use crate::keys::open;

    #[test]
    fn a_design_that_depends_on_the_storage_is_searched_for() -> Result<()> {
        crate::register();
        let records = IntegerRecords::new(Keys::load(&open("lognormal:100k")?)?, 8)?;
        let blocks = records.blocks(512);
        // Bytes alone, and reads alone.
        let storages = [Profile::affine("bytes", 0.1, 1.0, 1)?, Profile::affine("reads", 1e6, 1e6, 1)?];
        let mut depend = Vec::new();
        for name in [
            "tuned",
            "btree",
            "pgm:64",
            "radix-spline",
            "radix-spline:64",
            "plex",
            "plex:64",
            "rmi",
            "data-calculator",
            "coded",
            "none",
            "layers=2,builder=spline/radix,error=4/-,bins=-/8",
        ] {
            let request = name.parse::<DesignRequest>()?;
            let [one, other] = storages.each_ref().map(|storage| kinds(&blocks.design(&request, storage, &search())));
            if one != other {
                assert!(is_searched(&request), "{name}: {one}, {other}");
                depend.push(name);
            }
        }
        assert!(depend.contains(&"tuned") && depend.contains(&"data-calculator") && depend.len() > 3, "{depend:?}");
        Ok(())
    }
}
