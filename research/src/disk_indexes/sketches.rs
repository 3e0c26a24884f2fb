//! The sketches of the evaluation of disk indexes.

use crate::pages::sketch::{Sketch, SketchShape, bytes, count};

pub(crate) const SKETCHES: &[Sketch] = &[
    Sketch {
        experiment: "disk/profiling",
        name: "disk-profiling",
        title: "Hardness of the key sets",
        caption: "Segments of the optimal piecewise linear approximation by its error: few are easy.",
        panel: &[],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &[],
            values: &[
                count("segments_error_16", "error 16"),
                count("segments_error_64", "error 64"),
                count("segments_error_256", "error 256"),
                count("segments_error_1024", "error 1024"),
                count("segments_error_4096", "error 4096"),
            ],
            label: "segments",
        },
    },
    Sketch {
        experiment: "disk/profiling",
        name: "disk-conflicts",
        title: "Conflict degree of the key sets",
        caption: "Keys that the best line places in one slot, at most.",
        panel: &[],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &[],
            values: &[count("conflict_degree", "keys")],
            label: "keys of one slot",
        },
    },
    Sketch {
        experiment: "disk/lookups",
        name: "disk-lookups",
        title: "Blocks of a lookup",
        caption: "Nothing in memory. Fewer is better.",
        panel: &[],
        only: &[],
        shape: LOOKUP_BLOCKS,
    },
    Sketch {
        experiment: "disk/lookups",
        name: "disk-lookups-parts",
        title: "Blocks of a lookup, of inner nodes and of leaves",
        caption: "Nothing in memory.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Bars {
            rows: &["structure"],
            parts: &[count("inner_blocks_per_get", "inner"), count("leaf_blocks_per_get", "leaf")],
        },
    },
    Sketch {
        experiment: "disk/lookups",
        name: "disk-scans",
        title: "Blocks of a scan of 100",
        caption: "Nothing in memory. Fewer is better.",
        panel: &[],
        only: &[],
        shape: SCAN_BLOCKS,
    },
    Sketch {
        experiment: "disk/hybrids",
        name: "disk-hybrids",
        title: "Blocks of a lookup with learned inner nodes over B+-tree leaves",
        caption: "Nothing in memory. Fewer is better.",
        panel: &[],
        only: &[],
        shape: LOOKUP_BLOCKS,
    },
    Sketch {
        experiment: "disk/hybrids",
        name: "disk-hybrids-scans",
        title: "Blocks of a scan of 100 with learned inner nodes over B+-tree leaves",
        caption: "Nothing in memory. Fewer is better.",
        panel: &[],
        only: &[],
        shape: SCAN_BLOCKS,
    },
    Sketch {
        experiment: "disk/storage",
        name: "disk-storage",
        title: "Size of the file, over the B+-tree's",
        caption: "After a bulk load, and after as many inserts as there were keys.",
        panel: &[],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &["structure"],
            values: &[count("bulk_ratio_to_btree", "bulk load"), count("grown_ratio_to_btree", "grown")],
            label: "times the B+-tree",
        },
    },
    Sketch {
        experiment: "disk/buffer",
        name: "disk-buffer",
        title: "Blocks read by an operation, by the size of the buffer",
        caption: "w1 lookups, w3 inserts, w5 one lookup per insert.",
        panel: &["workload", "keys"],
        only: &[],
        shape: SketchShape::Lines {
            x: bytes("buffer_bytes", "size of the buffer"),
            series: &["structure"],
            y: count("blocks_read_per_operation", "blocks"),
        },
    },
    Sketch {
        experiment: "disk/block-size",
        name: "disk-block-size",
        title: "Blocks of a lookup by their size",
        caption: "Nothing in memory.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Lines {
            x: bytes("block_bytes", "size of a block"),
            series: &["structure"],
            y: count("blocks_per_get", "blocks"),
        },
    },
];

/// Blocks of a lookup.
const LOOKUP_BLOCKS: SketchShape = SketchShape::Dots {
    rows: &["keys"],
    series: &["structure"],
    values: &[count("blocks_per_get", "blocks")],
    label: "blocks read by a lookup",
};

/// Blocks of a scan.
const SCAN_BLOCKS: SketchShape = SketchShape::Dots {
    rows: &["keys"],
    series: &["structure"],
    values: &[count("blocks_per_scan100", "blocks")],
    label: "blocks read by a scan",
};
