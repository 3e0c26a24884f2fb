//! Bourbon: the plan, and the judges of its claims.

use crate::experiments::Context;
use crate::paper::judging::{TIE, by_factor, by_speedup, reaches};
use crate::paper::plan::{Item, Paper, counts, times};
use crate::paper::rows::{Rows, Span, short};
use crate::paper::scale::Scale;
use crate::paper::step::{Step, keys, names};
use crate::paper::verdict::Verdict;
use crate::workload::Requests;

pub(crate) const BOURBON: Paper = Paper {
    name: "bourbon",
    title: "Bourbon",
    citation: "Y. Dai, Y. Xu, A. Ganesan, R. Alagappan, B. Kroth, A. C. Arpaci-Dusseau, R. H. Arpaci-Dusseau: From \
        WiscKey to Bourbon: A Learned Index for Log-Structured Merge Trees, OSDI 2020",
    family: "bourbon",
    document: "research/src/bourbon/page.md",
    explanatory: &["Figure 1", "Figure 6", "Figure 7"],
    items: ITEMS,
};

/// Keys of the paper's synthetic sets. The stores are in memory: about a gigabyte for ten million records and policy.
const SIXTY_FOUR_MILLION: u64 = 64_000_000;
/// The paper's operations.
const TEN_MILLION: usize = 10_000_000;
/// The paper's policies, and ours.
const POLICIES: [&str; 5] = ["never", "offline", "always", "cost-benefit", "coded"];

/// The settings of most figures: `medium` keys and lookups at medium scale.
fn sized(scale: Scale, medium: u64) -> Context {
    Context {
        lookups: Some(scale.pick(2_000, medium as usize, TEN_MILLION)),
        ..keys(scale.pick(10_000, medium, SIXTY_FOUR_MILLION))
    }
}

/// The same with one generated set at small scale, and the experiment's own above.
fn sized_on(scale: Scale, medium: u64, sets: &[&str]) -> Context {
    Context { key_sets: scale.pick(names(&sets[..1]), names(sets), names(sets)), ..sized(scale, medium) }
}

/// The runs on which tables are observed: four operations to five keys, as in the paper.
fn observed(scale: Scale) -> Context {
    Context { key_sets: names(&["uniform"]), ..keys(scale.pick(40_000, 200_000, SIXTY_FOUR_MILLION)) }
}

static FIG2: Step = Step::new("bourbon/fig2", 0.3, |scale| sized_on(scale, 100_000, &["lognormal"]));
static FIG3: Step = Step::new("bourbon/fig3", 9.1, observed);
static FIG4: Step = Step::new("bourbon/fig4", 3.8, observed);
static FIG5: Step = Step::new("bourbon/fig5", 8.9, observed);
static TABLE1: Step =
    Step::new("bourbon/table1", 3.8, |scale| Context { lookups: None, ..sized_on(scale, 100_000, &["lognormal"]) });
static FIG8: Step = Step::new("bourbon/fig8", 1.1, |scale| sized_on(scale, 100_000, &["lognormal", "uniform"]));
static FIG9: Step = Step::new("bourbon/fig9", 3.7, |scale| Context {
    key_sets: names(scale.pick(
        &["linear", "seg1", "seg10"][..],
        &["linear", "seg1", "seg10", "normal", "lognormal", "uniform"],
        &["linear", "seg1", "seg10", "normal", "lognormal", "uniform"],
    )),
    ..sized(scale, 200_000)
})
.real_keys(&["osm_nodeid.u64", "git_times.u64"]);
static FIG10: Step = Step::new("bourbon/fig10", 1.7, |scale| sized_on(scale, 200_000, &["lognormal", "uniform"]));
static FIG11: Step = Step::new("bourbon/fig11", 3.9, |scale| sized_on(scale, 100_000, &["lognormal", "uniform"]));
static FIG12: Step = Step::new("bourbon/fig12", 4.0, |scale| Context {
    lookups: Some(scale.pick(500, 100_000, 1_000_000)),
    ..sized_on(scale, 100_000, &["lognormal", "uniform"])
});
static FIG13: Step = Step::new("bourbon/fig13", 6.6, |scale| Context {
    learning: names(&POLICIES),
    seeds: scale.pick(1, 3, 1),
    write_percents: scale.pick(vec![1, 50], Vec::new(), Vec::new()),
    lookups: None,
    ..sized_on(scale, 100_000, &["lognormal"])
});
static VARIANTS: Step = Step::new("bourbon/variants", 7.0, |scale| Context {
    requests: scale.pick(vec![Requests::Zipf { skew: 0.99 }], Vec::new(), Vec::new()),
    write_percents: scale.pick(vec![10], Vec::new(), Vec::new()),
    seeds: scale.pick(1, 3, 1),
    lookups: None,
    ..sized_on(scale, 100_000, &["lognormal"])
});
static FIG14: Step = Step::new("bourbon/fig14", 7.0, |scale| Context {
    learning: names(&["never", "cost-benefit", "coded"]),
    seeds: scale.pick(1, 3, 1),
    ..sized_on(scale, 100_000, &["uniform", "lognormal"])
});
static FIG15: Step =
    Step::new("bourbon/fig15", 1.6, |scale| sized_on(scale, 100_000, &["lognormal", "normal", "dense", "sparse"]));
static TABLE2: Step = Step::new("bourbon/table2", 0.4, |scale| sized_on(scale, 100_000, &["lognormal", "uniform"]));
static FIG16: Step = Step::new("bourbon/fig16", 2.6, |scale| sized_on(scale, 100_000, &["uniform"]));
static TABLE3: Step = Step::new("bourbon/table3", 1.1, |scale| sized_on(scale, 100_000, &["lognormal", "uniform"]));
static FIG17: Step = Step::new("bourbon/fig17", 4.7, |scale| Context {
    key_sets: names(scale.pick(
        &["lognormal"][..],
        &["linear", "seg1", "seg10", "normal", "lognormal", "uniform"],
        &["linear", "seg1", "seg10", "normal", "lognormal", "uniform"],
    )),
    ..sized(scale, 100_000)
});

/// Sets of the places of models, beside generated ones.
const PLACES_KEYS: &[&str] = &["osm_nodeid.u64", "kmer32.u64", "git_oid.u64"];
static IN_BLOCK: Step = Step::new("bourbon/in-block", 2.0, |scale| Context {
    lookups: Some(scale.pick(2_000, 200_000, TEN_MILLION)),
    ..sized_on(scale, 200_000, &["lognormal", "uniform", "normal"])
})
.real_keys(PLACES_KEYS);
static FIND_TABLE: Step = Step::new("bourbon/find-table", 0.3, |scale| Context {
    lookups: Some(scale.pick(2_000, 200_000, TEN_MILLION)),
    ..sized_on(scale, 1_000_000, &["lognormal", "uniform", "normal"])
})
.real_keys(PLACES_KEYS);

const ITEMS: &[Item] = &[
    Item {
        place: "Figure 2",
        shows: "steps of a lookup without models, by device",
        steps: &[&FIG2],
        claims: &[
            times(
                "In memory, indexing takes about as long as access to data: half of a lookup (Section 3.1).",
                |rows| {
                    let share = rows.with("profile", "memory").span("indexing_share")?;
                    Some(Verdict::of(share.min >= 0.4 && share.max <= 0.6, format!("a share of {share}")))
                },
            ),
            times(
                "Indexing takes 17 % of a lookup on a SATA SSD and 44 % on Optane: the faster the device, the more \
                (Section 3.1).",
                |rows| {
                    let of = |device: &str| rows.with("profile", device).number("indexing_share");
                    let (sata, nvme, optane) = (of("sata")?, of("nvme")?, of("optane")?);
                    let told = format!("shares: sata {}, nvme {}, optane {}", short(sata), short(nvme), short(optane));
                    Some(Verdict::of(
                        reaches(sata, 0.17) && reaches(optane, 0.44) && sata < nvme && nvme < optane,
                        told,
                    ))
                },
            ),
        ],
    },
    Item {
        place: "Figure 3",
        shows: "lifetimes of tables by level and share of writes",
        steps: &[&FIG3],
        claims: &[
            counts(
                "Guideline 1, favor learning files at lower levels: with 50 % writes a table of the deepest level \
                lives 360 times as long as one of level 0, 60 minutes against 10 seconds (Section 3.2).",
                |rows| {
                    let lives = rows.at("writes_percent", 50.0).sorted_by("level").numbers("mean_life_operations");
                    let ratio = lives.last()? / lives.first()?;
                    let told = format!("with 50 % writes {} times as long", short(ratio));
                    let Verdict::Confirmed(told) = guideline(rows, 1.0, &told)? else {
                        return Some(Verdict::NotConfirmed(told));
                    };
                    Some(Verdict::of(reaches(ratio, 360.0), format!("{told}; the guideline holds")))
                },
            ),
            counts(
                "Guideline 2, wait before learning a file: a few tables of the deepest level are very short-lived \
                (Section 3.2).",
                |rows| {
                    let deepest = rows.span("level")?.max;
                    let share = rows.at("level", deepest).span("short_lived_share")?;
                    guideline(rows, 2.0, &format!("at the deepest level a share of {share}, by share of writes"))
                },
            ),
        ],
    },
    Item {
        place: "Figure 4",
        shows: "internal lookups of tables by level",
        steps: &[&FIG4],
        claims: &[
            counts(
                "Guideline 3, do not neglect files at higher levels: they serve more lookups than deep ones, mostly \
                negative ones (Section 3.2).",
                |rows| {
                    let uniform = rows.with("load", "random").with("requests", "uniform").sorted_by("level");
                    let (all, negative) = (uniform.numbers("lookups_per_table"), uniform.numbers("negative_per_table"));
                    let told = format!(
                        "lookups of a table of the first level {} ({} negative), of the deepest {}",
                        short(*all.first()?),
                        short(*negative.first()?),
                        short(*all.last()?)
                    );
                    guideline(rows, 3.0, &told)
                },
            ),
            counts(
                "Guideline 4, be workload- and data-aware: under Zipf requests higher levels serve positive lookups, \
                too (Section 3.2).",
                |rows| {
                    let positive = |requests: &str| {
                        let rows = rows.with("load", "random").with("requests", requests).sorted_by("level");
                        rows.number("positive_per_table")
                    };
                    let told = format!(
                        "positive lookups of a table of the first level: uniform {}, Zipf {}",
                        short(positive("uniform")?),
                        short(positive("zipf:0.99")?)
                    );
                    guideline(rows, 4.0, &told)
                },
            ),
            counts("After a sequential load there are no negative lookups (Section 3.2).", |rows| {
                let negative = rows.with("load", "sequential").span("negative_per_table")?;
                Some(Verdict::of(negative.max == 0.0, format!("{negative} for a table, with 5 % writes")))
            }),
        ],
    },
    Item {
        place: "Figure 5",
        shows: "changes of levels",
        steps: &[&FIG5],
        claims: &[counts(
            "Guideline 5, do not learn levels for write-heavy workloads: the deepest level rests five minutes with 5 \
            % writes, and 25 seconds, a twelfth, with 50 % (Section 3.2).",
            |rows| {
                let deepest = rows.at("level", rows.span("level")?.max);
                let rest = |percent: f64| deepest.at("writes_percent", percent).number("operations_between_bursts");
                let (few, half) = (rest(5.0)?, rest(50.0)?);
                let told =
                    format!("operations between changes: {} with 5 % writes, {} with 50 %", short(few), short(half));
                Some(Verdict::of(reaches(few / half, 12.0), told))
            },
        )],
    },
    Item {
        place: "Table 1",
        shows: "models of files and of levels under writes",
        steps: &[&TABLE1],
        claims: &[
            times("Models of files gain 1.16 times with half writes, 1.44 with few, 1.78 without (Table 1).", |rows| {
                let of = |percent: f64| {
                    rows.with("learning", "always").at("writes_percent", percent).number("foreground_speedup")
                };
                let (half, few, none) = (of(50.0)?, of(5.0)?, of(0.0)?);
                let told = format!("{}, {}, {}", short(half), short(few), short(none));
                Some(Verdict::of(reaches(half, 1.16) && reaches(few, 1.44) && reaches(none, 1.78), told))
            }),
            times("Models of levels gain 1.2 times with few writes, and 1.92 without any (Table 1).", |rows| {
                let of = |percent: f64| {
                    rows.with("learning", "always, levels").at("writes_percent", percent).number("foreground_speedup")
                };
                let (few, none) = (of(5.0)?, of(0.0)?);
                let told = format!("{}, {}", short(few), short(none));
                Some(Verdict::of(reaches(few, 1.2) && reaches(none, 1.92), told))
            }),
            times(
                "Models of levels lose with half writes, 0.87 times, because they are not ready in time: 1.5 % of the \
                lookups use them (Table 1).",
                |rows| {
                    let rows = rows.with("learning", "always, levels").at("writes_percent", 50.0);
                    let (speedup, share) = (rows.number("foreground_speedup")?, rows.number("model_path_share")?);
                    let told = format!("{} times, a share of {} of the lookups", short(speedup), short(share));
                    Some(Verdict::of(speedup < 1.0 && share <= 1.1 * 0.015, told))
                },
            ),
        ],
    },
    Item {
        place: "Figure 8",
        shows: "steps of a lookup with and without models",
        steps: &[&FIG8],
        claims: &[times("Models make the search and the loading of data faster (Section 5.1).", |rows| {
            let rows = rows.with("learning", "file models");
            let (search, load) = (rows.span("search_speedup")?, rows.span("load_speedup")?);
            Some(Verdict::of(search.min > 1.0 && load.min > 1.0, format!("search {search} times, loading {load}")))
        })],
    },
    Item {
        place: "Figure 9",
        shows: "lookups by key set",
        steps: &[&FIG9],
        claims: &[
            times(
                "Lookups without writes are 1.23 to 1.78 times faster with models of files (Section 5.2.1).",
                |rows| by_speedup(&rows.with("learning", "file models"), 1.23, "speed-up"),
            ),
            times("They are 1.33 to 1.92 times faster with models of levels (Section 5.2.1).", |rows| {
                by_speedup(&rows.with("learning", "level models"), 1.33, "speed-up")
            }),
            counts(
                "The linear set has the fewest segments, and sets with gaps have more: 1 % before 10 % (Section \
                5.2.1).",
                |rows| {
                    let of = |set: &str| rows.on_keys(set).with("learning", "file models").number("segments");
                    let (linear, seg1, seg10) = (of("linear")?, of("seg1")?, of("seg10")?);
                    let told = format!("segments: linear {linear}, seg1 {seg1}, seg10 {seg10}");
                    Some(Verdict::of(linear <= seg1 && seg1 <= seg10, told))
                },
            ),
        ],
    },
    Item {
        place: "Figure 10",
        shows: "lookups by load order",
        steps: &[&FIG10],
        claims: &[
            times("Models gain 1.47 to 1.61 times, whatever the order of the load (Section 5.2.2).", |rows| {
                by_speedup(&rows.with("learning", "file models"), 1.47, "speed-up")
            }),
            counts(
                "After a sequential load there are no negative internal lookups, after a random one 2.3 for each \
                lookup (Section 5.2.2).",
                |rows| {
                    let of = |load: &str| rows.with("load", load).span("negative_per_get");
                    let (sequential, random) = (of("sequential")?, of("random")?);
                    let told = format!("sequential {sequential}, random {random}");
                    Some(Verdict::of(sequential.max == 0.0 && reaches(random.min, 2.3), told))
                },
            ),
            times("Lookups take longer after a random load, 6 us against 4 (Section 5.2.2).", |rows| {
                let rows = rows.with("learning", "never");
                let over = rows.ratios(&["keys"], ("load", "random", "sequential"), "processor_ns_per_get")?;
                Some(by_factor(over, 1.5, "without models, random over sequential"))
            }),
            times("Models gain less after a random load (Section 5.2.2).", |rows| {
                let rows = rows.with("learning", "file models");
                let gain = rows.span("speedup")?;
                if gain.max <= 1.0 {
                    return Some(Verdict::NotComparable(format!("models gain nothing here, speed-up {gain}")));
                }
                let over = rows.ratios(&["keys"], ("load", "random", "sequential"), "speedup")?;
                Some(Verdict::of(over.max < 1.0, format!("the gain over that after a sequential one: {over}")))
            }),
        ],
    },
    Item {
        place: "Figure 11",
        shows: "lookups by request distribution",
        steps: &[&FIG11],
        claims: &[times("Models gain 1.54 to 1.76 times, whatever the requests (Section 5.2.3).", |rows| {
            by_speedup(&rows.with("learning", "file models"), 1.54, "speed-up")
        })],
    },
    Item {
        place: "Figure 12",
        shows: "range queries by length",
        steps: &[&FIG12],
        claims: &[times(
            "Models gain 1.90 times for ranges of one entry, and the less the longer they are: 1.15 for 100 (Section \
            5.3).",
            |rows| {
                let rows = rows.with("learning", "file models");
                let of = |entries: f64| rows.at("range_entries", entries).span("normalized_throughput");
                let (one, hundred) = (of(1.0)?, of(100.0)?);
                let told = format!("one entry {one}, 100 entries {hundred}");
                Some(Verdict::of(reaches(one.min, 1.9) && hundred.max < one.min, told))
            },
        )],
    },
    Item {
        place: "Figure 13",
        shows: "learning policies under writes",
        steps: &[&FIG13],
        claims: &[
            times("All variants of Bourbon reduce the time of the workload (Section 5.4, Figure 13a).", |rows| {
                let rows = rows.with_any("learning", &["offline", "always", "cost-benefit"]);
                let gain = rows.span("foreground_speedup")?;
                Some(Verdict::of(gain.min > 1.0, format!("foreground {gain} times as fast")))
            }),
            times(
                "With half writes, the cost-benefit analyser learns for a tenth of the time of always learning \
                (Section 5.4, Figure 13b).",
                |rows| {
                    let rows = rows.at("writes_percent", 50.0);
                    let saves = rows.share(&["keys"], |group| {
                        let of = |learning: &str| group.with("learning", learning).number("learning_s");
                        Some(of("always")? > 0.0 && reaches(of("always")? / of("cost-benefit")?, 10.0))
                    })?;
                    let of = |learning: &str| rows.with("learning", learning).span("learning_s");
                    let (chosen, always) = (of("cost-benefit")?, of("always")?);
                    if chosen.max == 0.0 {
                        return Some(Verdict::NotComparable("the cost-benefit analyser learned nothing here".into()));
                    }
                    Some(Verdict::of(saves.is_all(), format!("seconds: cost-benefit {chosen}, always {always}")))
                },
            ),
            times(
                "With half writes, its total work is less than that of always learning (Section 5.4, Figure 13c).",
                |rows| {
                    let rows = rows.at("writes_percent", 50.0);
                    let over = rows.ratios(&["keys"], ("learning", "always", "cost-benefit"), "total_s")?;
                    Some(Verdict::of(over.min > 1.0, format!("always over cost-benefit: {over}")))
                },
            ),
            times("Always learning has the least foreground time (Section 5.4, Figure 13a).", |rows| {
                let least = rows.share(&["keys", "writes_percent"], |group| {
                    let of = group.all_of("learning", &["offline", "cost-benefit", "never"], "foreground_s")?;
                    let always = group.with("learning", "always").number("foreground_s")?;
                    Some(of.iter().all(|other| always <= TIE * other))
                })?;
                let over =
                    |other| rows.ratios(&["keys", "writes_percent"], ("learning", other, "always"), "foreground_s");
                let (offline, chosen) = (over("offline")?, over("cost-benefit")?);
                let told = format!("in {least} runs; over it: offline {offline}, cost-benefit {chosen}");
                Some(Verdict::of(least.is_all(), told))
            }),
            times(
                "With few writes it learns almost all files, as always learning does (Section 5.4, Figure 13d).",
                |rows| {
                    let rows = rows.at("writes_percent", 1.0);
                    let over = rows.ratios(&["keys"], ("learning", "cost-benefit", "always"), "model_path_share")?;
                    Some(Verdict::of(
                        reaches(over.min, 1.0),
                        format!("lookups by models, over always learning: {over}"),
                    ))
                },
            ),
        ],
    },
    Item {
        place: "Figure 14",
        shows: "YCSB",
        steps: &[&FIG14],
        claims: &[
            times("Lookups alone (C) gain 1.6 times (Section 5.5.1).", |rows| {
                by_speedup(&ycsb(rows, &["C"]), 1.6, "speed-up")
            }),
            times("Mostly lookups (B, D) gain 1.24 to 1.44 times (Section 5.5.1).", |rows| {
                by_speedup(&ycsb(rows, &["B", "D"]), 1.24, "speed-up")
            }),
            times("Half writes (A, F) gain 1.06 to 1.18 times (Section 5.5.1).", |rows| {
                by_speedup(&ycsb(rows, &["A", "F"]), 1.06, "speed-up")
            }),
            times("Ranges (E) gain 1.16 to 1.19 times (Section 5.5.1).", |rows| {
                by_speedup(&ycsb(rows, &["E"]), 1.16, "speed-up")
            }),
        ],
    },
    Item {
        place: "Figure 15",
        shows: "key sets of SOSD",
        steps: &[&FIG15],
        claims: &[times("Models gain 1.48 to 1.74 times on all sets (Section 5.5.2).", |rows| {
            by_speedup(&rows.with("learning", "file models"), 1.48, "speed-up")
        })],
    },
    Item {
        place: "Table 2",
        shows: "lookups with data on fast storage",
        steps: &[&TABLE2],
        claims: &[times("Models gain 1.25 to 1.28 times with data on Optane (Section 5.6).", |rows| {
            by_speedup(&rows.with("learning", "file models"), 1.25, "speed-up, device time by a profile")
        })],
    },
    Item {
        place: "Figure 16",
        shows: "mixed YCSB workloads on fast storage",
        steps: &[&FIG16],
        claims: &[
            times("Mostly lookups (B, D) gain 1.16 to 1.19 times on Optane (Section 5.6).", |rows| {
                by_speedup(&ycsb(rows, &["B", "D"]), 1.16, "speed-up, device time by a profile")
            }),
            times("Gains are marginal with half writes (A, F) (Section 5.6).", |rows| {
                let gain = ycsb(rows, &["A", "F"]).span("speedup")?;
                Some(Verdict::of(gain.min >= 0.95 && gain.max <= 1.1, format!("speed-up {gain}")))
            }),
        ],
    },
    Item {
        place: "Table 3",
        shows: "lookups with memory for a quarter of the data",
        steps: &[&TABLE3],
        claims: &[
            times("Uniform lookups gain 1.04 times on a SATA SSD (Section 5.7).", |rows| {
                let gain = rows.with("learning", "file models").with("requests", "uniform").span("speedup")?;
                Some(Verdict::of(gain.min > 1.0, format!("speed-up {gain}")))
            }),
            times("Skewed lookups, 80 % in a quarter of the data, gain 1.25 times (Section 5.7).", |rows| {
                let rows = rows.with("learning", "file models").with("requests", "hotspot:0.25,0.8");
                by_speedup(&rows, 1.25, "speed-up")
            }),
        ],
    },
    Item {
        place: "Figure 17",
        shows: "error bound and space",
        steps: &[&FIG17],
        claims: &[
            counts("The larger the error bound, the less space models take (Section 5.8).", |rows| {
                let rows = rows.with("learning", "file models");
                let falls = rows.share(&["keys"], |set| {
                    let bytes = set.sorted_by("error_records").numbers("model_bytes");
                    (bytes.len() > 1).then(|| bytes.is_sorted_by(|less, more| less >= more))
                })?;
                let change = rows.changes(&["keys"], "error_records", "model_bytes")?;
                Some(Verdict::of(falls.is_all(), format!("on {falls} sets; error 64 over 2: {change}")))
            }),
            counts("Models take 0 to 2 % of the data at error 8 (Section 5.8).", |rows| {
                let rows = rows.with("learning", "file models").at("error_records", 8.0);
                let share = rows.span("model_bytes_of_raw")?;
                let percent = Span { min: 100.0 * share.min, max: 100.0 * share.max };
                Some(Verdict::of(percent.max <= 2.0, format!("{percent} %")))
            }),
            times("An error of 8 gives the fastest lookups (Section 5.8).", |rows| {
                let rows = rows.with("learning", "file models");
                let over = rows.share(&["keys"], |set| {
                    let at_eight = set.at("error_records", 8.0).number("processor_ns_per_get")?;
                    Some(at_eight <= TIE * set.span("processor_ns_per_get")?.min)
                })?;
                let slower = rows.groups(&["keys"]).into_iter().filter_map(|set| {
                    let at_eight = set.at("error_records", 8.0).number("processor_ns_per_get")?;
                    Some(at_eight / set.span("processor_ns_per_get")?.min)
                });
                let slower = Span::of(slower.collect::<Vec<_>>())?;
                Some(Verdict::of(over.is_all(), format!("on {over} sets; over the fastest: {slower}")))
            }),
        ],
    },
    Item {
        place: "Section 4.2, in a block",
        shows: "the search of a record in a block, by size of the block",
        steps: &[&IN_BLOCK],
        claims: &[times(
            "A prediction of a record's place makes the search in its block faster (Section 4.2; here: by 5 %, a line \
            beside bisection).",
            |rows| {
                let rows = rows.with("blocks", "columns").with("search", "line");
                let faster =
                    rows.share(&["keys", "block_bytes"], |row| Some(row.number("speedup_over_bisection")? > FASTER))?;
                let gain = rows.span("speedup_over_bisection")?;
                Some(Verdict::of(faster.is_most(), format!("in {faster} cases; bisection over the line: {gain}")))
            },
        )],
    },
    Item {
        place: "Section 4.3, among tables",
        shows: "the search of a key's table among those of a level",
        steps: &[&FIND_TABLE],
        claims: &[times(
            "A model of a level finds the table of a key faster than a search of the tables (Section 4.3; here: beside \
            bisection of their last keys, by 5 %).",
            |rows| {
                let rows = rows.with_any("search", &["line", "segments"]);
                let faster =
                    rows.share(&["keys", "tables"], |group| Some(group.span("speedup_over_bisection")?.max > FASTER))?;
                let gain = rows.span("speedup_over_bisection")?;
                Some(Verdict::of(faster.is_most(), format!("in {faster} cases; bisection over models: {gain}")))
            },
        )],
    },
    Item {
        place: "Section 4.1",
        shows: "other models than regressions",
        steps: &[&VARIANTS],
        claims: &[times(
            "RMI, PGM-index or splines may offer more benefit than PLR (Section 4.1; here: one of them is faster by 5 \
            % in all runs).",
            |rows| {
                let gains: Vec<(&str, Span)> = SHAPES
                    .iter()
                    .filter_map(|&(shape, subject)| Some((shape, variant(rows, ("always", subject), "foreground_s")?)))
                    .collect();
                let is_of_paper = |(shape, _): &&(&str, Span)| NAMED_IN_PAPER.contains(shape);
                let best = gains.iter().filter(is_of_paper).map(|(_, gain)| gain.min).reduce(f64::max)?;
                let ours: Vec<String> = gains.iter().map(|(shape, gain)| format!("{shape} {gain}")).collect();
                Some(Verdict::of(best > FASTER, format!("foreground of regressions over others: {}", ours.join(", "))))
            },
        )],
    },
    Item {
        place: "Section 4.4.2",
        shows: "expected lookups by the popularity of keys",
        steps: &[&VARIANTS],
        claims: &[times(
            "Considering the distribution of requests could be more beneficial (Section 4.4.2; here: expected lookups \
            from those before, less work under Zipf).",
            |rows| {
                let zipf = rows.containing("requests", "zipf");
                let over = variant(&zipf, ("cost-benefit", "cost-benefit, like before"), "total_s")?;
                Some(Verdict::of(over.min > TIE, format!("expected like the level over like before, all work: {over}")))
            },
        )],
    },
    Item {
        place: "Section 4.5",
        shows: "switching between models of tables and of levels",
        steps: &[&VARIANTS],
        claims: &[times(
            "Adaptive switching between level and file models is worth supporting (Section 4.5; here: as good as the \
            better of both at each share of writes).",
            |rows| {
                let (tables, levels) = (
                    variant(rows, ("always, by change", "always"), "total_s")?,
                    variant(rows, ("always, by change", "always, levels"), "total_s")?,
                );
                let is_as_good = rows.share(&["keys", "requests", "writes_percent"], |group| {
                    let of = |learning: &str| group.with("learning", learning).number("total_s");
                    Some(of("always, by change")? <= TIE * of("always")?.min(of("always, levels")?))
                })?;
                let told = format!("all work over that of tables {tables}, of levels {levels}");
                Some(Verdict::of(is_as_good.is_all(), told))
            },
        )],
    },
];

/// The verdict that an experiment gives on a guideline, with our figures.
fn guideline(rows: &Rows<'_>, number: f64, ours: &str) -> Option<Verdict> {
    let verdicts = rows.at("guideline", number);
    let confirmed = verdicts.with("confirmed", "yes");
    verdicts.number("guideline")?;
    Some(Verdict::of(confirmed.numbers("guideline").len() == verdicts.numbers("guideline").len(), ours))
}

/// Below this, a model is not faster: other work of the processor is as large.
const FASTER: f64 = 1.05;

/// The shapes that Section 4.1 names.
const NAMED_IN_PAPER: [&str; 4] = ["spline", "radix spline", "PGM-index", "RMI"];

/// Shapes of models, by their subject.
const SHAPES: [(&str, &str); 7] = [
    ("line", "always, line"),
    ("spline", "always, spline"),
    ("radix spline", "always, radix spline"),
    ("PGM-index", "always, pgm"),
    ("RMI", "always, rmi"),
    ("exact separators", "always, separators"),
    ("by cost", "always, by cost"),
];

/// A figure of one way to learn over that of another, in each run.
fn variant(rows: &Rows<'_>, (over, under): (&str, &str), field: &str) -> Option<Span> {
    rows.ratios(&["keys", "requests", "writes_percent"], ("learning", over, under), field)
}

/// Runs of YCSB workloads with the paper's analyser.
fn ycsb<'r>(rows: &Rows<'r>, workloads: &[&str]) -> Rows<'r> {
    let names: Vec<String> = workloads.iter().map(|name| format!("ycsb-{}", name.to_lowercase())).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    rows.with_any("workload", &names).with("learning", "cost-benefit")
}
