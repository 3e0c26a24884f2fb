//! The designs of the tests: those of the engine. `ogive-research` runs the same tests with those of papers.

/// Designs that must be valid.
pub(crate) fn requests() -> &'static [&'static str] {
    &[
        "tuned",
        "btree",
        "coded",
        "none",
        "layers=3,builder=gband/eband/coded,lambda=4096/1024/1024",
        "layers=2,builder=coded/gstep,lambda=512/1024",
        "layers=2,builder=pla,error=2/1",
    ]
}

/// Designs that may have one layer, of which the reads of one level vary.
pub(crate) fn of_one_layer() -> &'static [&'static str] {
    &["layers=1,builder=gband,lambda=8192", "layers=1,builder=pla,error=4", "coded"]
}

/// Designs whose reads are weighed by lookups.
pub(crate) fn weighed() -> &'static [&'static str] {
    &[
        "btree",
        "layers=3,builder=pla,error=2",
        "coded",
        "none",
        "layers=3,builder=gband/eband/coded,lambda=4096/1024/1024",
        "layers=2,builder=gband/gstep,lambda=4096/512",
    ]
}

/// Designs that are not to be faster than the tuned one.
pub(crate) fn rivals() -> &'static [&'static str] {
    &["btree", "layers=3,builder=pla,error=1", "layers=3,builder=pla,error=33", "coded", "none"]
}
