//! AULID: the plan, and the judges of its claims.

use crate::experiments::Context;
use crate::keys::{AS_COVID, AS_GENOME, AS_OSM, AS_OSM800, AS_PLANET};
use crate::pages::base_set;
use crate::paper::judging::{ABOUT_EQUAL, TIE, about_equal, at_most_equal, by_factor, by_least, reaches, told};
use crate::paper::plan::{Item, Paper, counts, times};
use crate::paper::rows::{Rows, Span, short};
use crate::paper::step::{Step, keys, names};
use crate::paper::verdict::Verdict;
use crate::workload::Mix;

pub(crate) const AULID: Paper = Paper {
    name: "aulid",
    title: "AULID",
    citation: "H. Lan, Z. Bao, J. S. Culpepper, R. Borovica-Gajic, Y. Dong: A Simple Yet High-Performing On-disk \
        Learned Index: Can We Have Our Cake and Eat it Too?, 2023",
    family: "aulid",
    document: "research/src/aulid/page.md",
    explanatory: &["Figure 2", "Figure 3", "Figure 4"],
    items: ITEMS,
};

/// The paper's structures, and ours.
pub(crate) const STRUCTURES: [&str; 7] = ["btree", "fiting", "pgm", "alex", "lipp", "aulid", "ogive"];
const LEARNED: [&str; 4] = ["fiting", "pgm", "alex", "lipp"];
const RIVALS: [&str; 5] = ["btree", "fiting", "pgm", "alex", "lipp"];
/// The paper's workloads.
const WORKLOADS: [&str; 6] = ["w1", "w2", "w3", "w4", "w5", "w6"];
const KEY_SETS: [&str; 3] = ["lognormal", "uniform", "step"];
/// Real sets.
pub(crate) const ALL_REAL_KEYS: &[&str] = &[
    "git_times.u64",
    "boundary_morton.u64",
    "osm_nodeid.u64",
    "covid_geo.u64",
    "git_oid.u64",
    "genome_b37.u64",
    "kmer32.u64",
    "ticks_ms.u64",
    "covid_a.u64",
];
/// Those of the steps that run each workload on each structure.
const REAL_KEYS: &[&str] =
    &["git_times.u64", "boundary_morton.u64", "osm_nodeid.u64", "covid_geo.u64", "git_oid.u64", "genome_b37.u64"];
/// As hard as the paper's COVID and OSM.
const HARDNESS: [&str; 2] = [AS_COVID, AS_OSM];
/// As hard as its COVID800, PLANET800, GENOME800 and OSM800.
const LARGE_SETS: [&str; 4] = [AS_COVID, AS_PLANET, AS_GENOME, AS_OSM800];
/// Storages of modelled times. The paper's is a hard disk with SATA.
pub(crate) const STORAGES: [&str; 3] = ["nvme", "sata", "hdd"];
/// That of the judged times.
pub(crate) const DISK: &str = "hdd";
/// Keys at small scale: enough for a B-tree of three levels.
const SMALL: u64 = 100_000;
/// Keys at small scale where as many are inserted.
const SMALL_GROWING: u64 = 30_000;
const TEN_MILLION: u64 = 10_000_000;
const TWO_HUNDRED_MILLION: u64 = 200_000_000;

// Steps that are used by the evaluation of disk indexes as well, which has the same experiments.

pub(crate) static THROUGHPUT: Step = Step::new("aulid/throughput", 10.2, |scale| Context {
    key_sets: names(scale.pick(&KEY_SETS[..1], &KEY_SETS[..], &KEY_SETS[..])),
    structures: names(&STRUCTURES),
    profiles: names(&STORAGES),
    lookups: Some(scale.pick(3_000, 30_000, 10_000_000)),
    ..keys(scale.pick(SMALL_GROWING, TEN_MILLION, TEN_MILLION))
})
.real_keys(REAL_KEYS);

pub(crate) static UNCACHED: Step = Step::new("aulid/uncached", 9.0, |scale| Context {
    key_sets: names(scale.pick(&["lognormal", AS_OSM][..], &KEY_SETS, &KEY_SETS)),
    structures: names(&["btree", "fiting", "pgm", "alex", "lipp", "lipp-btree", "aulid", "ogive"]),
    profiles: names(&STORAGES),
    lookups: Some(scale.pick(3_000, 30_000, 10_000_000)),
    ..keys(scale.pick(SMALL_GROWING, TEN_MILLION, TEN_MILLION))
})
.real_keys(REAL_KEYS);

pub(crate) static INSERT: Step = Step::new("aulid/insert", 7.9, |scale| Context {
    key_sets: names(scale.pick(&KEY_SETS[..1], &KEY_SETS[..], &KEY_SETS[..])),
    structures: names(&["btree", "fiting", "pgm", "alex", "lipp", "lipp-btree", "aulid", "ogive"]),
    lookups: Some(scale.pick(20_000, 100_000, 10_000_000)),
    ..keys(scale.pick(SMALL_GROWING, TEN_MILLION, TEN_MILLION))
})
.real_keys(REAL_KEYS);

pub(crate) static STORAGE: Step = Step::new("disk/storage", 4.7, |scale| Context {
    key_sets: names(scale.pick(&KEY_SETS[..2], &KEY_SETS[..], &KEY_SETS[..])),
    structures: names(&STRUCTURES),
    ..keys(scale.pick(SMALL_GROWING / 2, 1_000_000, TEN_MILLION))
})
.real_keys(ALL_REAL_KEYS);

pub(crate) static TAIL: Step = Step::new("aulid/tail", 3.1, |scale| Context {
    key_sets: names(scale.pick(&KEY_SETS[..1], &KEY_SETS[..], &KEY_SETS[..])),
    structures: names(&STRUCTURES),
    profiles: names(&STORAGES),
    lookups: Some(scale.pick(5_000, 10_000, 10_000_000)),
    ..keys(scale.pick(SMALL_GROWING, TEN_MILLION, TEN_MILLION))
})
.real_keys(ALL_REAL_KEYS);

pub(crate) static PROFILING: Step = Step::new("disk/profiling", 0.8, |scale| Context {
    key_sets: names(&["uniform", "lognormal", "step", "gmm", AS_COVID, AS_PLANET, AS_GENOME, AS_OSM]),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(ALL_REAL_KEYS);

// Steps of this paper alone.

static BLOCKS: Step = Step::new("aulid/blocks", 8.9, |scale| Context {
    key_sets: names(&KEY_SETS),
    structures: names(&STRUCTURES),
    phases: names(&["bulk"]),
    lookups: Some(scale.pick(3_000, 30_000, 20_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(ALL_REAL_KEYS);

static BULK_LOAD: Step = Step::new("aulid/bulk-load", 7.5, |scale| Context {
    key_sets: names(scale.pick(&KEY_SETS[..2], &KEY_SETS[..], &KEY_SETS[..])),
    structures: names(&STRUCTURES),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(ALL_REAL_KEYS);

static SCALING: Step = Step::new("aulid/scaling", 11.8, |scale| Context {
    key_sets: names(scale.pick(&LARGE_SETS[..2], &LARGE_SETS[..], &LARGE_SETS[..])),
    profiles: names(&STORAGES),
    lookups: Some(scale.pick(3_000, 50_000, TEN_MILLION as usize)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
});

static REQUESTS: Step = Step::new("aulid/requests", 3.0, |scale| Context {
    key_sets: names(scale.pick(&KEY_SETS[..1], &KEY_SETS[..], &KEY_SETS[..])),
    structures: names(&STRUCTURES),
    profiles: names(&STORAGES),
    workloads: vec![Mix::LookupOnly, Mix::Balanced],
    lookups: Some(scale.pick(1_000, 30_000, TEN_MILLION as usize)),
    ..keys(scale.pick(SMALL_GROWING, TEN_MILLION, TEN_MILLION))
});

static LIPP_BTREE: Step = Step::new("aulid/lipp-btree", 3.6, |scale| Context {
    key_sets: names(scale.pick(&["lognormal", AS_OSM][..], &["lognormal", "uniform", AS_OSM], &HARDNESS)),
    profiles: names(&STORAGES),
    lookups: Some(scale.pick(5_000, 30_000, 10_000_000)),
    ..keys(scale.pick(SMALL_GROWING, TEN_MILLION, TEN_MILLION))
})
.real_keys(REAL_KEYS);

static READ_OPTIMISATIONS: Step = Step::new("aulid/read-optimisations", 3.0, |scale| Context {
    key_sets: names(&HARDNESS),
    lookups: Some(scale.pick(10_000, 100_000, 200_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(REAL_KEYS);

static ABLATION: Step = Step::new("aulid/ablation", 1.4, |scale| Context {
    key_sets: names(&HARDNESS),
    lookups: Some(scale.pick(3_000, 100_000, 200_000)),
    ..keys(scale.pick(SMALL, TEN_MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(REAL_KEYS);

static ADJUST: Step = Step::new("aulid/adjust", 1.8, |scale| Context {
    workloads: scale.pick(
        vec![Mix::WriteOnly, Mix::Balanced],
        vec![Mix::WriteOnly, Mix::ReadHeavy, Mix::Balanced, Mix::WriteHeavy],
        Vec::new(),
    ),
    lookups: Some(scale.pick(3_000, 500_000, 50_000_000)),
    ..keys(scale.pick(SMALL_GROWING, 2_000_000, 50_000_000))
});

const ITEMS: &[Item] = &[
    Item {
        place: "Figure 1",
        shows: "learned indexes beside the B+-tree: throughput, blocks, inserts by phase",
        steps: &[&THROUGHPUT, &UNCACHED, &BLOCKS, &INSERT],
        claims: &[
            counts(
                "None of the four learned indexes is competitive with the B+-tree on all workloads of any set \
                (Section 1).",
                |rows| {
                    let rows = uncached(rows).with_any("workload", &WORKLOADS);
                    let none_is = |group: &Rows<'_>| {
                        let least =
                            |name: &&str| Some(group.ratios(&["workload"], ("structure", name, "btree"), RATE)?.min);
                        let least: Vec<f64> = LEARNED.iter().map(least).collect::<Option<_>>()?;
                        Some(least.iter().all(|least| *least < 1.0 / ABOUT_EQUAL))
                    };
                    let share = rows.share(&["keys"], none_is)?;
                    Some(Verdict::of(share.is_all(), format!("so on {share} sets ({ON_DISK})")))
                },
            ),
            counts(
                "Among the learned indexes only LIPP fetches fewer blocks for a lookup than the B+-tree (Section 1.1, \
                Figure 1c).",
                |rows| {
                    let rows = nothing_resident(rows);
                    let fewer = |name: &&&str| {
                        let ratio = rows.ratios(&["keys"], ("structure", name, "btree"), "blocks_per_get");
                        ratio.is_some_and(|ratio| ratio.max < 1.0)
                    };
                    let fewer: Vec<&str> = LEARNED.iter().filter(fewer).copied().collect();
                    let ours = told(&rows, "structure", &RIVALS, "blocks_per_get");
                    Some(Verdict::of(fewer == ["lipp"], format!("blocks: {ours}; fewer on all sets: {}", list(&fewer))))
                },
            ),
            counts(
                "Scans cost LIPP more blocks than the others, because it passes many nodes (Section 1.1, Figure 1c).",
                |rows| {
                    let rows = nothing_resident(rows);
                    let most = rows.share(&["keys"], |group| {
                        let lipp = group.with("structure", "lipp").number("blocks_per_scan100")?;
                        Some(lipp >= group.span("blocks_per_scan100")?.max)
                    })?;
                    let ours = told(&rows, "structure", &RIVALS, "blocks_per_scan100");
                    Some(Verdict::of(most.is_all(), format!("so on {most} sets; blocks of a scan: {ours}")))
                },
            ),
            counts(
                "ALEX and LIPP have large overheads of statistics and structure modifications (Section 1.1, Figure \
                1d).",
                |rows| {
                    let rows = rows.of("aulid/insert").with("workload", "w3");
                    let of = |name: &str| {
                        let rows = rows.with("structure", name);
                        let structure = rows.span("structure_pages_changed_per_insert")?.max;
                        Some(structure + rows.span("statistics_pages_changed_per_insert")?.max)
                    };
                    let (btree, alex, lipp) = (of("btree")?, of("alex")?, of("lipp")?);
                    let told = format!(
                        "pages that these phases change in an insert, at most: btree {}, alex {}, lipp {}",
                        short(btree),
                        short(alex),
                        short(lipp)
                    );
                    Some(Verdict::of(alex > btree && lipp > btree, told))
                },
            ),
        ],
    },
    Item {
        place: "Figure 5",
        shows: "lookups (W1)",
        steps: &[&UNCACHED, &THROUGHPUT, &BLOCKS],
        claims: &[
            counts(
                "AULID is the most efficient: up to 1.68, 2.10, 1.62, 1.76 and 1.55 times FITing-tree, PGM, B+-tree, \
                ALEX and LIPP, in the order of the fetched blocks (Section 5.2.1).",
                |rows| least_blocks(rows, "blocks_per_get", "w1"),
            ),
            counts(
                "FITing-tree, PGM and ALEX cannot outperform the B+-tree, even on an easy set (Section 5.2.1).",
                |rows| {
                    let rows = nothing_resident(rows);
                    let ratios = ["fiting", "pgm", "alex"]
                        .map(|name| Some(rows.ratios(&["keys"], ("structure", name, "btree"), "blocks_per_get")?.min));
                    let least = Span::of(ratios.into_iter().flatten())?;
                    let told = format!("the fewest blocks of each over the B+-tree's: {least}");
                    Some(Verdict::of(least.min >= 1.0, told))
                },
            ),
        ],
    },
    Item {
        place: "Figure 6",
        shows: "scans (W2)",
        steps: &[&UNCACHED, &THROUGHPUT, &BLOCKS],
        claims: &[
            counts(
                "AULID outperforms FITing-tree, PGM, B+-tree, ALEX and LIPP by up to 2.11, 2.44, 1.65, 3.04 and 7.94 \
                times; blocks determine it (Section 5.2.2).",
                |rows| least_blocks(rows, "blocks_per_scan100", "w2"),
            ),
            counts("B+-tree and AULID are the two top performing structures (Section 5.2.2).", |rows| {
                let rows = uncached(rows).with("workload", "w2");
                let top = rows.share(&["keys"], |group| {
                    let of_both = group.all_of("structure", &["btree", "aulid"], RATE)?;
                    let worse_of_both = of_both.into_iter().fold(f64::INFINITY, f64::min);
                    let others = group.all_of("structure", &LEARNED, RATE)?;
                    Some(others.iter().all(|rate| *rate <= worse_of_both))
                })?;
                let rates = told(&rows, "structure", &["aulid", "btree", "fiting", "pgm", "alex", "lipp"], RATE);
                Some(Verdict::of(top.is_all(), format!("so on {top} sets; scans per second ({ON_DISK}): {rates}")))
            }),
        ],
    },
    Item {
        place: "Figure 7",
        shows: "inserts and mixtures (W3 to W6)",
        steps: &[&UNCACHED, &THROUGHPUT, &INSERT],
        claims: &[
            counts("AULID is the best on all workloads and sets (Section 5.2.3).", |rows| {
                let writes = ["w3", "w4", "w5", "w6"];
                let pooled = throughput(rows).with_any("workload", &writes);
                let rows = uncached(rows).with_any("workload", &writes);
                let best = rows.share(&["keys", "workload"], |group| {
                    let aulid = group.with("structure", "aulid").number(RATE)?;
                    Some(group.all_of("structure", &RIVALS, RATE)?.iter().all(|rate| *rate <= aulid))
                })?;
                let over = rows.ratios(&["keys", "workload"], ("structure", "aulid", "btree"), RATE)?;
                let told = format!("the best in {best} cases; over the B+-tree ({ON_DISK}): {over}");
                Some(beside_pool(Verdict::of(best.is_all(), told), &pooled, "btree"))
            }),
            counts(
                "PGM outperforms the other learned indexes on inserts, and falls back as the share of lookups grows \
                (Section 5.2.3).",
                |rows| pgm_by_reads(&uncached(rows)),
            ),
            counts("AULID creates no mixed node on any set (Section 5.2.3).", |rows| {
                let rows = rows.of("aulid/insert").with("workload", "w3").with("structure", "aulid");
                let inserts = rows.span("inserts")?;
                let created = Span::of(rows.numbers("smo_mixed_node_created_count")).map_or(0.0, |span| span.max);
                Some(Verdict::of(created == 0.0, format!("{} in {inserts} inserts", short(created))))
            }),
        ],
    },
    Item {
        place: "Section 5.2, requests",
        shows: "lookups, and half inserts, under uniform, Zipf, hotspot and latest requests",
        steps: &[&REQUESTS],
        claims: &[counts(
            "AULID beats the B+-tree (Section 5.2; here: whatever the distribution of the requests).",
            |rows| {
                let rows = rows.with("profile", DISK);
                let over = |workload| {
                    let rows = rows.with("workload", workload);
                    rows.ratios(&["keys", "requests"], ("structure", "aulid", "btree"), RATE)
                };
                let (lookups, half) = (over("w1")?, over("w5")?);
                let told = format!("over the B+-tree, with a pool of 1 % ({ON_DISK}): W1 {lookups}, W5 {half}");
                Some(Verdict::of(lookups.min >= 1.0 && half.min >= 1.0, told))
            },
        )],
    },
    Item {
        place: "Figure 8",
        shows: "time and file of a bulk load",
        steps: &[&BULK_LOAD],
        claims: &[
            times("AULID loads about as fast as the B+-tree, and all others take longer (Section 5.2.4).", |rows| {
                let of = |name: &str| rows.with("structure", name).span("load_ratio_to_btree");
                let aulid = of("aulid")?;
                let others = Span::of(LEARNED.iter().filter_map(|name| of(name)).map(|span| span.min))?;
                let told = format!("over the B+-tree's time: AULID {aulid}; the others at least {others}");
                Some(Verdict::of(at_most_equal(aulid) && others.min > aulid.max, told))
            }),
            counts("AULID's file is about as large as the B+-tree's (Section 5.2.4).", |rows| {
                let file = rows.with("structure", "aulid").span("file_ratio_to_btree")?;
                Some(Verdict::of(about_equal(file), format!("over the B+-tree's: {file}")))
            }),
            counts("The files of FITing-tree and LIPP depend on the set (Section 5.2.4).", |rows| {
                let of = |name: &str| rows.with("structure", name).span("file_ratio_to_btree");
                let (fiting, lipp) = (of("fiting")?, of("lipp")?);
                let varies = |span: Span| !about_equal(Span { min: 1.0, max: span.max / span.min });
                let told = format!("over the B+-tree's: FITing-tree {fiting}, LIPP {lipp}");
                Some(Verdict::of(varies(fiting) && varies(lipp), told))
            }),
        ],
    },
    Item {
        place: "Figure 9",
        shows: "files after inserts",
        steps: &[&STORAGE],
        claims: &[
            counts("AULID's file is about as large as the B+-tree's after any workload (Section 5.2.5).", |rows| {
                let file = rows.with("structure", "aulid").span("grown_ratio_to_btree")?;
                Some(Verdict::of(about_equal(file), format!("over the B+-tree's: {file}")))
            }),
            counts("Among the others PGM has the smallest file (Section 5.2.5).", |rows| {
                by_least(rows, &["keys"], ("structure", "pgm", &["fiting", "alex", "lipp"]), "grown_file_bytes", "B")
            }),
            counts("FITing-tree has a large file on every set (Section 5.2.5).", |rows| {
                let file = rows.with("structure", "fiting").span("grown_ratio_to_btree")?;
                Some(Verdict::of(file.min > 1.1, format!("over the B+-tree's: {file}")))
            }),
        ],
    },
    Item {
        place: "Figure 10",
        shows: "99th percentile and deviation of lookups and inserts",
        steps: &[&TAIL],
        claims: &[
            counts("AULID has the smallest 99th percentile of lookups (Section 5.2.6).", |rows| {
                let rows = rows.with("profile", DISK).with("memory", NOTHING).with("workload", "w1");
                by_least(&rows, &["keys"], ("structure", "aulid", &RIVALS), "modelled_p99_us", "us, modelled")
            }),
            counts(
                "AULID, PGM and B+-tree have similar 99th percentiles of inserts, below the others (Section 5.2.6).",
                |rows| {
                    let rows = rows.with("profile", DISK).with("memory", NOTHING).with("workload", "w3");
                    let of = |names: &[&str]| rows.with_any("structure", names).span("modelled_p99_us");
                    let (three, others) = (of(&["aulid", "pgm", "btree"])?, of(&["fiting", "alex", "lipp"])?);
                    let told = format!("us, modelled: these three {three}, the others {others}");
                    Some(Verdict::of(three.max <= others.min, told))
                },
            ),
            counts("All learned indexes have a larger deviation than the B+-tree (Section 5.2.6).", |rows| {
                let rows = rows.with("profile", DISK).with("memory", NOTHING);
                let larger = rows.share(&["keys", "workload"], |group| {
                    let btree = group.with("structure", "btree").number("modelled_deviation_us")?;
                    let learned = ["fiting", "pgm", "alex", "lipp", "aulid"];
                    let learned = group.all_of("structure", &learned, "modelled_deviation_us")?;
                    Some(learned.iter().all(|deviation| *deviation > btree))
                })?;
                Some(Verdict::of(larger.is_all(), format!("so in {larger} cases ({ON_DISK})")))
            }),
        ],
    },
    Item {
        place: "Figure 11",
        shows: "throughput of large sets over the B+-tree's",
        steps: &[&SCALING],
        claims: &[counts(
            "AULID beats the B+-tree on all workloads and sets, by up to 1.75 times (Section 5.3.1).",
            |rows| {
                let rows = rows.with("structure", "aulid").with("profile", DISK);
                let of = |memory: &str| rows.with("memory", memory).span("modelled_ratio_to_btree");
                let (over, pooled) = (of(NOTHING)?, of("1 %")?);
                let told = format!(
                    "over the B+-tree, {} keys ({ON_DISK}): {over}; with a pool of 1 %: {pooled}",
                    rows.key_counts()
                );
                Some(Verdict::of(over.min >= 1.0 && reaches(over.max, 1.75), told))
            },
        )],
    },
    Item {
        place: "Figure 12",
        shows: "bulk load of large sets over the B+-tree's",
        steps: &[&SCALING],
        claims: &[
            times(
                "AULID loads 800 million keys in 1.35 times the B+-tree's time, 27 s against 20 s (Section 5.3.2).",
                |rows| {
                    let over = rows.with("structure", "aulid").span("load_ratio_to_btree")?;
                    Some(Verdict::of(
                        over.max <= 1.35 * 1.1,
                        format!("over the B+-tree's time, {} keys: {over}", rows.key_counts()),
                    ))
                },
            ),
            counts("The two files are about as large (Figure 12).", |rows| {
                let over = rows.with("structure", "aulid").span("file_ratio_to_btree")?;
                Some(Verdict::of(about_equal(over), format!("over the B+-tree's: {over}")))
            }),
        ],
    },
    Item {
        place: "Table 1",
        shows: "conflict degree of the sets",
        steps: &[&PROFILING, &BLOCKS],
        claims: &[counts(
            "Conflict degrees are 27 (COVID), 22 (PLANET), 585 (GENOME) and 4,106 (OSM); sets with a greater one are \
            more challenging for AULID (Section 5.1.2).",
            conflicts_and_blocks,
        )],
    },
    Item {
        place: "Table 2",
        shows: "lookups in AULID and LIPP-B+",
        steps: &[&UNCACHED, &LIPP_BTREE],
        claims: &[counts(
            "AULID outperforms LIPP-B+ on all sets, by 1.04 to 1.18 times, and fetches fewer blocks (Section 5.4.1).",
            |rows| {
                let of_w1 = uncached(rows).with("workload", "w1");
                let rate = over_lipp_btree(&of_w1, RATE)?;
                let blocks = over_lipp_btree(&of_w1, "blocks_read_per_operation")?;
                let told =
                    format!("over LIPP-B+: {rate} of the lookups per second ({ON_DISK}), {blocks} of the blocks");
                let verdict = Verdict::of(reaches(rate.min, 1.04) && blocks.max < 1.0, told);
                Some(beside_pooled_lipp_btree(verdict, rows, "w1"))
            },
        )],
    },
    Item {
        place: "Table 3",
        shows: "blocks beside the path, by read optimisation",
        steps: &[&READ_OPTIMISATIONS],
        claims: &[
            counts(
                "ScanForward and Fulfill together avoid at least half of the extra blocks (Section 5.4.1).",
                |rows| {
                    let left = rows.ratios(&["keys"], ("structure", "both", "none"), "extra_blocks_per_get")?;
                    // Lookups are a sample, and the path is a mean over all keys: the rest can be slightly negative.
                    let left = Span { min: left.min.max(0.0), max: left.max.max(0.0) };
                    Some(Verdict::of(left.max <= 0.5, format!("a share of {left} is left")))
                },
            ),
            counts("Each of the two avoids some (Table 3).", |rows| {
                let of = |name: &str| rows.ratios(&["keys"], ("structure", name, "none"), "extra_blocks_per_get");
                let (fulfill, forward) = (of("fulfill")?, of("scan-forward")?);
                let told = format!("left with Fulfill: {fulfill}, with ScanForward: {forward}");
                Some(Verdict::of(fulfill.max < 1.0 && forward.max < 1.0, told))
            }),
        ],
    },
    Item {
        place: "Table 4",
        shows: "packed arrays and two-layer nodes: height and storage",
        steps: &[&ABLATION],
        claims: &[
            counts(
                "Slots of AULID are no deeper than those of LIPP-B+ (1.00 to 1.93 against 1.00 to 2.29), and less \
                deep on sets with many conflicts (Section 5.4.1).",
                |rows| {
                    let over = over_lipp_btree(rows, "mean_height")?;
                    let heights = told(rows, "structure", &["aulid", "lipp-btree"], "mean_height");
                    Some(Verdict::of(
                        over.max <= 1.0 && over.min < 1.0,
                        format!("mean height with the leaf: {heights}"),
                    ))
                },
            ),
            counts("AULID takes less storage on hard sets: 4.29 GB against 5.11 on OSM (Section 5.4.1).", |rows| {
                let over = over_lipp_btree(&of_osm(rows), "file_bytes")?;
                Some(Verdict::of(over.max < 1.0, format!("its file over that of LIPP-B+, on such sets: {over}")))
            }),
        ],
    },
    Item {
        place: "Table 5",
        shows: "inserts into AULID and LIPP-B+",
        steps: &[&UNCACHED, &LIPP_BTREE],
        claims: &[counts(
            "Inserts are about as fast in both (W3), and 1.19 times as fast in AULID on OSM (Section 5.4.2).",
            |rows| {
                let of_w3 = uncached(rows).with("workload", "w3");
                let (over, on_osm) = (over_lipp_btree(&of_w3, RATE)?, over_lipp_btree(&of_osm(&of_w3), RATE)?);
                let verdict = Verdict::of(
                    over.min >= 1.0 / ABOUT_EQUAL && reaches(on_osm.min, 1.19),
                    format!("AULID over LIPP-B+: {over}, on sets like OSM {on_osm}"),
                );
                Some(beside_pooled_lipp_btree(verdict, rows, "w3"))
            },
        )],
    },
    Item {
        place: "Figure 13",
        shows: "inserts by phase",
        steps: &[&INSERT],
        claims: &[
            counts(
                "Search and leaf are nearly all of an insert; the inner nodes are negligible (Section 5.4.2).",
                |rows| {
                    let rows = rows.with("workload", "w3").with("structure", "aulid");
                    let sum =
                        |fields: &[&str]| fields.iter().map(|field| Some(rows.span(field)?.max)).sum::<Option<f64>>();
                    let inner = sum(&["structure_pages_changed_per_insert", "statistics_pages_changed_per_insert"])?;
                    let rest = sum(&["search_pages_read_per_insert", "insert_pages_changed_per_insert"])?;
                    let percent = 100.0 * inner / (inner + rest);
                    Some(Verdict::of(percent <= 5.0, format!("{} % of the pages, at most", short(percent))))
                },
            ),
            counts(
                "On GENOME, AULID makes 49,038 structure modifications in ten million inserts, and LIPP 4.6 million, \
                94 times as many (Section 5.4.2).",
                |rows| {
                    let rows = rows.with("workload", "w3");
                    let over = rows.ratios(&["keys"], ("structure", "lipp", "aulid"), "smo_count")?;
                    Some(by_factor(over, 94.0, "LIPP over AULID"))
                },
            ),
        ],
    },
    Item {
        place: "Figure 14",
        shows: "appends by phase",
        steps: &[&INSERT],
        claims: &[times("AULID changes inner nodes in less time than LIPP-B+ on all sets (Section 5.4.2).", |rows| {
            let rows = rows.with("workload", "append");
            let over = over_lipp_btree(&rows, "structure_cpu_ns_per_insert")?;
            Some(Verdict::of(over.max < 1.0, format!("AULID over LIPP-B+: {over}")))
        })],
    },
    Item {
        place: "Figure 15",
        shows: "inner nodes in appends",
        steps: &[&INSERT],
        claims: &[counts(
            "AULID creates 1,163 inner nodes and adjusts 37 times, LIPP-B+ 38,837 and 1,625 times (Section 5.4.2).",
            |rows| {
                let rows = rows.with("workload", "append");
                let fewer = rows.share(&["keys"], |group| {
                    let of = |name: &str| inner_modifications(&group.with("structure", name));
                    Some(of("aulid")? < of("lipp-btree")?)
                })?;
                let most =
                    |name: &str| inner_modifications(&rows.with("structure", name)).map_or_else(String::new, short);
                let told = format!(
                    "fewer on {fewer} sets; modifications of inner nodes, first set: AULID {}, LIPP-B+ {}",
                    most("aulid"),
                    most("lipp-btree")
                );
                Some(Verdict::of(fewer.is_all(), told))
            },
        )],
    },
    Item {
        place: "Table 6",
        shows: "appends to AULID and LIPP-B+",
        steps: &[&UNCACHED, &LIPP_BTREE],
        claims: &[counts("Appends are 1.20 to 1.27 times as fast in AULID (Section 5.4.2).", |rows| {
            let appended = over_lipp_btree(&uncached(rows).with("workload", "append"), RATE)?;
            Some(beside_pooled_lipp_btree(by_factor(appended, 1.2, "AULID over LIPP-B+"), rows, "append"))
        })],
    },
    Item {
        place: "Figure 16",
        shows: "throughput by alpha and beta, and without adjustment",
        steps: &[&ADJUST],
        claims: &[
            counts(
                "Adjustment significantly improves the throughput, most of all of writes (Section 5.4.3).",
                |rows| {
                    // With the smallest alpha and beta, by which adjustment is the most frequent.
                    let over = rows.groups(&["keys", "workload"]).into_iter().filter_map(|group| {
                        let adjusted = group.with("structure", "adjusted").at("alpha", 0.0025).at("beta", 1.07);
                        Some(adjusted.number(RATE)? / group.with("structure", "never adjusted").number(RATE)?)
                    });
                    let over = Span::of(over.collect::<Vec<_>>())?;
                    Some(Verdict::of(over.min >= 1.1, format!("adjusted over never adjusted, modelled: {over}")))
                },
            ),
            counts("Larger values of alpha and beta usually make it worse (Section 5.4.3).", |rows| {
                let rows = rows.with("structure", "adjusted");
                let by_alpha = rows.at("beta", 1.07).changes(&["keys", "workload"], "alpha", RATE)?;
                let by_beta = rows.at("alpha", 0.0025).changes(&["keys", "workload"], "beta", RATE)?;
                let told = format!("the largest over the smallest: alpha {by_alpha}, beta {by_beta}");
                Some(Verdict::of(by_alpha.max < 1.0 && by_beta.max < 1.0, told))
            }),
        ],
    },
];

/// Pairs of sets that are in the order of a claim, at least.
const ORDERED_SHARE: f64 = 0.9;
pub(crate) const RATE: &str = "modelled_ops_per_s";
/// What the judged times are.
pub(crate) const ON_DISK: &str = "modelled, hard disk";
/// Name of the runs with nothing in memory, as in the paper.
pub(crate) const NOTHING: &str = "none";

/// Blocks with nothing in memory but the metanode, as in the paper.
fn nothing_resident<'r>(rows: &Rows<'r>) -> Rows<'r> {
    rows.of("aulid/blocks").with("phase", "bulk").with("resident_bytes", "0")
}

/// The throughput of the workloads with nothing in memory and times of the paper's storage.
pub(crate) fn uncached<'r>(rows: &Rows<'r>) -> Rows<'r> {
    rows.of("aulid/uncached").with("profile", DISK)
}

/// The same with a pool of 1 % of the data.
fn throughput<'r>(rows: &Rows<'r>) -> Rows<'r> {
    rows.of("aulid/throughput").with("profile", DISK)
}

/// The verdict by blocks, beside the throughput of a workload.
fn least_blocks(rows: &Rows<'_>, field: &str, workload: &str) -> Option<Verdict> {
    let blocks = nothing_resident(rows);
    let verdict = by_least(&blocks, &["keys"], ("structure", "aulid", &RIVALS), field, "blocks, nothing resident")?;
    let over = uncached(rows).with("workload", workload).ratios(&["keys"], ("structure", "aulid", "btree"), RATE)?;
    let verdict = verdict.and_told(&format!("operations per second over the B+-tree ({ON_DISK}): {over}"));
    Some(beside_pool(verdict, &throughput(rows).with("workload", workload), "btree"))
}

/// A verdict with nothing in memory, beside AULID's throughput over that of another with a pool of 1 % of the data.
fn beside_pool(verdict: Verdict, pooled: &Rows<'_>, other: &str) -> Verdict {
    match pooled.ratios(&["keys", "workload"], ("structure", "aulid", other), RATE) {
        Some(over) => verdict.and_told(&format!("with a pool of 1 %: {over}")),
        None => verdict,
    }
}

/// The same for LIPP-B+ in a workload.
fn beside_pooled_lipp_btree(verdict: Verdict, rows: &Rows<'_>, workload: &str) -> Verdict {
    let pooled = rows.of("aulid/lipp-btree").with("profile", DISK).with("workload", workload);
    beside_pool(verdict, &pooled, "lipp-btree")
}

fn over_lipp_btree(rows: &Rows<'_>, field: &str) -> Option<Span> {
    rows.ratios(&["keys", "workload"], ("structure", "aulid", "lipp-btree"), field)
}

/// Records of sets as hard as the paper's OSM, and of OpenStreetMap's own keys.
fn of_osm<'r>(rows: &Rows<'r>) -> Rows<'r> {
    let local = AS_OSM.split([':', ',']).nth(1).map(|local| format!("local={local}")).unwrap_or_default();
    rows.containing_any("keys", &[&local, "osm_nodeid"])
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// PGM's rate over the best of the other learned indexes, for inserts and for lookups with few inserts.
pub(crate) fn pgm_by_reads(rows: &Rows<'_>) -> Option<Verdict> {
    let over_best = |workload: &str| {
        let groups = rows.with("workload", workload);
        let ratios = groups.groups(&["keys"]).into_iter().filter_map(|group| {
            let best = group.all_of("structure", &["fiting", "alex", "lipp"], RATE)?;
            Some(group.with("structure", "pgm").number(RATE)? / best.into_iter().fold(f64::NAN, f64::max))
        });
        Span::of(ratios.collect::<Vec<_>>())
    };
    let (inserts, lookups) = (over_best("w3")?, over_best("w4")?);
    let told = format!("PGM over the best of the other learned indexes ({ON_DISK}): W3 {inserts}, W4 {lookups}");
    Some(Verdict::of(inserts.min > 1.0 && lookups.max < inserts.min, told))
}

/// Structure modifications that are not those of leaves.
fn inner_modifications(rows: &Rows<'_>) -> Option<f64> {
    let leaves = ["smo_leaf_split_count", "smo_leaf_append_count", "smo_leaf_of_a_run_count"];
    let of_leaves: f64 = leaves.iter().filter_map(|field| rows.number(field)).sum();
    Some(rows.number("smo_count")? - of_leaves)
}

/// Whether AULID's blocks rise with the conflict degree.
fn conflicts_and_blocks(rows: &Rows<'_>) -> Option<Verdict> {
    let blocks = nothing_resident(rows).with("structure", "aulid");
    let of_set = |set: &Rows<'_>| {
        let keys = set.text("keys");
        Some((keys.clone(), set.number("conflict_degree")?, blocks.with("keys", &keys).number("blocks_per_get")?))
    };
    let profiles = rows.of("disk/profiling").sorted_by("conflict_degree");
    let sets: Vec<(String, f64, f64)> = profiles.groups(&["keys"]).iter().filter_map(of_set).collect();
    // Sets of about equally many blocks are equally challenging.
    let pairs =
        sets.iter().enumerate().flat_map(|(place, less)| sets[place + 1..].iter().map(move |more| (less, more)));
    let pairs: Vec<bool> =
        pairs.filter(|(less, more)| less.1 < more.1).map(|(less, more)| more.2 * TIE >= less.2).collect();
    let kept = pairs.iter().filter(|&&is_kept| is_kept).count();
    let shown = sets
        .iter()
        .map(|(keys, degree, blocks)| format!("{} {} and {}", base_set(keys), short(*degree), short(*blocks)));
    let told = format!(
        "of {} pairs of sets {kept} are in that order; conflict degree and blocks of a lookup: {}",
        pairs.len(),
        shown.collect::<Vec<_>>().join(", ")
    );
    Some(Verdict::of(!pairs.is_empty() && kept as f64 >= ORDERED_SHARE * pairs.len() as f64, told))
}
