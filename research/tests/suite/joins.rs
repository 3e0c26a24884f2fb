//! The experiments on joins, at small size: all methods give the same rows, and their figures are consistent.

use ogive_research::experiments::{Context, experiments};
use ogive_research::output::Reporter;
use serde_json::Value;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn small(keys: &str) -> Context {
    Context {
        asked_count: Some(20_000),
        key_sets: vec![keys.to_string()],
        ratios: vec![1, 100],
        profiles: vec!["ssd".to_string()],
        modelled_only: true,
        ..Context::default()
    }
}

/// The records of an experiment, in none of which a method was refused.
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
        assert!(record["experiment"] == name && record["keys"].is_string() && record["refused"].is_null(), "{record}");
    }
    Ok(records)
}

fn number(record: &Value, figure: &str) -> f64 {
    // Comparisons with what is no number fail.
    record[figure].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn all_methods_join_sorted_tables_and_cost_what_their_requests_and_work_cost() -> TestResult {
    for (name, keys) in [("join/fig3", "uniform"), ("join/strings", "lognormal")] {
        let records = run(name, &small(keys))?;
        assert_eq!(records.len(), 2 * 8, "{name}");
        for record in &records {
            let rows = if record["ratio"] == 1 { 20_000.0 } else { 200.0 };
            assert_eq!(number(record, "rows"), rows, "{record}");
            assert!(number(record, "device_us") > 0.0 && number(record, "requests") > 0.0, "{record}");
            let sum_us = number(record, "device_us") + number(record, "cpu_us");
            assert!((number(record, "modelled_us") - sum_us).abs() < 1.0, "{record}");
        }
    }
    Ok(())
}

#[test]
fn unsorted_relations_are_joined_by_every_method_that_takes_them() -> TestResult {
    for name in ["join/fig4", "join/partition"] {
        // A B-tree needs some megabytes of its share.
        let context = Context { memory_limits: vec![24 << 20, 64 << 20], ..small("lognormal") };
        for record in run(name, &context)? {
            assert!(number(&record, "rows") > 0.0, "{record}");
            assert!(number(&record, "peak_memory_bytes") <= number(&record, "memory_bytes"), "{record}");
        }
    }
    Ok(())
}

#[test]
fn threads_and_windows_change_what_a_join_costs_and_not_its_rows() -> TestResult {
    for (name, each) in [("join/fig5", 5 * 5), ("join/fig6", 3 * 5)] {
        let records = run(name, &small("lognormal"))?;
        assert_eq!(records.len(), 2 * each, "{name}");
        for ratio in [1, 100] {
            let rows: Vec<&Value> =
                records.iter().filter(|record| record["ratio"] == ratio).map(|record| &record["rows"]).collect();
            assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {rows:?}");
        }
    }
    Ok(())
}

#[test]
fn a_longer_window_makes_a_smaller_index_and_blocks_a_smaller_one_than_keys() -> TestResult {
    let records = run("join/table2", &small("lognormal"))?;
    assert_eq!(records.len(), 5);
    for pair in records.windows(2) {
        assert!(number(&pair[1], "keys_bytes") <= number(&pair[0], "keys_bytes"), "{pair:?}");
    }
    assert!(records.iter().all(|record| number(record, "blocks_bytes") <= number(record, "keys_bytes")), "{records:?}");
    Ok(())
}

#[test]
fn every_kind_of_index_is_sized_built_and_joined_by() -> TestResult {
    let records = run("join/fig7", &small("normal"))?;
    let methods: Vec<&str> = records.iter().filter_map(|record| record["method"].as_str()).collect();
    for method in
        ["inlj:btree", "inlj:pgm:127", "inlj:pgm-sampled", "inlj:radix-spline", "inlj:rmi", "inlj", "inlj:index"]
    {
        assert!(methods.contains(&method), "{methods:?}");
    }
    for record in &records {
        assert_eq!(number(record, "rows"), 20_000.0, "{record}");
    }
    Ok(())
}

#[test]
fn the_choice_stands_beside_every_method_in_every_cell() -> TestResult {
    let records = run("join/auto", &small("step"))?;
    // Two ratios and two limits of memory, sorted and unsorted.
    assert_eq!(records.len(), 2 * 2 * 2);
    for record in &records {
        assert!(number(record, "over_best") >= 1.0, "{record}");
        assert!(record["chosen"].is_string() && record["best"].is_string(), "{record}");
        assert!(number(record, "merge") > 0.0, "{record}");
    }
    Ok(())
}
