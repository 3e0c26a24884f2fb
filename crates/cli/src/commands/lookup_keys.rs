//! The keys of `ogive get`: arguments, and lines of standard input, in waves that are looked up together.
//!
//! A wave ends when it has enough keys, and when standard input pauses: a person who types keys, and a program that
//! writes a key and waits, get each answer at once. Keys before one that cannot be read are answered before the error;
//! a line that is no key is told, and those behind it are answered all the same.

use crate::failure::{Failure, Result};
use crate::output::note;
use crate::reading::paced_lines::{NextLine, PacedLines};
use crate::reading::standard_input::STANDARD_INPUT;
use crate::system::argument;
use crate::values::size::counted;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// For up to 16 keys, a store opens only the tables that may hold them, and reads no whole filter.
const FEW_KEYS_MAX: usize = 16;

/// Most keys of a wave: several times what any storage serves at once.
pub(crate) const WAVE_KEYS_MAX: usize = 4096;
/// The keys of a wave take at most 1/N of the memory, and so do their values.
const WAVE_DIVISOR: u64 = 16;

/// Keys to look up.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LookupKeys {
    /// Key to look up, as `scan` prints it: \n, \r, \t, \xNN and \\ are escapes in text and bytes; several print a line
    /// each with key and value, and - reads keys from standard input, one per line
    #[arg(value_name = "KEY", required = true, num_args = 1.., allow_negative_numbers = true)]
    lookups: Vec<OsString>,
}

/// What was read of the keys.
enum Read<'a> {
    Argument(&'a OsStr),
    /// A line of standard input, and its number from 1.
    Line(u64, &'a OsStr),
    Pause,
}

/// The lines of standard input that are no keys.
#[derive(Debug, Default)]
struct Refused {
    lines: u64,
    /// What the first of them should be.
    hint: String,
}

impl Refused {
    fn tell(&mut self, line: u64, failure: &Failure) {
        note(format_args!("warning: line {line} of standard input: {failure}"));
        if self.lines == 0 {
            self.hint = failure.hint().unwrap_or_default();
        }
        self.lines += 1;
    }

    /// The failure of a command that has passed lines over.
    fn outcome(self) -> Result<()> {
        match self.lines {
            0 => Ok(()),
            lines => {
                let lines = counted(lines, "line");
                Err(Failure::usage(
                    format!("standard input has {lines} without a key; all others are answered"),
                    self.hint,
                ))
            }
        }
    }
}

/// Keys that are looked up together.
struct Wave<K> {
    keys: Vec<K>,
    keys_max: usize,
    /// What they take, estimated by what was written.
    bytes: u64,
    bytes_max: u64,
    /// Most keys that are passed on at once: where long values leave room for few, others are looked up in vain.
    reach: usize,
}

impl<K> Wave<K> {
    fn new(keys_max: usize, memory_bytes: u64) -> Self {
        Self { keys: Vec::new(), keys_max, bytes: 0, bytes_max: wave_bytes(memory_bytes), reach: usize::MAX }
    }

    fn push(&mut self, key: K, written: &OsStr) {
        self.bytes += (written.len() + size_of::<K>()) as u64;
        self.keys.push(key);
    }

    fn is_full(&self) -> bool {
        self.keys.len() >= self.keys_max || self.bytes >= self.bytes_max
    }

    /// Takes the keys out, and passes them to `answer` until it has answered all.
    fn end(&mut self, answer: &mut impl FnMut(&[K]) -> Result<usize>) -> Result<()> {
        self.bytes = 0;
        let keys = std::mem::take(&mut self.keys);
        let mut rest = &keys[..];
        while !rest.is_empty() {
            let asked = rest.get(..self.reach).unwrap_or(rest);
            let answered = answer(asked)?.max(1);
            let kept = if answered < asked.len() { answered } else { self.reach };
            self.reach = kept.saturating_mul(2);
            rest = rest.get(answered..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Bytes that the keys of a wave take at most, and those that its values do.
pub(crate) fn wave_bytes(memory_bytes: u64) -> u64 {
    memory_bytes / WAVE_DIVISOR
}

impl LookupKeys {
    /// Passes all keys to `answer`, in their order and in waves; those of standard input in the place of `-`. `parse`
    /// makes a key of what is written. `answer` returns how many of the first keys it has answered, at least one; the
    /// others are passed to it again.
    ///
    /// # Errors
    /// Those of reading, of `parse` and of `answer`; [`Failure::Usage`] for a line that is no argument of this system,
    /// and behind all answers for lines that are no keys.
    pub(crate) fn in_waves<K>(
        &self,
        memory_bytes: u64,
        parse: impl Fn(&OsStr) -> Result<K>,
        answer: impl FnMut(&[K]) -> Result<usize>,
    ) -> Result<()> {
        self.in_waves_of(WAVE_KEYS_MAX, memory_bytes, parse, answer)
    }

    /// As [`Self::in_waves`], in waves of at most this number of keys.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn in_waves_of<K>(
        &self,
        keys_max: usize,
        memory_bytes: u64,
        parse: impl Fn(&OsStr) -> Result<K>,
        mut answer: impl FnMut(&[K]) -> Result<usize>,
    ) -> Result<()> {
        let mut wave = Wave::new(keys_max, memory_bytes);
        let mut refused = Refused::default();
        let read = self.each(&mut |read| {
            let (line, written) = match read {
                Read::Pause => return wave.end(&mut answer),
                Read::Argument(written) => (None, written),
                Read::Line(line, written) => (Some(line), written),
            };
            match (parse(written), line) {
                (Ok(key), _) => wave.push(key, written),
                (Err(failure @ Failure::Usage { .. }), Some(line)) => {
                    // The answers before it come first.
                    wave.end(&mut answer)?;
                    refused.tell(line, &failure);
                }
                (Err(failure), _) => return Err(failure),
            }
            if wave.is_full() { wave.end(&mut answer) } else { Ok(()) }
        });
        wave.end(&mut answer)?;
        read?;
        refused.outcome()
    }

    /// Visits all keys as they are written, and the pauses of standard input.
    fn each(&self, visit: &mut dyn FnMut(Read<'_>) -> Result<()>) -> Result<()> {
        for key in &self.lookups {
            if key != "-" {
                visit(Read::Argument(key))?;
                continue;
            }
            let mut number = 0;
            let mut lines = PacedLines::open(Path::new(STANDARD_INPUT)).map_err(Failure::from_value)?;
            loop {
                match lines.next().map_err(Failure::from_value)? {
                    NextLine::Line(line) => {
                        let unfit = || {
                            let message = String::from("a key is not UTF-8");
                            Failure::usage(message, "this system has no such arguments")
                        };
                        number += 1;
                        visit(Read::Line(number, argument(&line).ok_or_else(unfit)?))?;
                    }
                    NextLine::Pause => visit(Read::Pause)?,
                    NextLine::End => break,
                }
            }
        }
        Ok(())
    }

    /// The keys, if they are few and none is from standard input.
    pub(crate) fn few(&self) -> Option<&[OsString]> {
        let is_few = self.lookups.len() <= FEW_KEYS_MAX && self.lookups.iter().all(|key| key != "-");
        is_few.then_some(&self.lookups)
    }

    /// Whether it is one key, and not from standard input.
    pub(crate) fn is_one(&self) -> bool {
        matches!(&self.lookups[..], [key] if key != "-")
    }

    /// The key, if there is one.
    ///
    /// # Errors
    /// [`Failure::Usage`] for several keys, or keys from standard input.
    pub(crate) fn only(&self) -> Result<&OsStr> {
        match &self.lookups[..] {
            [key] if key != "-" => Ok(key),
            _ => Err(Failure::usage("--raw writes the value of one key", "give one key, or remove --raw")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u64 = 1 << 30;

    fn keys(count: usize) -> LookupKeys {
        LookupKeys { lookups: (0..count).map(|key| key.to_string().into()).collect() }
    }

    /// The sizes of waves, and whether all keys were read.
    fn waves(keys: &LookupKeys, memory_bytes: u64, unfit: &str) -> (Vec<usize>, bool) {
        let mut sizes = Vec::new();
        let parse = |written: &OsStr| match written == unfit {
            true => Err(Failure::usage(String::from("no key"), "")),
            false => Ok(written.to_owned()),
        };
        let done = keys.in_waves(memory_bytes, parse, |wave| {
            sizes.push(wave.len());
            Ok(wave.len())
        });
        (sizes, done.is_ok())
    }

    #[test]
    fn a_wave_has_as_many_keys_as_the_memory_allows_and_one_in_any_case() {
        assert_eq!(waves(&keys(100), LARGE, ""), (vec![100], true));
        assert_eq!(waves(&keys(10_000), LARGE, ""), (vec![4096, 4096, 1808], true));
        assert_eq!(waves(&keys(3), 0, ""), (vec![1, 1, 1], true));
        let (sizes, _) = waves(&keys(1000), 16 * 1000, "");
        assert!(sizes.len() > 10 && sizes[0] > 10 && sizes.iter().sum::<usize>() == 1000, "{sizes:?}");
    }

    #[test]
    fn keys_before_one_that_cannot_be_read_are_answered() {
        assert_eq!(waves(&keys(100), LARGE, "60"), (vec![60], false));
        assert_eq!(waves(&keys(100), LARGE, "0"), (vec![], false));
        assert_eq!(waves(&keys(5000), LARGE, "4096"), (vec![4096], false));
    }

    #[test]
    fn keys_that_find_no_room_are_passed_on_again_and_few_of_them_with_each_call() {
        let (mut asked, mut answered) = (0, Vec::new());
        let done = keys(5_000).in_waves(
            LARGE,
            |key| Ok(key.to_owned()),
            |wave| {
                // Three values have room, and later any number.
                let fitting = if answered.len() < 3_000 { wave.len().min(3) } else { wave.len() };
                asked += wave.len();
                answered.extend_from_slice(&wave[..fitting]);
                Ok(fitting)
            },
        );
        done.unwrap();
        assert!(answered.iter().zip(0..).all(|(key, number)| *key.to_string_lossy() == number.to_string()));
        assert!(answered.len() == 5_000 && asked < 4096 + 3 * 5_000, "{} for {asked}", answered.len());
    }

    #[test]
    fn a_wave_that_fails_is_not_answered_again() {
        let mut calls = 0;
        let failed = keys(5000).in_waves(
            LARGE,
            |key| Ok(key.to_owned()),
            |_| {
                calls += 1;
                Err(Failure::usage(String::from("failed"), ""))
            },
        );
        assert!(failed.is_err() && calls == 1, "{calls}");
    }
}
