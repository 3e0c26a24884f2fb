//! The designs of the tests, in the place of the engine's module of this name.

use ogive_research::register;

/// Designs by name.
pub(crate) fn named() -> &'static [&'static str] {
    register();
    &["pgm:64", "radix-spline", "plex:64", "rmi"]
}

/// Designs layer by layer.
pub(crate) fn layered() -> &'static [&'static str] {
    register();
    &["layers=2,builder=plr/hist-tree,lambda=-/512,error=2/-,bins=-/4"]
}

/// Designs whose reads are counted.
pub(crate) fn read() -> &'static [&'static str] {
    register();
    &[
        "pgm:16",
        "radix-spline:16",
        "plex:16",
        "rmi",
        "data-calculator",
        "layers=2,builder=spline/hist-tree,lambda=-/512,error=1/-,bins=-/4",
    ]
}

/// The designs with a name; of those with an error in keys, small and large ones.
pub(crate) fn rivals() -> &'static [&'static str] {
    register();
    &[
        "pgm:16",
        "pgm:64",
        "pgm:256",
        "pgm:1024",
        "radix-spline",
        "radix-spline:64",
        "radix-spline:1024",
        "plex",
        "plex:64",
        "plex:1024",
        "rmi",
        "data-calculator",
    ]
}
