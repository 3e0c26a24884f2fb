//! The sketches of joins.

use crate::pages::sketch::{Sketch, SketchShape, bytes, count, us};

pub(crate) const SKETCHES: &[Sketch] = &[
    Sketch {
        experiment: "join/fig3",
        name: "joins-methods",
        title: "Joins by method and ratio of sizes",
        caption: "Modelled time of joining the inner table with a sample of one row in 1, 10, 100 or 1,000: the \
            smaller the outer side, the better it pays to look keys up (inlj).",
        panel: &["keys", "profile"],
        only: &[],
        shape: JOIN,
    },
    Sketch {
        experiment: "join/strings",
        name: "joins-strings",
        title: "Joins of strings by method and ratio of sizes",
        caption: "As for numbers, with strings of 16 bytes as keys.",
        panel: &["keys", "profile"],
        only: &[],
        shape: JOIN,
    },
    Sketch {
        experiment: "join/table2",
        name: "joins-sizes",
        title: "Size of the index by window",
        caption: "A PGM-index over all keys, over a sample, and over blocks, and the entries of a B-tree.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["window_keys"],
            series: &[],
            values: &[
                bytes("btree_bytes", "B-tree"),
                bytes("keys_bytes", "PGM, all keys"),
                bytes("sampled_bytes", "PGM, sample"),
                bytes("blocks_bytes", "PGM, blocks"),
            ],
            label: "bytes of the index",
        },
    },
    Sketch {
        experiment: "join/auto",
        name: "joins-auto",
        title: "The chosen method over the best one",
        caption: "1 is the best choice.",
        panel: &["keys", "profile"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["order", "ratio"],
            series: &["memory_bytes"],
            values: &[count("over_best", "ratio")],
            label: "times the best method",
        },
    },
    Sketch {
        experiment: "join/fig4",
        name: "joins-memory",
        title: "Joins by method and memory",
        caption: "Modelled, and measured on the device.",
        panel: &["profile", "ratio"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["memory_bytes"],
            series: &["method"],
            values: &[us("modelled_us", "modelled"), us("measured_us", "measured")],
            label: "time of the join",
        },
    },
    Sketch {
        experiment: "join/fig4",
        name: "joins-preparation",
        title: "Time to prepare a join",
        caption: "To partition both sides, to build a hash table, or to sort and to make an index.",
        panel: &["profile", "ratio"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["memory_bytes"],
            series: &["method"],
            values: &[us("preparation_us", "time")],
            label: "time to prepare",
        },
    },
    Sketch {
        experiment: "join/fig5",
        name: "joins-threads",
        title: "Joins by threads, modelled",
        caption: "Time of the slowest thread.",
        panel: &["ratio"],
        only: &[("profile", &["ssd"])],
        shape: SketchShape::Lines {
            x: count("threads", "threads"),
            series: &["method"],
            y: us("modelled_us", "time of the join"),
        },
    },
    Sketch {
        experiment: "join/fig5",
        name: "joins-threads-measured",
        title: "Joins by threads, measured",
        caption: "On the device, with the cores that there are.",
        panel: &["ratio"],
        only: &[("profile", &["this device"])],
        shape: SketchShape::Lines {
            x: count("threads", "threads"),
            series: &["method"],
            y: us("measured_us", "time of the join"),
        },
    },
    Sketch {
        experiment: "join/fig6",
        name: "joins-windows",
        title: "Joins by the window of the model",
        caption: "Modelled on an SSD.",
        panel: &["ratio"],
        only: &[("profile", &["ssd"])],
        shape: SketchShape::Lines {
            x: count("window_keys", "keys of a window"),
            series: &["threads"],
            y: us("modelled_us", "time of the join"),
        },
    },
    Sketch {
        experiment: "join/fig6",
        name: "joins-windows-measured",
        title: "Joins by the window of the model, measured",
        caption: "On the device.",
        panel: &["ratio"],
        only: &[("profile", &["this device"])],
        shape: SketchShape::Lines {
            x: count("window_keys", "keys of a window"),
            series: &["threads"],
            y: us("measured_us", "time of the join"),
        },
    },
    Sketch {
        experiment: "join/fig7",
        name: "joins-sets",
        title: "Joins by method and key set",
        caption: "Modelled, and measured on the device.",
        panel: &["profile"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &["method"],
            values: &[us("modelled_us", "modelled"), us("measured_us", "measured")],
            label: "time of the join",
        },
    },
];

const JOIN: SketchShape = SketchShape::Dots {
    rows: &["ratio"],
    series: &["method"],
    values: &[us("modelled_us", "modelled"), us("measured_us", "measured")],
    label: "time of the join",
};
