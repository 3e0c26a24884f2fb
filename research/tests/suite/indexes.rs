//! The experiments on updatable indexes, at small size: each runs on every structure, and its counts are consistent.

use ogive::index::IndexKind;
use ogive_research::experiments::{Context, Experiment, experiments};
use ogive_research::output::Reporter;
use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn small() -> Context {
    Context {
        count: 5_000,
        key_sets: strings(&["lognormal"]),
        lookups: Some(2_000),
        modelled_only: true,
        ..Context::default()
    }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// The records of an experiment, none of which may be an error.
fn run(name: &str, context: &Context) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    let experiment = experiments().iter().find(|experiment| experiment.name == name).ok_or("no such experiment")?;
    let mut printed = Vec::new();
    {
        let stream: &mut dyn std::io::Write = &mut printed;
        experiment.measure(context, &mut Reporter::new(stream, true))?;
    }
    let records: Vec<Value> = str::from_utf8(&printed)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert!(!records.is_empty());
    for record in &records {
        assert!(record["experiment"] == name && record["keys"].is_string() && record["error"].is_null(), "{record}");
    }
    Ok(records)
}

fn number(record: &Value, figure: &str) -> f64 {
    // Comparisons with what is no number fail.
    record[figure].as_f64().unwrap_or(f64::NAN)
}

fn of<'r>(records: &'r [Value], figures: &'r [(&str, &str)]) -> impl Iterator<Item = &'r Value> {
    records.iter().filter(move |record| figures.iter().all(|(figure, value)| record[*figure] == *value))
}

#[test]
fn experiments_that_take_programs_are_those_of_the_document() -> TestResult {
    let document = include_str!("../../../docs/programs.md");
    let (_, listed) = document.split_once("The experiments that take programs are").ok_or("no list")?;
    let (listed, _) = listed.split_once('.').ok_or("no end of the list")?;
    let listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, Experiment::WITH_PROGRAMS);
    Ok(())
}

#[test]
fn blocks_are_reported_for_every_structure_phase_and_resident_set() -> TestResult {
    let records = run("aulid/blocks", &small())?;
    assert_eq!(records.len(), 2 * IndexKind::all().len() * 5);
    for kind in IndexKind::all() {
        for phase in ["bulk", "grown"] {
            let of_kind = [("structure", kind.name()), ("phase", phase)];
            let rows: Vec<&Value> = of(&records, &of_kind).collect();
            let residents: Vec<&Value> = rows.iter().map(|row| &row["resident_bytes"]).collect();
            assert_eq!(residents, [&0.into(), &4096.into(), &16384.into(), &65536.into(), &Value::from("all")]);
            for figure in ["blocks_per_get", "blocks_per_absent_get", "blocks_per_scan100", "blocks_read_per_insert"] {
                let ladder: Vec<f64> = rows.iter().map(|row| number(row, figure)).collect();
                assert!(ladder.is_sorted_by(|more, less| more >= less), "{kind}, {phase}, {figure}: {ladder:?}");
            }
            let first = rows.first().ok_or("no rows")?;
            assert!(number(first, "blocks_per_get") >= 1.0, "{first}");
            assert!(number(first, "blocks_per_scan100") >= number(first, "blocks_per_get") - 0.1, "{first}");
            assert!(number(first, "blocks_written_per_insert") >= 1.0, "{first}");
            assert!(number(first, "log_bytes_per_insert") > 1.0, "{first}");
            assert!(number(first, "file_bytes") > number(first, "inner_bytes"), "{first}");
        }
    }
    Ok(())
}

#[test]
fn our_own_index_never_fetches_more_blocks_than_the_b_tree() -> TestResult {
    let key_sets = strings(&["lognormal", "step", "poison", "clusters", "nested-halves", "dense-runs", "bit-reversed"]);
    let context = Context { count: 20_000, key_sets, structures: strings(&["ogive", "btree"]), ..small() };
    let records = run("aulid/blocks", &context)?;
    for ogive in of(&records, &[("structure", "ogive")]) {
        let same = |other: &&Value| {
            ["keys", "phase", "resident_bytes"].iter().all(|figure| other[figure] == ogive[figure])
                && other["structure"] == "btree"
        };
        let btree = records.iter().find(same).ok_or("no B+-tree beside it")?;
        for figure in ["blocks_per_get", "blocks_per_absent_get"] {
            // Grown leaves are split elsewhere, so that some ranges begin in another leaf: a matter of hundredths.
            assert!(number(ogive, figure) <= number(btree, figure) + 0.02, "{figure}: {ogive}, {btree}");
        }
    }
    Ok(())
}

#[test]
fn throughput_is_compared_with_the_best_of_the_others() -> TestResult {
    let structures = strings(&["ogive", "btree", "pgm"]);
    let records = run("aulid/throughput", &Context { structures, ..small() })?;
    // Six workloads and appends.
    assert_eq!(records.len(), 7 * 3);
    for record in of(&records, &[("structure", "ogive")]) {
        let same = |other: &&Value| other["structure"] == "btree" && other["workload"] == record["workload"];
        let btree = records.iter().find(same).ok_or("no B+-tree beside it")?;
        let ratio = number(record, "modelled_ops_per_s") / number(btree, "modelled_ops_per_s");
        assert!((number(record, "modelled_ratio_to_best_other") - ratio).abs() < 1e-9, "{record}");
        assert!(number(record, "operations") >= 1_000.0, "{record}");
        let writes = record["workload"] != "w1" && record["workload"] != "w2";
        assert_eq!(number(record, "log_bytes_per_operation") > 0.0, writes, "{record}");
    }
    Ok(())
}

#[test]
fn with_nothing_in_memory_each_lookup_reads_its_path() -> TestResult {
    // Enough for three levels, and for a pool of seven pages once half of them are inserted.
    let context = Context { structures: strings(&["ogive", "btree"]), count: 100_000, ..small() };
    let records = run("aulid/uncached", &context)?;
    let pooled = run("aulid/throughput", &context)?;
    let blocks = |records: &[Value], workload: &str| {
        let figures = [("structure", "btree"), ("workload", workload)];
        of(records, &figures).next().map_or(f64::NAN, |record| number(record, "blocks_read_per_operation"))
    };
    // But for the last leaf, which the metanode names.
    assert!((2.9..=3.0).contains(&blocks(&records, "w1")), "{records:?}");
    for workload in ["w3", "w4", "w5", "w6"] {
        assert!(blocks(&records, workload) > blocks(&pooled, workload) + 1.0, "{workload}: {records:?}");
    }
    assert!(records.iter().all(|record| record["memory_bytes"] == 0 && record["direct"].is_null()));
    Ok(())
}

#[test]
fn every_distribution_of_requests_is_run() -> TestResult {
    let context = Context { structures: strings(&["ogive"]), lookups: Some(500), ..small() };
    let records = run("aulid/requests", &context)?;
    for requests in ["uniform", "zipf:0.99", "hotspot:0.01,0.9", "latest:0.99"] {
        assert_eq!(of(&records, &[("requests", requests)]).count(), 3);
    }
    Ok(())
}

#[test]
fn bulk_loads_are_measured_over_the_b_tree() -> TestResult {
    let records = run("aulid/bulk-load", &small())?;
    assert_eq!(records.len(), IndexKind::all().len());
    for record in of(&records, &[("structure", "btree")]) {
        assert_eq!((number(record, "load_ratio_to_btree"), number(record, "file_ratio_to_btree")), (1.0, 1.0));
    }
    assert!(records.iter().all(|record| number(record, "file_bytes") > 5_000.0 * 16.0));
    Ok(())
}

#[test]
fn tails_lie_above_their_means() -> TestResult {
    let records = run("aulid/tail", &Context { lookups: Some(500), ..small() })?;
    assert_eq!(records.len(), 2 * 2 * IndexKind::all().len());
    assert!(records.iter().all(|record| number(record, "modelled_p99_us") >= number(record, "modelled_mean_us") * 0.5));
    Ok(())
}

#[test]
fn inserts_are_split_into_phases_that_touch_pages() -> TestResult {
    let records = run("aulid/insert", &small())?;
    assert_eq!(records.len(), 2 * IndexKind::all().len());
    for record in &records {
        let changed: f64 = ["search", "insert", "structure", "statistics"]
            .iter()
            .map(|phase| number(record, &format!("{phase}_pages_changed_per_insert")))
            .sum();
        assert!(changed > 0.5, "{record}");
    }
    Ok(())
}

#[test]
fn variants_of_aulid_show_what_their_parts_are_worth() -> TestResult {
    let optimisations = run("aulid/read-optimisations", &small())?;
    let blocks =
        |name: &str| of(&optimisations, &[("structure", name)]).map(|row| number(row, "blocks_per_get")).sum::<f64>();
    assert!(blocks("scan-forward") <= blocks("none") && blocks("both") <= blocks("fulfill"));
    assert_eq!(run("aulid/ablation", &small())?.len(), 5);
    let slots = run("aulid/slots", &small())?;
    assert_eq!(slots.len(), 10);
    assert_eq!(run("aulid/lipp-btree", &Context { lookups: Some(500), ..small() })?.len(), 9);
    assert_eq!(run("aulid/adjust", &Context { lookups: Some(500), ..small() })?.len(), 4 * 10);
    Ok(())
}

#[test]
fn large_sets_and_long_runs_are_measured_in_small() -> TestResult {
    let scaling = run("aulid/scaling", &Context { lookups: Some(300), ..small() })?;
    assert_eq!(scaling.len(), 2 * 6 * 3);
    assert!(of(&scaling, &[("structure", "btree")]).all(|row| number(row, "modelled_ratio_to_btree") == 1.0));
    let endurance = run("aulid/endurance", &Context { lookups: Some(5_000), ..small() })?;
    assert_eq!(endurance.len(), 3 * 13);
    for record in of(&endurance, &[("stage", "half removed")]) {
        assert!(number(record, "entries") < 5_000.0, "{record}");
    }
    Ok(())
}

#[test]
fn the_questions_of_the_slides_are_answered() -> TestResult {
    for (name, rows) in [("disk/lookups", 7), ("disk/hybrids", 7), ("disk/storage", IndexKind::all().len())] {
        assert_eq!(run(name, &small())?.len(), rows, "{name}");
    }
    let few = Context { structures: strings(&["ogive", "btree"]), lookups: Some(300), ..small() };
    assert_eq!(run("disk/block-size", &few)?.len(), 5 * 2);
    let buffered = run("disk/buffer", &few)?;
    assert_eq!(buffered.len(), 3 * 5 * 2);
    let profile = run("disk/profiling", &small())?;
    assert!(number(&profile[0], "segments_error_16") >= number(&profile[0], "segments_error_1024"));
    Ok(())
}

#[test]
fn updates_of_the_tuned_index_stand_beside_the_b_tree_on_each_storage() -> TestResult {
    let records = run("airindex/updates", &Context { asked_count: Some(20_000), ..small() })?;
    let part = |name: &'static str| [("part", name)];
    assert_eq!(of(&records, &part("workloads")).count(), 6 * 2 * 3 * 4);
    assert_eq!(of(&records, &part("gaps")).count(), 3 * 6);
    assert_eq!(of(&records, &part("drift")).count(), 3 * 3);
    for record in of(&records, &[("part", "workloads"), ("structure", "airindex"), ("memory", "none")]) {
        assert!(number(record, "ratio_to_btree") > 0.9, "{record}");
        assert!(number(record, "requests_per_operation") > 0.0, "{record}");
    }
    for record in of(&records, &part("gaps")).chain(of(&records, &part("drift"))) {
        assert!(
            number(record, "requests_per_get") >= 1.0 && number(record, "modelled_us_per_insert") > 0.0,
            "{record}"
        );
    }
    Ok(())
}
