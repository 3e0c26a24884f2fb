//! The designs of the tests: those of the engine. `ogive-research` runs the same tests with those of papers.

/// Designs by name.
pub(crate) fn named() -> &'static [&'static str] {
    &["tuned", "coded", "btree", "none"]
}

/// Designs layer by layer.
pub(crate) fn layered() -> &'static [&'static str] {
    &[
        "layers=1,builder=gband,lambda=4096",
        "layers=2,builder=gband/gstep,lambda=1024/512",
        "layers=3,builder=eband/coded/gband,lambda=2048/512/1024",
        "layers=2,builder=coded,lambda=4096/512",
        "layers=3,builder=pla,error=2",
    ]
}

/// Designs whose reads are counted.
pub(crate) fn read() -> &'static [&'static str] {
    &[
        "tuned",
        "coded",
        "btree",
        "layers=1,builder=gband,lambda=8192",
        "layers=2,builder=gband/gband,lambda=4096/512",
        "layers=3,builder=eband/coded/gband,lambda=4096/512/512",
        "layers=3,builder=pla,error=1",
    ]
}

/// Designs that are not to be faster than the tuned one.
pub(crate) fn rivals() -> &'static [&'static str] {
    &["coded", "btree", "layers=3,builder=pla,error=1", "layers=3,builder=pla,error=16", "none"]
}
