//! Seeds of random tests, and the command that repeats a failure.

/// The environment variable that names one seed.
const SEED: &str = "OGIVE_TEST_SEED";

/// The seed that the environment names: a failure that printed it is repeated. A test that counts what it saw counts
/// less then.
///
/// # Panics
/// If what the environment names is no number.
#[must_use]
#[expect(clippy::panic, reason = "a test that ran another seed than it was told would mislead")]
pub fn named_seed() -> Option<u64> {
    let text = std::env::var(SEED).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{SEED}={text} is no number")))
}

/// The seeds of a test: `usual` ones, the same in every run, or the one that the environment names.
#[must_use]
pub fn seeds(usual: impl IntoIterator<Item = u64>) -> Vec<u64> {
    named_seed().map_or_else(|| usual.into_iter().collect(), |seed| vec![seed])
}

/// Prints the command that runs the current test with one seed again, if the test fails while this is alive.
#[derive(Debug)]
pub struct Repeat {
    command: String,
}

impl Repeat {
    /// For a seed of the current test of the test binary `binary` of the engine: `env!("CARGO_CRATE_NAME")`.
    #[must_use]
    pub fn new(binary: &str, seed: u64) -> Self {
        Self::of("ogive", binary, seed)
    }

    /// For a seed of the current test of a test binary of any package: `env!("CARGO_PKG_NAME")`.
    #[must_use]
    pub fn of(package: &str, binary: &str, seed: u64) -> Self {
        // Each test runs on a thread of its name.
        let thread = std::thread::current();
        let test = thread.name().filter(|name| *name != "main").unwrap_or_default();
        // The test may be one of those that are run only when asked for.
        let command =
            format!("{SEED}={seed} cargo test -p {package} --test {binary} {test} -- --exact --include-ignored");
        Self { command }
    }

    /// The command.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to repeat it: {}", self.command);
        }
    }
}
