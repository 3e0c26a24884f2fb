//! The index of a program: each request with the check of its reply.

use super::fault::ProgramFault;
use super::pipe::Pipe;
use super::protocol::{PROTOCOL_VERSION, Reply, Request};
use crate::error::{Error, Result};

/// Slack of a program's clock against ours: a share, and nanoseconds.
const CLOCK_SHARE: u64 = 100;
const CLOCK_NS: u64 = 1_000_000;
/// Most blocks that a request can have read, or written, and most bytes that an index can take: far beyond any device.
const BLOCKS_MAX: u64 = 1 << 40;
const BYTES_MAX: u64 = 1 << 50;

/// An index in another process.
#[derive(Debug)]
pub struct ProgramIndex {
    command: String,
    pipe: Pipe,
    title: String,
    operations: Vec<String>,
}

/// Size of a program's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramSize {
    /// Bytes of its files, if it has any.
    pub file_bytes: Option<u64>,
    /// Bytes of memory, if it states them.
    pub memory_bytes: Option<u64>,
}

/// Time and blocks of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// Nanoseconds from the request to its reply.
    pub(super) wall_ns: u64,
    /// Nanoseconds that the program states.
    pub(super) program_ns: u64,
    pub(super) blocks_read: Option<u64>,
    pub(super) blocks_written: Option<u64>,
}

impl ProgramIndex {
    /// Starts a command of the shell and greets it. It counts blocks of `block_bytes`, and has `timeout_s` seconds for
    /// each reply.
    ///
    /// # Errors
    /// [`Error::Program`], as for all methods: the first fault is the last, since the program is ended with the index.
    pub fn start(command: &str, block_bytes: u64, timeout_s: u64) -> Result<Self> {
        let fault = |fault| Error::Program { program: command.into(), fault };
        let mut pipe = Pipe::start(command, timeout_s).map_err(fault)?;
        let hello = Request::Hello { protocol: PROTOCOL_VERSION, block_bytes };
        let (reply, _) = pipe.exchange(&hello).map_err(fault)?;
        let missing = |field: &str| {
            let reason = format!("has no {field}");
            fault(ProgramFault::Unsound { request: "hello", reason })
        };
        let theirs = reply.protocol.ok_or_else(|| missing("protocol"))?;
        if theirs != PROTOCOL_VERSION {
            return Err(fault(ProgramFault::Protocol { theirs, ours: PROTOCOL_VERSION }));
        }
        let name = reply.name.ok_or_else(|| missing("name"))?;
        let title = reply.version.map_or_else(|| name.clone(), |version| format!("{name} {version}"));
        Ok(Self { command: command.into(), pipe, title, operations: reply.operations })
    }

    /// Name and version, as the program states them.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Checks that the program answers an optional request, `scan` or `insert`.
    ///
    /// # Errors
    /// [`ProgramFault::Lacks`].
    pub fn needs(&self, operation: &'static str) -> Result<()> {
        let offers = self.operations.iter().any(|offered| offered == operation);
        if offers { Ok(()) } else { Err(self.fault(ProgramFault::Lacks { operation })) }
    }

    /// Nanoseconds of an echo of `numbers`, of which each comes back `times` times.
    pub(super) fn echo(&mut self, numbers: &[u64], times: u64) -> Result<u64> {
        let (reply, wall_ns) = self.exchange(&Request::Echo { numbers: numbers.into(), times })?;
        let values = self.field("echo", "values", reply.values)?;
        let expected = numbers.iter().flat_map(|number| (0..times).map(|_| Some(*number)));
        if !expected.eq(values.iter().copied()) {
            let detail = ProgramFault::WrongCount {
                request: "echo",
                what: "numbers, or others,",
                found: values.len() as u64,
                expected: numbers.len() as u64 * times,
            };
            return Err(self.fault(detail));
        }
        Ok(wall_ns)
    }

    /// Passes on pairs of the bulk load.
    pub(super) fn load(&mut self, pairs: Vec<u64>) -> Result<Cost> {
        self.timed(&Request::Load(pairs), false).map(|(_, cost)| cost)
    }

    /// Ends the bulk load.
    pub(super) fn build(&mut self) -> Result<Cost> {
        self.timed(&Request::Build {}, false).map(|(_, cost)| cost)
    }

    /// Looks up keys; `expected` is the right value of each.
    pub(super) fn get(&mut self, keys: &[u64], expected: impl Fn(u64) -> Option<u64>) -> Result<Cost> {
        let (reply, cost) = self.timed(&Request::Get(keys.into()), true)?;
        let values = self.field("get", "values", reply.values)?;
        self.count("get", "values", values.len() as u64, keys.len() as u64)?;
        for (&key, found) in keys.iter().zip(values) {
            self.same("get", key, (found, expected(key)), |value| value.to_string())?;
        }
        Ok(cost)
    }

    /// Scans `entries` from each key on; `expected` is the right pairs of each, flat.
    pub(super) fn scan(&mut self, keys: &[u64], entries: u64, expected: impl Fn(u64) -> Vec<u64>) -> Result<Cost> {
        let (reply, cost) = self.timed(&Request::Scan { entries, keys: keys.into() }, true)?;
        let scans = self.field("scan", "scans", reply.scans)?;
        self.count("scan", "scans", scans.len() as u64, keys.len() as u64)?;
        for (&key, found) in keys.iter().zip(&scans) {
            self.scanned(key, found, &expected(key))?;
        }
        Ok(cost)
    }

    /// Compares a scan; an error names the first entry that is wrong, since a whole scan would be no message.
    fn scanned(&self, key: u64, found: &[u64], expected: &[u64]) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        let pair = |pairs: &[u64], index: usize| match pairs.get(2 * index..) {
            Some([key, value, ..]) => Some((*key, *value)),
            _ => None,
        };
        let pairs = found.len().max(expected.len()).div_ceil(2);
        match (0..pairs).find(|&index| pair(found, index) != pair(expected, index)) {
            Some(index) => {
                let told = |(key, value): (u64, u64)| format!("key {key} with value {value} in place {index}");
                self.same("scan", key, (pair(found, index), pair(expected, index)), told)
            }
            None => self.count("scan", "numbers", found.len() as u64, expected.len() as u64),
        }
    }

    /// Inserts pairs whose keys are new, as one commit.
    pub(super) fn insert(&mut self, pairs: Vec<u64>) -> Result<Cost> {
        let expected = pairs.len() as u64 / 2;
        let (reply, cost) = self.timed(&Request::Insert(pairs), true)?;
        let added = self.field("insert", "added", reply.added)?;
        self.count("insert", "added entries", added, expected)?;
        Ok(cost)
    }

    /// The size; `expected` is the right number of entries.
    ///
    /// # Errors
    /// [`ProgramFault::WrongCount`] for another number of entries, and those of [`Self::start`].
    pub fn size(&mut self, expected: u64) -> Result<ProgramSize> {
        let (reply, _) = self.exchange(&Request::Size {})?;
        let entries = self.field("size", "entries", reply.entries)?;
        self.count("size", "entries", entries, expected)?;
        self.plausible("size", "file_bytes", reply.file_bytes, BYTES_MAX)?;
        self.plausible("size", "memory_bytes", reply.memory_bytes, BYTES_MAX)?;
        Ok(ProgramSize { file_bytes: reply.file_bytes, memory_bytes: reply.memory_bytes })
    }

    fn exchange(&mut self, request: &Request) -> Result<(Reply, u64)> {
        let exchanged = self.pipe.exchange(request);
        exchanged.map_err(|fault| Error::Program { program: self.command.clone(), fault })
    }

    /// A request whose time counts. A work whose time is measured must state it, others may.
    fn timed(&mut self, request: &Request, is_measured: bool) -> Result<(Reply, Cost)> {
        let (reply, wall_ns) = self.exchange(request)?;
        let stated = reply.elapsed_ns.or(if is_measured { None } else { Some(0) });
        let program_ns = self.field(request.name(), "elapsed_ns", stated)?;
        if program_ns > wall_ns + wall_ns / CLOCK_SHARE + CLOCK_NS {
            let (request, stated_ns, passed_ns) = (request.name(), program_ns, wall_ns);
            return Err(self.fault(ProgramFault::Clock { request, stated_ns, passed_ns }));
        }
        self.plausible(request.name(), "blocks_read", reply.blocks_read, BLOCKS_MAX)?;
        self.plausible(request.name(), "blocks_written", reply.blocks_written, BLOCKS_MAX)?;
        let cost = Cost { wall_ns, program_ns, blocks_read: reply.blocks_read, blocks_written: reply.blocks_written };
        Ok((reply, cost))
    }

    fn field<T>(&self, request: &'static str, name: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.fault(ProgramFault::Unsound { request, reason: format!("has no {name}") }))
    }

    fn plausible(&self, request: &'static str, name: &str, stated: Option<u64>, most: u64) -> Result<()> {
        match stated {
            Some(stated) if stated > most => {
                let reason = format!("states {stated} {name}, and {most} are the most");
                Err(self.fault(ProgramFault::Unsound { request, reason }))
            }
            _ => Ok(()),
        }
    }

    fn count(&self, request: &'static str, what: &'static str, found: u64, expected: u64) -> Result<()> {
        let wrong = || self.fault(ProgramFault::WrongCount { request, what, found, expected });
        if found == expected { Ok(()) } else { Err(wrong()) }
    }

    /// Fails unless an answer is the expected one; `told` puts it into words.
    fn same<T: PartialEq>(
        &self,
        request: &'static str,
        key: u64,
        (found, expected): (Option<T>, Option<T>),
        told: impl Fn(T) -> String,
    ) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        let told = |answer: Option<T>| answer.map_or_else(|| "nothing".to_owned(), &told);
        let (found, expected) = (told(found), told(expected));
        Err(self.fault(ProgramFault::WrongAnswer { request, key, found, expected }))
    }

    fn fault(&self, fault: ProgramFault) -> Error {
        Error::Program { program: self.command.clone(), fault }
    }
}
