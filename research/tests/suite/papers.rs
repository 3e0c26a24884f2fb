//! The papers at small scale: each is run as a whole, each of its figures and tables has an item, its judges find the
//! figures that they compare, and its results can be resumed, compared and repeated.
//!
//! The runs are those of `ogive-research paper NAME --scale small`. Verdicts are not asserted: they are results.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ogive_research::paper::{
    self, MissingRun, PaperOptions, PaperResults, Scale, Verdict, html, markdown, named, papers,
};
use serde_json::Value;
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn options(folder: &Path, resume: bool) -> PaperOptions {
    PaperOptions {
        folder: folder.to_owned(),
        scale: Scale::Small,
        resume,
        only: Vec::new(),
        structures: Vec::new(),
        keys_folder: None,
        device: None,
        memory: None,
    }
}

/// Runs a paper; the lines of its progress come with the results.
fn run(name: &str, folder: &Path, resume: bool) -> Result<(PaperResults, Vec<String>), Box<dyn std::error::Error>> {
    let mut told = Vec::new();
    let results = paper::run(named(name)?, &options(folder, resume), &mut |line| told.push(line.to_owned()))?;
    Ok((results, told))
}

/// Runs a paper and checks what is true of every paper.
fn check(name: &str) -> TestResult {
    check_in(name, TempDir::new()?.path(), false)
}

fn check_in(name: &str, folder: &Path, resume: bool) -> TestResult {
    let (results, told) = run(name, folder, resume)?;
    let steps = results.steps.len();
    let progress: Vec<&String> = told.iter().filter(|line| line.contains(" so far")).collect();
    assert!(progress.len() == steps && progress[steps - 1].contains("so far, about"), "{told:#?}");
    let page = html(&results, "");
    for step in &results.steps {
        let experiment = step.step.experiment;
        assert!(step.run.is_ok(), "{experiment}: {:?}", step.run);
        // Experiments without pictures have a table under their name.
        assert!(!page.contains(&format!("<caption>{experiment}</caption>")), "{experiment} is not drawn");
    }
    // Judged as a longer run, every judge looks for its figures.
    let results = PaperResults { scale: Scale::Medium, ..results };
    for judged in results.judged() {
        let reason = match &judged.verdict {
            Verdict::NotComparable(reason) => reason.as_str(),
            verdict => {
                assert!(verdict.ours().contains(|letter: char| letter.is_ascii_digit()), "{verdict:?}");
                continue;
            }
        };
        assert!(!reason.contains("gave no figures"), "{}: {}", judged.item.place, judged.says());
    }
    let (page, html) = (markdown(&results, "the command"), html(&results, "the command"));
    for item in results.paper.items {
        assert!(page.contains(&format!("| {} |", item.place)), "{}", item.place);
        assert!(page.contains(&format!("## {}: ", item.place)) && html.contains(item.place), "{}", item.place);
    }
    assert!(results.steps.iter().all(|step| page.contains(&step.command)));
    Ok(())
}

#[test]
fn airindex_is_run_and_judged() -> TestResult {
    check("airindex")
}

#[test]
fn aulid_and_the_evaluation_of_indexes_on_disk_are_run_and_judged_and_share_steps() -> TestResult {
    let folder = TempDir::new()?;
    check_in("aulid", folder.path(), false)?;
    check_in("disk-indexes", folder.path(), true)?;
    let records = |paper: &str| -> Result<String, Box<dyn std::error::Error>> {
        let steps = named(paper)?.steps();
        let number = 1 + steps.iter().position(|step| step.experiment == "aulid/uncached").ok_or("no such step")?;
        Ok(fs::read_to_string(folder.path().join(paper).join(steps[number - 1].file_name(number)))?)
    };
    // Times differ between runs, so equal records were made once.
    assert_eq!(records("aulid")?, records("disk-indexes")?);
    Ok(())
}

#[test]
fn bourbon_is_run_and_judged() -> TestResult {
    check("bourbon")
}

#[test]
fn joins_are_run_and_judged() -> TestResult {
    check("joins")
}

/// Figures and tables of each paper, by the captions in its text.
const FIGURES_AND_TABLES: [(&str, u32, u32); 4] =
    [("airindex", 20, 2), ("aulid", 16, 6), ("bourbon", 17, 3), ("joins", 7, 2)];

#[test]
fn every_figure_and_table_has_an_item_or_is_explanatory() -> TestResult {
    for (name, figures, tables) in FIGURES_AND_TABLES {
        let paper = named(name)?;
        let items = paper.items.iter().map(|item| item.place);
        let known: BTreeSet<&str> = items.chain(paper.explanatory.iter().copied()).collect();
        let figures = (1..=figures).map(|number| format!("Figure {number}"));
        let tables = (1..=tables).map(|number| format!("Table {number}"));
        for place in figures.chain(tables) {
            assert!(known.contains(place.as_str()), "{name} has no {place}");
        }
    }
    let slides: Vec<&str> = named("disk-indexes")?.items.iter().map(|item| item.place).collect();
    for question in ["Table 3", "Q1", "Q2", "Q3", "Q4", "Q5"] {
        assert!(slides.iter().any(|place| place.starts_with(question)), "{question}");
    }
    Ok(())
}

#[test]
fn steps_name_experiments_and_have_files_of_their_own() {
    for paper in papers() {
        let mut files = BTreeSet::new();
        for (index, step) in paper.steps().into_iter().enumerate() {
            assert!(step.found().is_some(), "{}", step.experiment);
            assert!(files.insert(step.file_name(index + 1)), "{}", step.experiment);
        }
        for item in paper.items {
            assert!(!item.steps.is_empty() && !item.claims.is_empty(), "{} {}", paper.name, item.place);
        }
    }
}

fn ogive_research(arguments: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_ogive-research")).args(arguments).output()
}

fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The files of the steps.
fn files(folder: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<Result<_, std::io::Error>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    Ok(files)
}

#[test]
fn results_are_resumed_compared_and_repeated() -> TestResult {
    let (folder, other) = (TempDir::new()?, TempDir::new()?);
    run("joins", folder.path(), false)?;
    let steps = files(&folder.path().join("joins"))?;
    let before: Vec<Vec<u8>> = steps.iter().map(fs::read).collect::<Result<_, _>>()?;

    let refused = run("joins", folder.path(), false).unwrap_err().to_string();
    assert!(refused.contains("--resume") && refused.contains("--folder"), "{refused}");

    // Interrupted in the third step; the fourth was made with other settings.
    fs::remove_file(&steps[2])?;
    fs::write(steps[2].with_extension("part"), "{\"experiment\":\"machine\",\"comm")?;
    let changed = String::from_utf8(before[3].clone())?.replacen(" --modelled-only", "", 1);
    fs::write(&steps[3], &changed)?;
    let (results, told) = run("joins", folder.path(), true)?;
    assert_eq!((results.failed(), files(&folder.path().join("joins"))?), (0, steps.clone()));
    assert!(told.iter().any(|line| line.contains("made with other settings")), "{told:#?}");
    for (index, file) in steps.iter().enumerate() {
        // A step that ran again took another time.
        let is_kept = fs::read(file)? == before[index];
        assert_eq!(is_kept, index != 2 && index != 3, "{}", file.display());
    }

    // A step that lost a record is run again.
    let records = String::from_utf8(fs::read(&steps[1])?)?;
    let lines: Vec<&str> = records.lines().collect();
    fs::write(&steps[1], format!("{}\n", lines[..lines.len() - 1].join("\n")))?;
    let (_, told) = run("joins", folder.path(), true)?;
    assert!(told.iter().any(|line| line.contains("has lost records; running the step again")), "{told:#?}");
    assert_eq!(fs::read_to_string(&steps[1])?.lines().count(), lines.len());

    // The command of a step repeats its counts.
    let repeated: Value = serde_json::from_slice(before[0].split(|byte| *byte == b'\n').next().unwrap_or_default())?;
    let words: Vec<&str> = repeated["command"].as_str().unwrap_or_default().split(' ').skip(1).collect();
    let printed = ogive_research(&words)?;
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let again = other.path().join("again.jsonl");
    // The machine that was short of time says so.
    let printed = String::from_utf8(printed.stdout)?.replacen("\"machine\",", "\"machine\",\"scale\":\"small\",", 1);
    fs::write(&again, &printed)?;
    let same = ogive_research(&["paper", "diff", shown(&steps[0]), shown(&again), "--json"])?;
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
    assert!(str::from_utf8(&same.stdout)?.contains("\"differences\":0"));

    // An edited count is told.
    let at = printed.find("\"requests\":").ok_or("no requests")? + "\"requests\":".len();
    let edited = format!("{}9{}", &printed[..at], &printed[at..]);
    fs::write(&again, edited)?;
    let differs = ogive_research(&["paper", "diff", shown(&steps[0]), shown(&again), "--json"])?;
    let told: Value = serde_json::from_slice(differs.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default())?;
    assert_eq!((differs.status.code(), &told["field"]), (Some(1), &"requests".into()));
    let stderr = str::from_utf8(&differs.stderr)?;
    assert!(stderr.contains("1 difference beside") && !stderr.contains("one side lacks"), "{stderr}");

    // Results of all papers may be compared with those of one.
    fs::create_dir(other.path().join("joins"))?;
    fs::copy(&steps[0], other.path().join("joins/again.jsonl"))?;
    let same = ogive_research(&["paper", "diff", shown(folder.path()), shown(&other.path().join("joins"))])?;
    assert!(same.status.success() && str::from_utf8(&same.stdout)?.contains("of one side"));
    let nothing = ogive_research(&["paper", "diff", shown(&steps[0]), shown(&steps[1])])?;
    assert!(str::from_utf8(&nothing.stderr)?.contains("no experiment is in both"));
    Ok(())
}

#[test]
fn a_failed_step_is_on_the_page_and_its_claims_are_not_judged() -> TestResult {
    let paper = named("airindex")?;
    let failed = |step: &'static ogive_research::paper::Step| ogive_research::paper::StepResult {
        step,
        file: "01.jsonl".into(),
        command: format!("ogive-research --json run {}", step.experiment),
        elapsed_s: 0.0,
        run: Err(MissingRun::Failed("no <space> left".into())),
    };
    let steps: Vec<_> = paper.steps().into_iter().map(failed).collect();
    let results = PaperResults { paper, scale: Scale::Medium, steps };
    assert_eq!(results.failed(), paper.steps().len());
    assert!(results.judged().iter().all(|judged| judged.verdict.name() == "not comparable"));
    let page = markdown(&results, "");
    assert!(page.contains("airindex/designs failed: no &lt;space> left") && html(&results, "").contains("&lt;space"));
    Ok(())
}

#[test]
fn two_runs_do_not_write_to_one_folder() -> TestResult {
    let folder = TempDir::new()?;
    let only = ["--resume", "--only", "disk/profiling", "--folder", folder.path().to_str().unwrap_or_default()];
    let lock = fs::create_dir(folder.path().join("disk-indexes"))
        .and_then(|()| fs::File::create(folder.path().join("disk-indexes/.lock")))?;
    lock.lock()?;
    let second = ogive_research(&[&["paper", "disk-indexes"][..], &only].concat())?;
    assert_eq!(second.status.code(), Some(1));
    assert!(str::from_utf8(&second.stderr)?.contains("another run writes to"));
    lock.unlock()?;
    assert!(ogive_research(&[&["paper", "disk-indexes"][..], &only].concat())?.status.success());
    Ok(())
}

#[test]
fn chosen_steps_are_run_with_structures_of_ones_own_and_others_are_kept() -> TestResult {
    let folder = TempDir::new()?;
    let paper = |only: &[&str], structures: &[&str]| {
        let own = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let options = PaperOptions { only: own(only), structures: own(structures), ..options(folder.path(), true) };
        paper::run(named("disk-indexes")?, &options, &mut |_| ())
    };
    let results = paper(&["disk/profiling"], &[])?;
    let has_run = |results: &PaperResults, name: &str| {
        results.steps.iter().find(|step| step.step.experiment == name).map(|step| step.run.is_ok())
    };
    assert_eq!(results.steps.iter().filter(|step| step.run.is_ok()).count(), 1);
    assert_eq!((has_run(&results, "disk/profiling"), results.failed()), (Some(true), 0));
    assert!(
        results.judged().iter().any(|judged| judged.verdict.with_reason().contains("only other steps were chosen"))
    );
    // Programs take part where they can, and other structures in every step that names structures.
    let results = paper(&["disk/buffer"], &["lipp-btree", "program:false"])?;
    assert_eq!((has_run(&results, "disk/profiling"), has_run(&results, "disk/buffer")), (Some(true), Some(true)));
    let command = |name: &str| results.steps.iter().find(|step| step.step.experiment == name).map(|step| &step.command);
    let (buffer, lookups) = (command("disk/buffer").ok_or("no step")?, command("disk/lookups").ok_or("no step")?);
    assert!(buffer.contains("ogive lipp-btree") && !buffer.contains("program:"), "{buffer}");
    assert!(lookups.contains("ogive lipp-btree program:false"), "{lookups}");
    // A page shows steps of one scale.
    let large = PaperOptions { scale: Scale::Medium, ..options(folder.path(), true) };
    let refused = paper::run(named("disk-indexes")?, &large, &mut |_| ());
    assert!(refused.is_err_and(|error| error.to_string().contains("has results of scale small")));
    let wrong = ogive_research(&["paper", "aulid", "--resume", "--only", "aulid/block"])?;
    assert!(str::from_utf8(&wrong.stderr)?.contains("did you mean \"aulid/blocks\"?"));
    let wrong = ogive_research(&["paper", "aulid", "--structure", "lip"])?;
    assert!(str::from_utf8(&wrong.stderr)?.contains("'lip' is no kind of index") && wrong.stdout.is_empty());
    for (paper, only, hint) in
        [("aulid", "aulid/blocks", "these do: "), ("bourbon", "bourbon/fig2", "papers aulid and")]
    {
        let wrong = ogive_research(&["paper", paper, "--only", only, "--structure", "program:false"])?;
        assert!(str::from_utf8(&wrong.stderr)?.contains(&format!("no chosen step measures program:false; {hint}")));
        assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(1), 0));
    }
    Ok(())
}

#[test]
fn subjects_that_fail_are_told_on_the_page_and_by_the_exit_code() -> TestResult {
    let folder = TempDir::new()?;
    let only = ["--only", "disk/lookups", "--structure", "program:false", "--folder", shown(folder.path())];
    let failed = ogive_research(&[&["paper", "disk-indexes"][..], &only].concat())?;
    let told = str::from_utf8(&failed.stderr)?;
    assert!(told.contains("subjects failed; the first: ") && failed.status.code() == Some(1), "{told}");
    let page = fs::read_to_string(folder.path().join("disk-indexes/page.md"))?;
    assert!(page.contains("* Failed: lognormal, program:false: "), "{page}");
    Ok(())
}

#[test]
fn papers_are_listed_and_wrong_names_are_answered() -> TestResult {
    let list = ogive_research(&["paper", "list", "--json"])?;
    let lines = str::from_utf8(&list.stdout)?;
    assert!(list.status.success() && papers().iter().all(|paper| lines.contains(&format!("paper {}", paper.name))));
    let wrong = ogive_research(&["paper", "airindx"])?;
    assert_eq!(wrong.status.code(), Some(1));
    assert!(str::from_utf8(&wrong.stderr)?.contains("did you mean \"airindex\"?"));
    assert_eq!(ogive_research(&["paper"])?.status.code(), Some(2));
    Ok(())
}
