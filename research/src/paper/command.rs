//! The command that repeats a step.

use std::fmt::Display;

use crate::experiments::Context;

/// The `ogive-research run` command of an experiment with these settings.
pub fn command_of(experiment: &str, context: &Context) -> String {
    // All fields by name, so that a new one is not forgotten here.
    let Context {
        key_sets,
        count,
        asked_count,
        seed,
        seeds,
        profiles,
        designs,
        structures,
        program_timeout_s,
        resident,
        phases,
        workloads,
        requests,
        lookups,
        payload_bytes,
        learning,
        write_percents,
        methods,
        ratios,
        memory_limits,
        inline_values,
        exact,
        device,
        modelled_only,
        full,
        memory: _,
    } = context;
    let default = Context::default();
    let mut command = format!("ogive-research --json run {experiment}");
    list(&mut command, "--keys", key_sets);
    // An experiment may have a default of its own.
    flag(&mut command, &format!("-n {count}"), asked_count.is_some() || *count != default.count);
    flag(&mut command, &format!("--seed {seed}"), *seed != default.seed);
    flag(&mut command, &format!("--seeds {seeds}"), *seeds != default.seeds);
    list(&mut command, "--profile", profiles);
    list(&mut command, "--design", designs);
    list(&mut command, "--structure", structures);
    let timeout = format!("--program-timeout {program_timeout_s}");
    flag(&mut command, &timeout, *program_timeout_s != default.program_timeout_s);
    list(&mut command, "--resident", resident);
    list(&mut command, "--phase", phases);
    list(&mut command, "--workload", workloads);
    list(&mut command, "--requests", requests);
    list(&mut command, "--lookups", lookups.as_slice());
    flag(&mut command, &format!("--payload {payload_bytes}"), *payload_bytes != default.payload_bytes);
    list(&mut command, "--learning", learning);
    list(&mut command, "--writes", write_percents);
    list(&mut command, "--method", methods);
    list(&mut command, "--ratio", ratios);
    list(&mut command, "--memory", memory_limits);
    flag(&mut command, "--inline", *inline_values);
    flag(&mut command, "--exact", *exact);
    list(&mut command, "--device", device.as_ref().map(|device| device.display()).as_slice());
    flag(&mut command, "--modelled-only", *modelled_only);
    flag(&mut command, "--full", *full);
    command
}

fn flag(command: &mut String, words: &str, is_set: bool) {
    if is_set {
        command.push_str(&format!(" {words}"));
    }
}

fn list(command: &mut String, name: &str, values: &[impl Display]) {
    if !values.is_empty() {
        command.push_str(&format!(" {name}"));
    }
    values.iter().for_each(|value| command.push_str(&format!(" {}", quoted(&value.to_string()))));
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
