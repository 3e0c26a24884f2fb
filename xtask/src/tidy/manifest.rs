//! Dependencies between the crates, and the minimum Rust version, which is stated in more than one place.

use super::project::{Finding, Project};

/// What each crate may depend on among ours; `None` for the second means that it may use outside crates.
struct Rule {
    path: &'static str,
    ours: &'static [&'static str],
    outside: bool,
}

const RULES: &[Rule] = &[
    Rule { path: "crates/model/Cargo.toml", ours: &[], outside: false },
    Rule { path: "crates/engine/Cargo.toml", ours: &["ogive-model"], outside: true },
    Rule { path: "crates/object-store/Cargo.toml", ours: &["ogive"], outside: true },
    Rule { path: "crates/testkit/Cargo.toml", ours: &["ogive", "ogive-model"], outside: true },
    Rule { path: "crates/arrow/Cargo.toml", ours: &["ogive"], outside: true },
    Rule { path: "crates/parquet/Cargo.toml", ours: &["ogive", "ogive-arrow", "ogive-model"], outside: true },
    Rule { path: "crates/terminal/Cargo.toml", ours: &[], outside: true },
    Rule { path: "crates/text/Cargo.toml", ours: &["ogive", "ogive-terminal"], outside: true },
    Rule { path: "crates/report/Cargo.toml", ours: &["ogive", "ogive-model", "ogive-terminal"], outside: true },
    Rule {
        path: "crates/cli/Cargo.toml",
        ours: &[
            "ogive",
            "ogive-arrow",
            "ogive-model",
            "ogive-object-store",
            "ogive-parquet",
            "ogive-report",
            "ogive-terminal",
            "ogive-text",
        ],
        outside: true,
    },
    Rule {
        path: "research/Cargo.toml",
        ours: &["ogive", "ogive-cli", "ogive-model", "ogive-object-store", "ogive-report", "ogive-terminal"],
        outside: true,
    },
    Rule { path: "research/gate/Cargo.toml", ours: &["ogive", "ogive-object-store"], outside: true },
    Rule { path: "research/own-bench/Cargo.toml", ours: &["ogive", "ogive-research"], outside: true },
    Rule {
        path: "crates/python/Cargo.toml",
        ours: &[
            "ogive",
            "ogive-arrow",
            "ogive-object-store",
            "ogive-parquet",
            "ogive-report",
            "ogive-terminal",
            "ogive-text",
        ],
        outside: true,
    },
    Rule {
        path: "crates/fuzz/Cargo.toml",
        ours: &["ogive", "ogive-model", "ogive-parquet", "ogive-testkit"],
        outside: true,
    },
    Rule {
        path: "research/rivals/Cargo.toml",
        ours: &["ogive", "ogive-object-store", "ogive-research"],
        outside: true,
    },
    Rule { path: "import/Cargo.toml", ours: &["ogive", "ogive-terminal"], outside: true },
    Rule {
        path: "sql/Cargo.toml",
        ours: &[
            "ogive",
            "ogive-arrow",
            "ogive-ballista",
            "ogive-datafusion",
            "ogive-object-store",
            "ogive-parquet",
            "ogive-report",
            "ogive-sql-bench",
            "ogive-terminal",
            "ogive-testkit",
        ],
        outside: true,
    },
    Rule { path: "sql/ballista/Cargo.toml", ours: &["ogive", "ogive-datafusion", "ogive-object-store"], outside: true },
    Rule {
        path: "sql/bench/Cargo.toml",
        ours: &["ogive", "ogive-arrow", "ogive-ballista", "ogive-datafusion", "ogive-object-store", "ogive-testkit"],
        outside: true,
    },
    Rule {
        path: "sql/datafusion/Cargo.toml",
        ours: &["ogive", "ogive-arrow", "ogive-parquet", "ogive-testkit"],
        outside: true,
    },
    Rule {
        path: "sql/shell/Cargo.toml",
        ours: &["ogive", "ogive-ballista", "ogive-datafusion", "ogive-object-store", "ogive-report", "ogive-terminal"],
        outside: true,
    },
    Rule { path: "xtask/Cargo.toml", ours: &[], outside: false },
];

/// Crates that depend on what they may not, crates without a rule, and places that state another Rust version.
pub(crate) fn check(project: &Project) -> Vec<Finding> {
    let mut found = versions(project);
    let crates = project.others.iter().filter(|(path, _)| path.ends_with("/Cargo.toml") && !path.starts_with("fuzz/"));
    for (path, text) in crates {
        match RULES.iter().find(|rule| rule.path == path) {
            Some(rule) => found.extend(dependencies(rule, text)),
            None => found.push(Finding::new(
                path,
                1,
                format!("a crate without a rule: say in RULES in {} what it may use", file!()),
            )),
        }
    }
    found
}

/// The laboratory, on which no product depends, its tests included.
const RESEARCH: &str = "ogive-research";

/// Findings among the `[dependencies]` of one crate. What only its tests use is free, the laboratory aside.
fn dependencies(rule: &Rule, manifest: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut inside, mut of_tests) = (false, false);
    for (index, line) in manifest.lines().map(str::trim).enumerate() {
        if line.starts_with('[') {
            inside = line == "[dependencies]" || line.ends_with(".dependencies]");
            of_tests = line.ends_with("dev-dependencies]") || line.ends_with("build-dependencies]");
            continue;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default().trim_matches('"');
        if of_tests && name == RESEARCH && !rule.path.starts_with("research/") {
            let message = format!("no product depends on `{name}`: move the test there (ARCHITECTURE.md)");
            found.push(Finding::new(rule.path, index + 1, message));
        }
        if !inside || name.is_empty() || name.starts_with('#') {
            continue;
        }
        let is_ours = name == "ogive" || name.starts_with("ogive-");
        if is_ours && !rule.ours.contains(&name) {
            let message = format!(
                "this crate may not depend on `{name}`: dependencies point one way (ARCHITECTURE.md); tests may use \
                [dev-dependencies]"
            );
            found.push(Finding::new(rule.path, index + 1, message));
        } else if !is_ours && !rule.outside {
            found.push(Finding::new(
                rule.path,
                index + 1,
                format!("this crate depends on nothing, so not on `{name}`"),
            ));
        }
    }
    found
}

/// The README and every clippy.toml state the minimum Rust version of the workspace.
fn versions(project: &Project) -> Vec<Finding> {
    let stated = project.other("Cargo.toml").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("rust-version"))?;
        line.split('"').nth(1)
    });
    let Some(version) = stated else {
        return vec![Finding::new(
            "Cargo.toml",
            1,
            "state the minimum Rust version: rust-version = \"...\" in [workspace.package]",
        )];
    };
    // The workspace of SQL needs a newer one.
    let states = |path: &str| path == "README.md" || path.ends_with("clippy.toml") && !path.starts_with("sql/");
    let silent = project.others.iter().filter(|(path, text)| states(path) && !text.contains(version));
    silent
        .map(|(path, _)| Finding::new(path, 1, format!("state the minimum Rust version of Cargo.toml, {version}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[(&str, &str)]) -> Project {
        let others = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Project { sources: Vec::new(), others }
    }

    #[test]
    fn the_model_depends_on_nothing_but_its_tests_may() {
        let text = "[package]\nname = \"ogive-model\"\n[dependencies]\nlibm = \"0.2\"\n[dev-dependencies]\n\
            proptest.workspace = true\n";
        let lines: Vec<usize> = dependencies(&RULES[0], text).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [4]);
    }

    #[test]
    fn the_engine_may_not_depend_on_its_users() {
        let text =
            "[dependencies]\n# ours\nogive-model.workspace = true\nogive-cli = { path = \"../cli\" }\nserde = \"1\"\n";
        let lines: Vec<usize> = dependencies(&RULES[1], text).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [4]);
    }

    #[test]
    fn no_product_depends_on_the_laboratory_not_even_in_tests() {
        for section in ["[dependencies]", "[dev-dependencies]", "[build-dependencies]", "[target.x.dev-dependencies]"] {
            let text = format!("{section}\nogive-research.workspace = true\n");
            for rule in RULES.iter().filter(|rule| !rule.path.starts_with("research/")) {
                assert_eq!(dependencies(rule, &text).len(), 1, "{} {section}", rule.path);
            }
        }
    }

    #[test]
    fn a_crate_without_a_rule_is_found() {
        let files = [("Cargo.toml", "rust-version = \"1.89\"\n"), ("crates/novelty/Cargo.toml", "[package]\n")];
        assert_eq!(check(&project(&files)).len(), 1);
    }

    #[test]
    fn every_place_states_the_same_rust_version() {
        let files = [
            ("Cargo.toml", "rust-version = \"1.89\"\n"),
            ("README.md", "Rust 1.88"),
            ("clippy.toml", "msrv = \"1.89.0\""),
        ];
        let paths: Vec<String> = check(&project(&files)).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["README.md"]);
    }
}
