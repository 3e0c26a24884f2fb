//! The sketches of the experiments. Experiments without one are shown as tables.

use super::sketch::{Sketch, SketchShape, bytes, count, ns, seconds, us};

/// The sketches of an experiment.
pub(super) fn of(experiment: &str) -> impl Iterator<Item = &'static Sketch> {
    SKETCHES.iter().filter(move |sketch| sketch.experiment == experiment)
}

const SKETCHES: &[Sketch] = &[
    Sketch {
        experiment: "airindex/designs",
        name: "airindex-designs",
        title: "Cold lookup by storage and design, relative to the tuned design",
        caption: "Each dot is a design on one storage: its modelled time over that of the design tuned for that \
            storage, which is at 1. Further left is faster. Not drawn: without an index, all data are read.",
        panel: &["keys"],
        only: &[("design", &["tuned", "coded", "btree", "pgm:64", "pgm:128"])],
        shape: SketchShape::Dots {
            rows: &["profile"],
            series: &["design"],
            values: &[count("ratio_to_tuned", "ratio")],
            label: "times the tuned design",
        },
    },
    Sketch {
        experiment: "airindex/designs",
        name: "airindex-tuned",
        title: "Cold lookup with the tuned design, beside AirIndex's own",
        caption: "Modelled time with our tuned design, and with the design that the authors' code chooses, priced by \
            the same model.",
        panel: &["profile"],
        only: &[("design", &["tuned"]), ("profile", &["ssd", "nfs"])],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &[],
            values: &[us("modelled_us", "Ogive"), us("paper_us", "AirIndex").quoted()],
            label: "time of a cold lookup",
        },
    },
    Sketch {
        experiment: "airindex/warm",
        name: "airindex-warm",
        title: "Mean time of the first lookups, with a cache that holds all",
        caption: "The more lookups, the more of the index is in memory: designs that are slow at first catch up.",
        panel: &["keys", "profile"],
        only: &[],
        shape: SketchShape::Lines {
            x: count("lookups", "number of lookups"),
            series: &["design"],
            y: us("mean_modelled_us", "mean time of a lookup"),
        },
    },
    Sketch {
        experiment: "airindex/breakdown",
        name: "airindex-breakdown",
        title: "Where the time of a lookup goes",
        caption: "Reads are modelled, processor time is measured in memory.",
        panel: &["keys", "profile", "design"],
        only: &[],
        shape: SketchShape::Bars {
            rows: &["up_to_lookup"],
            parts: &[
                us("open_modelled_us", "opening"),
                us("layer_2_modelled_us", "layer 2"),
                us("layer_1_modelled_us", "layer 1"),
                us("data_modelled_us", "data"),
                us("get_cpu_us", "processor"),
            ],
        },
    },
    Sketch {
        experiment: "airindex/spectrum",
        name: "airindex-spectrum",
        title: "Bytes that a cold lookup reads, by latency and bandwidth",
        caption: "Each dot is the tuned design for one storage: the longer the latency and the higher the bandwidth, \
            the fewer layers.",
        panel: &[],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["latency_us"],
            series: &["index_layers"],
            values: &[bytes("read_bytes", "bytes")],
            label: "bytes read by a cold lookup",
        },
    },
    Sketch {
        experiment: "airindex/knobs",
        name: "airindex-knobs",
        title: "Settings of each family, relative to the tuned design",
        caption: "Each dot is one setting: of pages, errors or layers.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["knob"],
            series: &["profile"],
            values: &[count("ratio_to_tuned", "ratio")],
            label: "times the tuned design",
        },
    },
    Sketch {
        experiment: "airindex/updates",
        name: "airindex-updates",
        title: "Operations per second by workload, relative to the B+-tree",
        caption: "Modelled throughput over that of the B+-tree with the same memory: nothing cached, or a pool of 1 % \
            of the data. Further right is faster.",
        panel: &["keys", "profile", "memory"],
        only: &[("part", &["workloads"])],
        shape: SketchShape::Dots {
            rows: &["workload"],
            series: &["structure"],
            values: &[count("ratio_to_btree", "ratio")],
            label: "times the B+-tree",
        },
    },
    Sketch {
        experiment: "aulid/blocks",
        name: "aulid-lookups",
        title: "Blocks read by a lookup, by what is in memory",
        caption: "Mean blocks of a lookup of a present key, with this many bytes of inner nodes in memory, upper \
            levels first. Fewer is better. Hollow: the authors' code, with nothing in memory.",
        panel: &["phase"],
        only: &[("resident_bytes", &["0", "4,096"])],
        shape: SketchShape::Dots {
            rows: &["keys", "resident_bytes"],
            series: &["structure"],
            values: &[count("blocks_per_get", "blocks")],
            label: "blocks read by a lookup",
        },
    },
    Sketch {
        experiment: "aulid/blocks",
        name: "aulid-inserts",
        title: "Blocks read by an insert, by what is in memory",
        caption: "Mean blocks read to insert a new key. Fewer is better.",
        panel: &["phase"],
        only: &[("resident_bytes", &["0", "4,096"])],
        shape: SketchShape::Dots {
            rows: &["keys", "resident_bytes"],
            series: &["structure"],
            values: &[count("blocks_read_per_insert", "blocks")],
            label: "blocks read by an insert",
        },
    },
    Sketch {
        experiment: "aulid/throughput",
        name: "aulid-throughput",
        title: "Operations per second by workload, modelled",
        caption: "w1 lookups, w2 scans of 100, w3 inserts, w4 nine lookups per insert, w5 one lookup per insert, w6 \
            nine inserts per lookup. More is better.",
        panel: &["keys", "profile"],
        only: &[("workload", &["w1", "w2", "w3", "w4", "w5", "w6"])],
        shape: SketchShape::Dots {
            rows: &["workload"],
            series: &["structure"],
            values: &[count("modelled_ops_per_s", "operations/s")],
            label: "operations per second",
        },
    },
    Sketch {
        experiment: "aulid/bulk-load",
        name: "aulid-bulk-load",
        title: "Time of a bulk load, over the B+-tree's",
        caption: "Less is better.",
        panel: &[],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &["structure"],
            values: &[count("load_ratio_to_btree", "ratio")],
            label: "times the B+-tree",
        },
    },
    Sketch {
        experiment: "bourbon/fig8",
        name: "bourbon-steps",
        title: "A lookup by its steps",
        caption: "Processor time of a lookup in a store in memory, by the steps of the paper: without models, with \
            models, and with our exact separators (coded).",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Bars {
            rows: &["learning"],
            parts: &[
                ns("find_files_ns", "find files"),
                ns("search_index_ns", "search index"),
                ns("search_filter_ns", "search filter"),
                ns("load_block_ns", "load block"),
                ns("search_block_ns", "search block"),
                ns("read_value_ns", "read value"),
            ],
        },
    },
    Sketch {
        experiment: "bourbon/fig2",
        name: "bourbon-devices",
        title: "A lookup by its steps, without models",
        caption: "Each bar is drawn from the time of all steps: the slower the device, the less the search matters.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Bars {
            rows: &["profile"],
            parts: &[
                ns("find_files_ns", "find files"),
                ns("search_index_ns", "search index"),
                ns("search_filter_ns", "search filter"),
                ns("load_block_ns", "load block"),
                ns("search_block_ns", "search block"),
                ns("read_value_ns", "read value"),
            ],
        },
    },
    Sketch {
        experiment: "bourbon/fig3",
        name: "bourbon-lifetimes",
        title: "Mean lifetime of a table by level",
        caption: "The deeper the level, the longer a table lives, and the more a model of it is worth.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Lines {
            x: count("level", "level"),
            series: &["writes_percent"],
            y: count("mean_life_operations", "operations"),
        },
    },
    Sketch {
        experiment: "bourbon/fig10",
        name: "bourbon-lookups",
        title: "Lookups without writes",
        caption: "Processor time of a lookup, after a sequential and a random load.",
        panel: &["load"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["keys"],
            series: &["learning"],
            values: &[ns("processor_ns_per_get", "time")],
            label: "processor time of a lookup",
        },
    },
    Sketch {
        experiment: "bourbon/table1",
        name: "bourbon-speedup",
        title: "Lookups and writes with models, over those without",
        caption: "Speed of the foreground work over that without models. Above 1 is faster.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Dots {
            rows: &["writes_percent", "learning"],
            series: &[],
            values: &[count("foreground_speedup", "Ogive")],
            label: "times as fast as without models",
        },
    },
    Sketch {
        experiment: "bourbon/table2",
        name: "bourbon-optane",
        title: "Lookups with data on a fast device, over those without models",
        caption: "Above 1 is faster.",
        panel: &["keys"],
        only: &[],
        shape: BOURBON_DEVICE,
    },
    Sketch {
        experiment: "bourbon/table3",
        name: "bourbon-ssd",
        title: "Lookups with data on a SATA SSD, over those without models",
        caption: "Above 1 is faster.",
        panel: &["keys"],
        only: &[],
        shape: BOURBON_DEVICE,
    },
    Sketch {
        experiment: "bourbon/fig13",
        name: "bourbon-policies",
        title: "Work by learning policy and share of writes",
        caption: "Processor time of the foreground, of learning, and of flushes and compactions.",
        panel: &["keys"],
        only: &[],
        shape: SketchShape::Bars {
            rows: &["writes_percent", "learning"],
            parts: &[
                seconds("foreground_s", "foreground"),
                seconds("learning_s", "learning"),
                seconds("compaction_s", "compaction"),
            ],
        },
    },
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
];

const BOURBON_DEVICE: SketchShape = SketchShape::Dots {
    rows: &["requests", "learning"],
    series: &[],
    values: &[count("speedup", "Ogive")],
    label: "times as fast as without models",
};

const JOIN: SketchShape = SketchShape::Dots {
    rows: &["ratio"],
    series: &["method"],
    values: &[us("modelled_us", "modelled"), us("measured_us", "measured")],
    label: "time of the join",
};
