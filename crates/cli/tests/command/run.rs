//! A runner of the built command that captures its output.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A folder of its own for one test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Waits until a running command has made a temporary file, which is not among those `before` and has `part` in its
    /// name: then it is at work, and handles signals. Returns `false` if it ended first.
    pub(crate) fn waits_for_a_file(&self, child: &mut Child, before: &[String], part: &str) -> bool {
        while !self.names().iter().any(|name| name.contains(part) && !before.contains(name)) {
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        true
    }

    /// The command, to be run in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::PROGRAM);
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs the command in this folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::new(arguments, self.command(arguments).output().unwrap())
    }

    /// Runs the command with a pipe from a file as standard input.
    pub(crate) fn run_piped(&self, file: &str, arguments: &[&str]) -> Run {
        let script = format!("cat '{file}' | \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, crate::PROGRAM]).args(arguments).current_dir(self.0.path());
        Run::new(arguments, command.output().unwrap())
    }

    /// Builds a table, which must succeed.
    pub(crate) fn build(&self, input: &str, table: &str, flags: &[&str]) -> Run {
        let arguments: Vec<&str> = ["build", input, "-o", table].into_iter().chain(flags.iter().copied()).collect();
        self.run(&arguments).exits_with(0)
    }
}

/// The commands that take a place of any kind.
const GENERAL: [&str; 8] = ["get", "scan", "count", "export", "stats", "explain", "verify", "repair"];

/// The words of a command on stores or indexes: those that only read them are in no group.
pub(crate) fn grouped<'a>(group: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let is_general = arguments.first().is_some_and(|word| GENERAL.contains(word));
    let group = if is_general { None } else { Some(group) };
    group.into_iter().chain(arguments.iter().copied()).collect()
}

/// What one run printed, and how it ended.
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    code: Option<i32>,
    arguments: String,
}

impl Run {
    pub(crate) fn new(arguments: &[&str], output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            arguments: arguments.join(" "),
        }
    }

    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "ogive {}\n{}\n{}", self.arguments, self.stdout, self.stderr);
        self
    }

    /// Insists on any exit code that tells of an error.
    #[track_caller]
    pub(crate) fn exits_with_error(self) -> Self {
        assert!(matches!(self.code, Some(1 | 2)), "ogive {}\n{}\n{}", self.arguments, self.stdout, self.stderr);
        self
    }

    /// Insists on a word in what standard error says.
    #[track_caller]
    pub(crate) fn complains_of(self, word: &str) -> Self {
        assert!(self.stderr.contains(word), "no {word:?} in what ogive {} says:\n{}", self.arguments, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Insists on the absence of a word in what standard error says.
    #[track_caller]
    pub(crate) fn keeps_quiet_about(self, word: &str) -> Self {
        assert!(!self.stderr.contains(word), "{word:?} in what ogive {} says:\n{}", self.arguments, self.stderr);
        self
    }

    /// Insists on standard output.
    #[track_caller]
    pub(crate) fn prints(self, expected: &str) -> Self {
        assert_eq!(self.stdout, expected, "ogive {}\n{}", self.arguments, self.stderr);
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("ogive {}: {error}\n{}\n{}", self.arguments, self.stdout, self.stderr))
    }

    /// Standard output as one JSON document a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A SOSD file of these keys.
pub(crate) fn sosd(keys: &[u64]) -> Vec<u8> {
    let count = keys.len() as u64;
    std::iter::once(&count).chain(keys).flat_map(|word| word.to_le_bytes()).collect()
}

/// `count` keys that rise in uneven steps.
pub(crate) fn uneven_keys(count: u64) -> Vec<u64> {
    (0..count).map(|index| index * 1000 + (index * index) % 997).collect()
}
