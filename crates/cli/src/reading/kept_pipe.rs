//! A pipe whose start is read several times: what was read is kept until its records are read.

use super::pipe::InputFile;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A pipe and what was read of it.
#[derive(Debug)]
pub(crate) struct KeptPipe {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    pipe: InputFile,
    kept: Vec<u8>,
    is_kept: bool,
}

impl KeptPipe {
    /// Opens a pipe, and reads nothing of it.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let state = State { pipe: InputFile::open(path)?, kept: Vec::new(), is_kept: true };
        Ok(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// A reader from the start. Once no more is kept, one may read on.
    pub(crate) fn reader(&self) -> KeptReader {
        KeptReader { state: Arc::clone(&self.state), at: 0 }
    }

    /// Ends the keeping: the next reader is the last one.
    pub(crate) fn keep_no_more(&self) {
        locked(&self.state).is_kept = false;
    }
}

/// Reads a pipe from its start.
#[derive(Debug)]
pub(crate) struct KeptReader {
    state: Arc<Mutex<State>>,
    at: usize,
}

impl Read for KeptReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = locked(&self.state);
        let State { pipe, kept, is_kept } = &mut *state;
        let mut rest = kept.get(self.at..).unwrap_or_default();
        if !rest.is_empty() {
            let read = rest.read(buffer)?;
            self.at += read;
            return Ok(read);
        }
        let read = pipe.read(buffer)?;
        if *is_kept {
            kept.extend_from_slice(&buffer[..read]);
            self.at = kept.len();
        } else {
            (*kept, self.at) = (Vec::new(), 0);
        }
        Ok(read)
    }
}

/// A panic of another reader leaves what it has kept.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_read_again_and_the_rest_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input");
        std::fs::write(&path, "0123456789").unwrap();
        let pipe = KeptPipe::open(&path).unwrap();
        let start = |count: usize| {
            let mut text = vec![0; count];
            pipe.reader().read_exact(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!((start(3), start(6), start(2)), ("012".into(), "012345".into(), "01".into()));
        let mut last = pipe.reader();
        pipe.keep_no_more();
        let mut text = String::new();
        last.read_to_string(&mut text).unwrap();
        assert_eq!(text, "0123456789");
        assert!(locked(&pipe.state).kept.is_empty());
    }
}
