//! Joins with learned indexes: the plan, and the judges of its claims.

use crate::experiments::Context;
use crate::paper::judging::{ABOUT_EQUAL, about_equal, by_factor, reaches};
use crate::paper::plan::{Item, Paper, counts, times};
use crate::paper::rows::{Rows, Span, short};
use crate::paper::step::{Step, keys, names};
use crate::paper::verdict::Verdict;

pub(crate) const JOINS: Paper = Paper {
    name: "joins",
    title: "Joins with learned indexes",
    citation: "Y. Chesetti, P. Pandey: Evaluating Learned Indexes for External-Memory Joins, 2024",
    family: "join",
    document: "research/src/joins/page.md",
    explanatory: &["Figure 1", "Figure 2", "Table 1"],
    items: ITEMS,
};

/// Modelled time of the device, which does not depend on the machine.
const DEVICE: &str = "device_us";
/// The same with the time of the processor.
const ALL: &str = "modelled_us";
const BTREE: &str = "inlj:btree";
/// The paper's learned index.
const SAMPLED: &str = "inlj:pgm-sampled";
/// The measured device in records.
const THIS_DEVICE: &str = "this device";
const MILLION: u64 = 1_000_000;
const TWO_HUNDRED_MILLION: u64 = 200_000_000;
/// Rows at small scale: at ratio 1000 some rows are left.
const SMALL: u64 = 20_000;
/// Real sets of research/src/joins/page.md.
const REAL_KEYS: &[&str] = &["osm_nodeid.u64", "git_times.u64", "covid_a.u64"];

static FIG3: Step = Step::new("join/fig3", 0.4, |scale| Context {
    key_sets: names(scale.pick(&["lognormal"][..], &["lognormal"], &["lognormal", "uniform"])),
    profiles: names(&["ssd", "hdd"]),
    ..keys(scale.pick(SMALL, MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(&["osm_nodeid.u64"]);

static STRINGS: Step = Step::new("join/strings", 1.7, |scale| Context {
    key_sets: names(&["lognormal"]),
    profiles: names(&["ssd"]),
    ..keys(scale.pick(SMALL, MILLION, TWO_HUNDRED_MILLION))
});

static FIG4: Step = Step::new("join/fig4", 2.0, |scale| Context {
    key_sets: names(&["lognormal"]),
    profiles: names(&["ssd"]),
    ratios: scale.pick(vec![1], Vec::new(), Vec::new()),
    // Limits that both the B-tree and external sorting can meet; medium and full ones are shares of the relations.
    memory_limits: scale.pick(vec![1 << 20, 64 << 20], Vec::new(), Vec::new()),
    // The B-tree inserts row by row: its time limits the size.
    ..keys(scale.pick(50_000, 500_000, 20_000_000))
});

static FIG5: Step = Step::new("join/fig5", 0.4, |scale| Context {
    ratios: scale.pick(vec![1], Vec::new(), Vec::new()),
    profiles: names(&["ssd"]),
    // The fastest of these rounds counts: runs on several threads differ by more than what threads gain.
    seeds: scale.pick(1, 5, 5),
    ..keys(scale.pick(SMALL, MILLION, TWO_HUNDRED_MILLION))
});

static FIG6: Step = Step::new("join/fig6", 0.6, |scale| Context {
    ratios: scale.pick(vec![1, 1000], vec![1, 10, 100, 1000], vec![1, 10, 100, 1000]),
    profiles: names(&["ssd"]),
    ..keys(scale.pick(SMALL, MILLION, TWO_HUNDRED_MILLION))
});

static TABLE2: Step = Step::new("join/table2", 4.3, |scale| Context {
    key_sets: names(&["lognormal", "uniform", "normal", "dense", "step"]),
    ..keys(scale.pick(300_000, 10 * MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(REAL_KEYS);

static FIG7: Step = Step::new("join/fig7", 2.0, |scale| Context {
    key_sets: names(scale.pick(
        &["lognormal", "uniform"][..],
        &["lognormal", "uniform", "normal", "dense"],
        &["lognormal", "uniform", "normal", "dense"],
    )),
    ..keys(scale.pick(SMALL, MILLION, TWO_HUNDRED_MILLION))
})
.real_keys(&["osm_nodeid.u64", "git_times.u64"]);

const ITEMS: &[Item] = &[
    Item {
        place: "Figure 3",
        shows: "methods on sorted tables by ratio of sizes, on SSD and HDD",
        steps: &[&FIG3],
        claims: &[
            times(
                "On an SSD, at ratio 1, the learned index is 2 times as fast as the B-tree, by its use of the \
                processor (Section 6.2).",
                |rows| Some(by_factor(over_sampled(&rows.with("profile", "ssd"), 1.0)?, 2.0, B_TREE_OVER)),
            ),
            counts("At ratios 1 to 100 both read the same blocks (Section 6.2).", |rows| {
                let rows = rows.with("profile", "ssd").within("ratio", 1.0..=100.0);
                let over = rows.ratios(&["keys", "ratio"], ("method", BTREE, SAMPLED), DEVICE)?;
                Some(Verdict::of(about_equal(over), format!("B-tree over sampled PGM, modelled device: {over}")))
            }),
            times("The two become equal as the ratio grows (Section 6.2; here: on an SSD).", |rows| {
                let rows = rows.with("profile", "ssd");
                let (at_one, at_thousand) = (over_sampled(&rows, 1.0)?, over_sampled(&rows, 1000.0)?);
                let told = format!("{B_TREE_OVER}: {at_one} at ratio 1, {at_thousand} at 1000");
                Some(Verdict::of(about_equal(at_thousand) && at_thousand.max < at_one.min, told))
            }),
            counts(
                "At large ratios random requests dominate, and the sort join is more efficient than probes (Section \
                6.2).",
                |rows| {
                    let rows = rows.with("profile", "ssd").at("ratio", 1000.0);
                    let over = rows.ratios(&["keys"], ("method", BTREE, "merge"), DEVICE)?;
                    Some(Verdict::of(over.min > 1.0, format!("B-tree over sort join at 1000, modelled device: {over}")))
                },
            ),
            times(
                "On an HDD, at ratio 1, the B-tree is 1.3 to 1.6 times as fast as the learned index (Section 6.2).",
                |rows| {
                    let over = over_sampled(&rows.with("profile", "hdd"), 1.0)?;
                    Some(Verdict::of(over.max <= 1.0 / (0.9 * 1.3), format!("{B_TREE_OVER}: {over}")))
                },
            ),
            times(
                "On an HDD, at ratio 1, the B-tree is faster than the sort join; at other ratios all three are equal \
                (Section 6.2).",
                |rows| {
                    let rows = rows.with("profile", "hdd");
                    let over =
                        |rows: &Rows<'_>, method| rows.ratios(&["keys", "ratio"], ("method", method, "merge"), ALL);
                    let others = rows.within("ratio", 2.0..=1000.0);
                    let (at_one, btree, sampled) =
                        (over(&rows.at("ratio", 1.0), BTREE)?, over(&others, BTREE)?, over(&others, SAMPLED)?);
                    let told = format!(
                        "over the sort join, modelled: B-tree {at_one} at ratio 1, then {btree}; sampled PGM {sampled}"
                    );
                    Some(Verdict::of(at_one.max < 1.0 && about_equal(btree) && about_equal(sampled), told))
                },
            ),
            times("The hash join is always slower by an order of magnitude than all others (Section 6.2).", |rows| {
                let rows = rows.with("profile", "ssd");
                let over: Vec<Span> = ["merge", BTREE, SAMPLED]
                    .iter()
                    .filter_map(|method| rows.ratios(&["keys", "ratio"], ("method", "hash", method), "modelled_us"))
                    .collect();
                let over = Span::of(over.iter().flat_map(|span| [span.min, span.max]))?;
                Some(Verdict::of(reaches(over.min, 10.0), format!("hash over each other: {over}")))
            }),
        ],
    },
    Item {
        place: "Section 6.2, strings",
        shows: "the same with strings of 16 bytes",
        steps: &[&STRINGS],
        claims: &[times(
            "With strings the learned index is 5 times as fast as the B-tree at ratio 1 and 1.3 times at 1000 \
            (Section 6.2).",
            |rows| {
                let (at_one, at_thousand) = (over_sampled(rows, 1.0)?, over_sampled(rows, 1000.0)?);
                let told = format!("{B_TREE_OVER}: {at_one} at ratio 1, {at_thousand} at 1000");
                Some(Verdict::of(reaches(at_one.min, 5.0) && reaches(at_thousand.min, 1.3), told))
            },
        )],
    },
    Item {
        place: "Figure 4",
        shows: "unsorted relations by memory limit",
        steps: &[&FIG4],
        claims: &[
            times(
                "Without a limit of memory, joining by learned partitions is 2 times as fast as by B-trees (Section \
                6.3).",
                |rows| {
                    let over = in_memory(rows)?.ratios(&["keys"], TREES_OVER_PARTITIONS, ALL)?;
                    Some(by_factor(over, 2.0, "B-trees over partitions, modelled"))
                },
            ),
            times(
                "Partitioning by a model is 4 to 8 times faster than building B-trees by inserts (Section 6.3, Figure \
                4b).",
                |rows| {
                    let over = in_memory(rows)?.ratios(&["keys"], TREES_OVER_PARTITIONS, "preparation_us")?;
                    Some(by_factor(over, 4.0, "B-trees over partitions, until rows are joined, modelled"))
                },
            ),
            counts(
                "The gain of the learned method over B-trees diminishes as memory gets scarce (Section 6.3).",
                |rows| {
                    let rows = rows.with("profile", "ssd").at("ratio", 1.0);
                    let gains = |rows: &Rows<'_>| rows.ratios(&["keys"], TREES_OVER_PARTITIONS, DEVICE);
                    let limits = rows.sorted_by("memory_bytes").groups(&["memory_bytes"]);
                    if limits.len() < 3 {
                        return Some(Verdict::NotComparable(WITHOUT_LIMITS.to_owned()));
                    }
                    // With all in memory neither spills.
                    let Some((scarce, enough)) = gains(limits.first()?).zip(gains(limits.get(1)?)) else {
                        return Some(Verdict::NotComparable(WITHOUT_TREES.to_owned()));
                    };
                    let told =
                        format!("B-trees over partitions, modelled device: {enough}, with scarce memory {scarce}");
                    Some(Verdict::of(scarce.max < enough.min, told))
                },
            ),
        ],
    },
    Item {
        place: "Figure 5",
        shows: "methods by number of threads",
        steps: &[&FIG5],
        claims: &[
            times(
                "Learned index and B-tree scale with threads until the device limits them, at 4; the sort join does \
                not (Section 6.4).",
                |rows| {
                    if rows.with("profile", THIS_DEVICE).span("measured_us").is_none() {
                        return Some(Verdict::NotComparable(WITHOUT_DEVICE.to_owned()));
                    }
                    if let Some(verdict) = too_few_cores(rows, 4.0) {
                        return Some(verdict);
                    }
                    let gain = |method| by_threads(rows, method, 4.0);
                    let (btree, sampled, merge) = (gain(BTREE)?, gain(SAMPLED)?, gain("merge")?);
                    let told = format!(
                        "4 threads: B-tree {} times as fast, sampled PGM {}, merge {}",
                        short(btree),
                        short(sampled),
                        short(merge)
                    );
                    Some(Verdict::of(btree > ABOUT_EQUAL && sampled > ABOUT_EQUAL && merge <= ABOUT_EQUAL, told))
                },
            ),
            times("The hash join scales almost linearly up to 8 threads (Section 6.4).", |rows| {
                if rows.with("profile", THIS_DEVICE).span("measured_us").is_none() {
                    return Some(Verdict::NotComparable(WITHOUT_DEVICE.to_owned()));
                }
                if let Some(verdict) = too_few_cores(rows, 8.0) {
                    return Some(verdict);
                }
                let (four, eight) = (by_threads(rows, "hash", 4.0)?, by_threads(rows, "hash", 8.0)?);
                let told = format!("4 threads: {} times as fast, 8 threads: {}", short(four), short(eight));
                Some(Verdict::of(reaches(four, 4.0) && reaches(eight, 8.0), told))
            }),
        ],
    },
    Item {
        place: "Figure 6",
        shows: "length of the search window",
        steps: &[&FIG6],
        claims: &[
            counts("At ratios 1 to 100 the time does not depend on the window (Section 6.5).", |rows| {
                let rows = rows.within("ratio", 1.0..=100.0);
                let change = by_window(&rows)?;
                Some(Verdict::of(about_equal(change), format!("{WINDOWS}: {change}")))
            }),
            counts("At ratio 1000, with few threads, longer windows are faster (Section 6.5).", |rows| {
                let rows = rows.at("ratio", 1000.0);
                let change = by_window(&rows)?;
                let verdict = Verdict::of(change.max < 1.0 / ABOUT_EQUAL, format!("{WINDOWS}: {change}"));
                Some(match windows_measured(&rows, 1.0) {
                    Some(measured) => verdict.and_told(&format!("measured: {measured}")),
                    None => verdict,
                })
            }),
            times("With many threads the window has no effect (Section 6.5).", |rows| {
                if rows.with("profile", THIS_DEVICE).span("measured_us").is_none() {
                    return Some(Verdict::NotComparable(WITHOUT_DEVICE.to_owned()));
                }
                if let Some(verdict) = too_few_cores(rows, 8.0) {
                    return Some(verdict);
                }
                let change = windows_measured(&rows.at("ratio", 1000.0), 8.0)?;
                Some(Verdict::of(about_equal(change), format!("windows of 4,096 over 256 keys, 8 threads: {change}")))
            }),
        ],
    },
    Item {
        place: "Table 2",
        shows: "size of a PGM-index by search window",
        steps: &[&TABLE2],
        claims: &[
            times("The time of the build does not depend on the window (Section 6.5).", |rows| {
                let change = rows.changes(&["keys"], "window_keys", "sampled_build_us")?;
                Some(Verdict::of(about_equal(change), format!("windows of 4,096 over 256 keys: {change}")))
            }),
            times("Sampling shortens the build by two orders of magnitude (Section 6.6).", |rows| {
                let over = |group: &Rows<'_>| Some(group.number("keys_build_us")? / group.number("sampled_build_us")?);
                let over = rows.groups(&["keys", "window_keys"]).iter().filter_map(over).collect::<Vec<_>>();
                Some(by_factor(Span::of(over)?, 100.0, "over all keys, over a sample"))
            }),
            counts(
                "The index is 30 to 130 times smaller with a window of 4,096 than with 256 (Section 6.5).",
                |rows| {
                    let change = rows.changes(&["keys"], "window_keys", "sampled_bytes")?;
                    let smaller = Span { min: 1.0 / change.max, max: 1.0 / change.min };
                    Some(Verdict::of(reaches(smaller.min, 30.0), format!("{smaller} times smaller")))
                },
            ),
            counts("With the longer windows it is 120 to 500 times smaller than the B-tree (Section 6.5).", |rows| {
                let rows = rows.within("window_keys", 2_048.0..=4_096.0);
                let smaller = rows
                    .groups(&["keys", "window_keys"])
                    .into_iter()
                    .filter_map(|row| Some(row.number("btree_bytes")? / row.number("sampled_bytes")?));
                Some(by_factor(Span::of(smaller.collect::<Vec<_>>())?, 120.0, "B-tree over sampled PGM"))
            }),
        ],
    },
    Item {
        place: "Figure 7",
        shows: "kinds of index: size, build time, self-join",
        steps: &[&FIG7],
        claims: &[
            counts(
                "PGM-indexes are the smallest, on real sets 4 times smaller than the B-tree, on synthetic ones by an \
                order of magnitude (Section 6.6).",
                |rows| {
                    let over = |are_real| sizes(&rows.on_real_keys(are_real), BTREE, "inlj:pgm:127");
                    let (real, synthetic) = (over(true), over(false)?);
                    let smallest = rows.share(&["keys"], |set| {
                        let pgm = set.with("method", "inlj:pgm:127").number(OVER_KEYS)?;
                        let others = set.with_any("method", &[BTREE, "inlj:radix-spline", "inlj:rmi"]);
                        Some(pgm <= others.span(OVER_KEYS)?.min)
                    })?;
                    let on_real = real.map(|real| format!("real {real}, ")).unwrap_or_default();
                    let told =
                        format!("B-tree over PGM: {on_real}synthetic {synthetic}; the smallest on {smallest} sets");
                    let is_reached = reaches(synthetic.min, 10.0) && real.is_none_or(|real| reaches(real.min, 4.0));
                    Some(Verdict::of(is_reached && smallest.is_all(), told))
                },
            ),
            counts(
                "On real sets, RadixSpline and RMI are 30 to 80 times larger than the B-tree (Section 6.6).",
                |rows| {
                    let rows = &rows.on_real_keys(true);
                    if rows.span(OVER_KEYS).is_none() {
                        return Some(Verdict::NotComparable(WITHOUT_REAL_KEYS.to_owned()));
                    }
                    let (spline, rmi) = (sizes(rows, "inlj:radix-spline", BTREE)?, sizes(rows, "inlj:rmi", BTREE)?);
                    let told = format!("over the B-tree: RadixSpline {spline}, RMI {rmi}");
                    Some(Verdict::of(reaches(spline.min, 30.0) && reaches(rmi.min, 30.0), told))
                },
            ),
            times(
                "Learned indexes over all keys take at least 10,000 times as long to build as the B-tree (Section \
                6.6).",
                |rows| {
                    let methods = ["inlj:pgm:127", "inlj:radix-spline", "inlj:rmi"];
                    let over = methods.iter().filter_map(|method| {
                        rows.ratios(&["keys", "profile"], ("method", method, BTREE), "over_keys_build_us")
                    });
                    let over = Span::of(over.flat_map(|span| [span.min, span.max]))?;
                    Some(by_factor(over, 10_000.0, "over the B-tree's"))
                },
            ),
            times("The self-join by PGM is 1.1 to 1.7 times as fast as by the B-tree (Section 6.6).", |rows| {
                let methods = ("method", BTREE, "inlj:pgm:127");
                let verdict =
                    by_factor(rows.ratios(&["keys", "profile"], methods, ALL)?, 1.1, "B-tree over PGM, modelled");
                let measured = rows.with("profile", THIS_DEVICE).ratios(&["keys"], methods, "measured_us");
                Some(match measured {
                    Some(measured) => verdict.and_told(&format!("measured: {measured}")),
                    None => verdict,
                })
            }),
            times("A sampled PGM-index performs as one over all keys (Section 6.6).", |rows| {
                let over = rows.ratios(&["keys", "profile"], ("method", SAMPLED, "inlj:pgm:127"), ALL)?;
                Some(Verdict::of(about_equal(over), format!("sampled over all keys, modelled: {over}")))
            }),
            times("ALEX and RadixSpline are worse by an order of magnitude than the B-tree (Section 6.6).", |rows| {
                let over = |method| rows.ratios(&["keys", "profile"], ("method", method, BTREE), ALL);
                let (alex, spline) = (over("inlj:index")?, over("inlj:radix-spline")?);
                let told = format!("over the B-tree, modelled: ALEX {alex}, RadixSpline {spline}");
                Some(Verdict::of(reaches(alex.min, 10.0) && reaches(spline.min, 10.0), told))
            }),
        ],
    },
];

const OVER_KEYS: &str = "over_keys_bytes";
const B_TREE_OVER: &str = "B-tree over sampled PGM, modelled";
const WINDOWS: &str = "windows of 4,096 over 256 keys, one thread, modelled device";
const WITHOUT_DEVICE: &str = "a modelled clock has no threads; give --device FOLDER to measure";
const WITHOUT_REAL_KEYS: &str = "the figure is of real sets; give --keys-folder FOLDER";
const WITHOUT_LIMITS: &str = "a join has at least 1 MiB, which is not scarce for few rows";
const WITHOUT_TREES: &str = "a B-tree of the rows does not fit scarce memory, where the join is refused";
const TREES_OVER_PARTITIONS: (&str, &str, &str) = ("method", "partition:btree", "partition");

/// The time of a join by the paper's B-tree over that by its learned index.
fn over_sampled(rows: &Rows<'_>, ratio: f64) -> Option<Span> {
    rows.at("ratio", ratio).ratios(&["keys", "profile"], ("method", BTREE, SAMPLED), ALL)
}

/// Joins of equally large relations with the most memory, on a modelled SSD.
fn in_memory<'r>(rows: &Rows<'r>) -> Option<Rows<'r>> {
    let rows = rows.with("profile", "ssd").at("ratio", 1.0);
    Some(rows.at("memory_bytes", rows.span("memory_bytes")?.max))
}

/// The verdict on a claim about more threads than the machine has cores.
fn too_few_cores(rows: &Rows<'_>, threads: f64) -> Option<Verdict> {
    let cores = rows.with("profile", THIS_DEVICE).span("cores")?.min;
    (cores < threads).then(|| Verdict::NotComparable(format!("{threads} threads, and the machine has {cores} cores")))
}

/// How many times as fast a method is with several threads, on the measured device, at ratio 1.
fn by_threads(rows: &Rows<'_>, method: &str, threads: f64) -> Option<f64> {
    let rows = rows.with("profile", THIS_DEVICE).at("ratio", 1.0).with("method", method);
    let of = |threads: f64| rows.at("threads", threads).number("measured_us");
    Some(of(1.0)? / of(threads)?)
}

/// The measured time with the longest window over that with the shortest.
fn windows_measured(rows: &Rows<'_>, threads: f64) -> Option<Span> {
    let rows = rows.with("profile", THIS_DEVICE).at("threads", threads);
    rows.changes(&["keys", "ratio"], "window_keys", "measured_us")
}

/// The device time with the longest window over that with the shortest, with one thread.
fn by_window(rows: &Rows<'_>) -> Option<Span> {
    rows.at("threads", 1.0).changes(&["keys", "profile", "ratio"], "window_keys", DEVICE)
}

/// The size of one index over keys over that of another.
fn sizes(rows: &Rows<'_>, over: &str, under: &str) -> Option<Span> {
    rows.ratios(&["keys", "profile"], ("method", over, under), OVER_KEYS)
}
