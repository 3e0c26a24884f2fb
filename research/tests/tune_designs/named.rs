//! The designs of the tests, in the place of the engine's module of this name.

use ogive_research::register;

/// Designs that must be valid.
pub(crate) fn requests() -> &'static [&'static str] {
    register();
    &[
        "pgm:64",
        "layers=2,builder=plr/pla,error=2/1",
        "rmi",
        "radix-spline",
        "radix-spline:64",
        "plex",
        "plex:64",
        "data-calculator",
        "layers=1,builder=radix,bins=64",
        "layers=3,builder=hist-tree,bins=16,lambda=2048/512/512",
        "layers=3,builder=rmi-cubic/spline/rmi-radix,error=-/2/-,leaves=40/-/4",
    ]
}

/// Designs that may have one layer, of which the reads of one level vary.
pub(crate) fn of_one_layer() -> &'static [&'static str] {
    register();
    &["layers=1,builder=plr,error=4", "rmi"]
}

/// Designs whose reads are weighed by lookups.
pub(crate) fn weighed() -> &'static [&'static str] {
    register();
    &["pgm:64"]
}

/// Designs that are not to be faster than the tuned one.
pub(crate) fn rivals() -> &'static [&'static str] {
    register();
    &["pgm:16", "pgm:64", "pgm:1024", "radix-spline", "plex", "rmi", "data-calculator"]
}
