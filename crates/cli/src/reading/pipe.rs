//! Input files: regular ones, those behind URLs, and pipes, whose writer may keep them waiting forever.
//!
//! The system restarts a read, or the opening of a pipe without a writer, that an interrupt has ended. So a thread of
//! its own waits for a pipe, and the reader looks for interrupts meanwhile. The thread ends with the process at the
//! latest.

use super::standard_input::{STANDARD_INPUT, shown};
use crate::failure::Failure;
use crate::interrupt;
use crate::system::{is_pipe, is_same_file};
use crate::urls::{UrlInput, is_url};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

/// Bytes read from a pipe at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Pieces that the thread is ahead.
const PIECES_AHEAD: usize = 4;
/// Time between two looks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Refuses standard input, or a pipe, as two inputs: each would get a part of it. `both` says what they are.
///
/// # Errors
/// [`Failure::Usage`] if they are the same.
pub(crate) fn refuse_one_pipe([one, other]: [&Path; 2], both: &str, hint: &str) -> Result<(), Failure> {
    if !(is_pipe(one) && is_same_file(one, other)) && [one, other] != [Path::new(STANDARD_INPUT); 2] {
        return Ok(());
    }
    Err(Failure::usage(format!("{} can be read only once, but it is {both}", shown(one)), hint))
}

/// An input, open for reading from its start.
#[derive(Debug)]
pub(crate) enum InputFile {
    /// A file, with its length and the time of its last change when it was opened.
    Regular(File, Option<FileState>),
    Pipe(Pipe),
    Url(Box<UrlInput>),
}

/// A pipe or a terminal.
#[derive(Debug)]
pub(crate) struct Pipe {
    path: PathBuf,
    /// `None` before the first read: what is opened and not read must take nothing from the pipe.
    pieces: Option<Receiver<io::Result<Vec<u8>>>>,
    piece: io::Cursor<Vec<u8>>,
}

/// What shows that a file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    length_bytes: u64,
    modified: SystemTime,
}

impl FileState {
    /// That of a file behind a URL, as it was when it was opened; `None` if its storage says nothing by which a change
    /// can be told.
    fn of_url(input: &UrlInput) -> Option<Self> {
        let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(input.modified_ns()?))?;
        Some(Self { length_bytes: input.length_bytes(), modified })
    }

    fn of(file: &File) -> Option<Self> {
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Self { length_bytes: metadata.len(), modified: metadata.modified().ok()? })
    }
}

impl InputFile {
    /// Opens a file. Errors of a pipe are reported when it is read.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if is_url(path) {
            return UrlInput::open(path).map(|input| Self::Url(Box::new(input)));
        }
        let is_standard = !cfg!(unix) && path == Path::new(STANDARD_INPUT);
        let is_waiting = is_standard || std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        if is_waiting { Ok(Self::Pipe(Pipe::new(path))) } else { File::open(path).map(Self::of_file) }
    }

    /// An open file.
    fn of_file(file: File) -> Self {
        let state = FileState::of(&file);
        Self::Regular(file, state)
    }

    /// The length in bytes, if the input has one.
    pub(crate) fn length_bytes(&self) -> io::Result<Option<u64>> {
        match self {
            Self::Regular(file, _) => file.metadata().map(|metadata| metadata.is_file().then_some(metadata.len())),
            Self::Pipe(_) => Ok(None),
            Self::Url(input) => Ok(Some(input.length_bytes())),
        }
    }

    /// What shows a change of the file from now on; `None` for pipes.
    pub(crate) fn state(&self) -> Option<FileState> {
        match self {
            Self::Regular(_, state) => *state,
            Self::Pipe(_) => None,
            Self::Url(input) => FileState::of_url(input),
        }
    }

    /// Whether a read returns within this time: `false` if the writer of a pipe lets it wait longer.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn is_ready_within(&mut self, time: Duration) -> io::Result<bool> {
        match self {
            Self::Pipe(pipe) => pipe.is_ready_within(time),
            Self::Regular(..) | Self::Url(_) => Ok(true),
        }
    }
}

/// The error of a file that is not as it was.
pub(crate) fn changed() -> io::Error {
    io::Error::other("it was changed while it was read; read it again, or a copy of it")
}

/// Opens a file of a format that is not read from its start to its end, which no pipe can be.
///
/// # Errors
/// Those of the system; a pipe is refused, since opening it would wait for its writer.
pub(crate) fn open_seekable(path: &Path) -> io::Result<File> {
    match is_pipe(path) {
        true => {
            Err(io::Error::other("it is a pipe, and this format is read from files only; write it to a file first"))
        }
        false => File::open(path),
    }
}

impl Pipe {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), pieces: None, piece: io::Cursor::default() }
    }

    /// The pieces of the pipe, which the thread begins to read if it has not.
    fn pieces(&mut self) -> io::Result<&Receiver<io::Result<Vec<u8>>>> {
        let pieces = match self.pieces.take() {
            Some(pieces) => pieces,
            None => Self::start(self.path.clone())?,
        };
        Ok(self.pieces.insert(pieces))
    }

    fn is_ready_within(&mut self, time: Duration) -> io::Result<bool> {
        if !self.is_piece_read() {
            return Ok(true);
        }
        match self.pieces()?.recv_timeout(time) {
            Ok(piece) => {
                self.piece = io::Cursor::new(piece?);
                Ok(true)
            }
            Err(RecvTimeoutError::Disconnected) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(false),
        }
    }

    /// Whether all of the last piece was read.
    fn is_piece_read(&self) -> bool {
        self.piece.position() >= self.piece.get_ref().len() as u64
    }

    /// Starts to read.
    fn start(path: PathBuf) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
        let (sender, pieces) = sync_channel(PIECES_AHEAD);
        let work = move || {
            if let Err(error) = pump(&path, &sender) {
                // Without a reader, the error is of no use.
                _ = sender.send(Err(error));
            }
        };
        std::thread::Builder::new().name("ogive-pipe".into()).spawn(work)?;
        Ok(pieces)
    }
}

/// Sends what a pipe yields, until its end or until the reader is gone.
fn pump(path: &Path, sender: &SyncSender<io::Result<Vec<u8>>>) -> io::Result<()> {
    // Elsewhere than on Unix, it has no path.
    let mut file: Box<dyn Read> = match path == Path::new(STANDARD_INPUT) && !cfg!(unix) {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) => return Ok(()),
            read => {
                piece.truncate(read?);
                if sender.send(Ok(piece)).is_err() {
                    return Ok(());
                }
            }
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.piece.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            match self.pieces()?.recv_timeout(LOOK_EVERY) {
                Ok(piece) => self.piece = io::Cursor::new(piece?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => interrupt::check_reading()?,
            }
        }
    }
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::check_reading()?;
        match self {
            Self::Regular(file, state) => {
                let read = file.read(buffer)?;
                if read == 0 && !buffer.is_empty() && *state != FileState::of(file) {
                    return Err(changed());
                }
                Ok(read)
            }
            Self::Pipe(pipe) => pipe.read(buffer),
            Self::Url(input) => input.read(buffer),
        }
    }
}
