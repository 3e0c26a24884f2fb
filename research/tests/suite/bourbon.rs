//! The experiments of Bourbon, at small size: each runs with every way to learn, and its counts and sums are
//! consistent.

use ogive_research::experiments::{Context, experiments};
use ogive_research::output::Reporter;
use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn small() -> Context {
    Context {
        asked_count: Some(4_000),
        key_sets: vec!["lognormal".into()],
        lookups: Some(2_000),
        write_percents: vec![20],
        ..Context::default()
    }
}

/// The records of an experiment.
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
        assert!(record["experiment"] == name && record["keys"].is_string(), "{record}");
    }
    Ok(records)
}

fn number(record: &Value, figure: &str) -> f64 {
    // Comparisons with what is no number fail.
    record[figure].as_f64().unwrap_or(f64::NAN)
}

fn of<'r>(records: &'r [Value], figure: &'r str, value: &'r str) -> Vec<&'r Value> {
    records.iter().filter(|record| record[figure] == value).collect()
}

#[test]
fn total_work_is_the_sum_of_its_parts_and_one_policy_is_the_best() -> TestResult {
    for (name, policies) in [("bourbon/fig13", 6), ("bourbon/table1", 3), ("bourbon/variants", 2 * 13)] {
        let records = run(name, &small())?;
        assert_eq!(records.len(), policies);
        for record in &records {
            let parts = ["foreground_s", "learning_s", "compaction_s"].map(|part| number(record, part));
            assert!((parts.iter().sum::<f64>() - number(record, "total_s")).abs() < 1e-9, "{record}");
            assert!(number(record, "total_ratio_to_best") >= 1.0, "{record}");
            assert!((0.0..=1.0).contains(&number(record, "model_path_share")), "{record}");
        }
        assert!(records.iter().any(|record| number(record, "total_ratio_to_best") == 1.0));
        let never = of(&records, "learning", "never");
        assert_eq!((number(never[0], "model_path_share"), number(never[0], "models_learned")), (0.0, 0.0));
    }
    Ok(())
}

#[test]
fn every_table_has_a_life_and_the_deeper_levels_have_the_more_of_them() -> TestResult {
    let records = run("bourbon/fig3", &small())?;
    let levels: Vec<&Value> = records.iter().filter(|record| record["level"].is_u64()).collect();
    assert!(levels.len() >= 2 && levels.is_sorted_by_key(|level| number(level, "level") as u64));
    for level in levels {
        assert!(number(level, "tables") >= number(level, "made_in_the_run"), "{level}");
        assert!(number(level, "p10_life_operations") <= number(level, "p90_life_operations"), "{level}");
        assert!(number(level, "mean_life_operations") <= number(level, "operations"), "{level}");
    }
    assert_eq!(records.iter().filter(|record| record["confirmed"].is_boolean()).count(), 2);
    Ok(())
}

#[test]
fn internal_look_ups_are_positive_or_negative() -> TestResult {
    let records = run("bourbon/fig4", &small())?;
    let levels: Vec<&Value> = records.iter().filter(|record| record["level"].is_u64()).collect();
    for level in &levels {
        let sum = number(level, "negative_per_table") + number(level, "positive_per_table");
        assert!((sum - number(level, "lookups_per_table")).abs() < 1e-9, "{level}");
    }
    let deepest = levels.iter().map(|level| number(level, "level") as u64).max();
    let in_vain = levels
        .iter()
        .filter(|level| level["level"].as_u64() == deepest)
        .map(|level| number(level, "negative_per_table"));
    assert!(in_vain.sum::<f64>() == 0.0, "what is looked up is there, at the latest at the deepest level");
    Ok(())
}

#[test]
fn levels_change_in_bursts_that_are_counted() -> TestResult {
    let context = Context { full: true, ..small() };
    let records = run("bourbon/fig5", &context)?;
    let bursts: f64 =
        records.iter().filter(|record| record["bursts"].is_u64()).map(|record| number(record, "bursts")).sum();
    let points = records.iter().filter(|record| record["at_operation"].is_u64()).count();
    assert_eq!(bursts, points as f64);
    Ok(())
}

#[test]
fn models_are_there_where_they_were_learned() -> TestResult {
    for name in ["bourbon/fig9", "bourbon/fig15"] {
        let records = run(name, &small())?;
        assert_eq!(records.len(), 5);
        for record in &records {
            let learned = matches!(record["learning"].as_str(), Some(name) if name.contains("models"));
            assert_eq!(number(record, "segments") > 0.0, learned, "{record}");
            assert!(number(record, "processor_ns_per_get") > 0.0, "{record}");
        }
    }
    let lines = |set: &str| -> Result<f64, Box<dyn std::error::Error>> {
        let records = run("bourbon/fig9", &Context { key_sets: vec![set.into()], ..small() })?;
        Ok(of(&records, "learning", "file models").iter().map(|record| number(record, "segments")).sum())
    };
    // Tables of upper levels hold some of the consecutive keys, so that even there one line is not enough.
    assert!(lines("linear")? < lines("lognormal")?);
    Ok(())
}

#[test]
fn sequential_loads_ask_no_table_in_vain() -> TestResult {
    let records = run("bourbon/fig10", &small())?;
    for record in of(&records, "load", "sequential") {
        assert_eq!(number(record, "negative_per_get"), 0.0, "{record}");
        assert!((0.5..1.5).contains(&number(record, "positive_per_get")), "{record}");
    }
    assert!(of(&records, "load", "random").iter().any(|record| number(record, "negative_per_get") > 0.0));
    Ok(())
}

#[test]
fn every_distribution_range_length_and_workload_is_reported() -> TestResult {
    assert_eq!(run("bourbon/fig11", &small())?.len(), 6 * 5);
    assert_eq!(run("bourbon/fig12", &Context { lookups: Some(200), ..small() })?.len(), 6 * 5);
    assert_eq!(run("bourbon/fig14", &small())?.len(), 6 * 6);
    Ok(())
}

#[test]
fn modelled_times_are_the_processors_and_the_devices() -> TestResult {
    for (name, rows) in [("bourbon/table2", 5), ("bourbon/table3", 10), ("bourbon/fig16", 16)] {
        let records = run(name, &small())?;
        assert_eq!(records.len(), rows, "{name}");
        for record in &records {
            let sum = number(record, "processor_us") + number(record, "modelled_device_us");
            assert!((sum - number(record, "modelled_us")).abs() < 1e-9, "{record}");
        }
    }
    Ok(())
}

#[test]
fn steps_add_up_and_devices_only_add_to_reading() -> TestResult {
    let records = run("bourbon/fig8", &small())?;
    for record in &records {
        let steps = [
            "find_files_ns",
            "search_index_ns",
            "search_filter_ns",
            "load_block_ns",
            "search_block_ns",
            "read_value_ns",
        ];
        let sum = steps.map(|step| number(record, step)).iter().sum::<f64>() + number(record, "other_ns");
        assert!((sum - number(record, "total_ns")).abs() < 1e-6, "{record}");
    }
    let records = run("bourbon/fig2", &small())?;
    assert_eq!(records.len(), 4);
    for record in &records[1..] {
        assert_eq!(number(record, "search_index_ns"), number(&records[0], "search_index_ns"));
        assert!(number(record, "indexing_share") < number(&records[0], "indexing_share"), "{record}");
    }
    Ok(())
}

#[test]
fn a_larger_error_takes_no_more_memory() -> TestResult {
    let records = run("bourbon/fig17", &small())?;
    let bytes: Vec<f64> =
        of(&records, "learning", "file models").iter().map(|record| number(record, "model_bytes")).collect();
    assert!(bytes.len() == 6 && bytes.is_sorted_by(|less, more| less >= more), "{bytes:?}");
    Ok(())
}

#[test]
fn searches_within_blocks_and_among_tables_are_compared() -> TestResult {
    let records = run("bourbon/in-block", &small())?;
    assert_eq!(records.len(), 3 * 4);
    for set in records.chunks(4) {
        // The blocks of columns are the same, however they are searched.
        assert!(set[1..].iter().all(|record| record["bytes_of_raw"] == set[1]["bytes_of_raw"]), "{set:?}");
        assert_eq!(number(of(set, "search", "bisection")[0], "speedup_over_bisection"), 1.0);
    }
    let records = run("bourbon/find-table", &small())?;
    assert_eq!(records.len(), 3 * 3);
    assert_eq!(number(&records[0], "tables"), 10.0);
    Ok(())
}
