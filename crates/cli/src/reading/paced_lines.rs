//! Lines of an input, with the pauses that its writer makes.

use super::pipe::InputFile;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// Shortest time without input that is a pause: far longer than a program takes between two lines that it writes one
/// after the other, and too short for people to notice.
const PAUSE: Duration = Duration::from_millis(50);

/// What an input has next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextLine {
    /// A line without its end.
    Line(Vec<u8>),
    /// Nothing for now. What follows is waited for, however long it takes.
    Pause,
    End,
}

/// The lines of an input.
#[derive(Debug)]
pub(crate) struct PacedLines {
    reader: BufReader<InputFile>,
    /// The beginning of the next line.
    begun: Vec<u8>,
    /// Whether the pause after the last line has been told.
    is_pause_told: bool,
}

impl PacedLines {
    /// The lines of a file or a pipe.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let reader = BufReader::new(InputFile::open(path)?);
        Ok(Self { reader, begun: Vec::new(), is_pause_told: false })
    }

    /// The next line, or the pause before it.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn next(&mut self) -> io::Result<NextLine> {
        loop {
            let is_waiting = self.reader.buffer().is_empty() && !self.is_pause_told;
            if is_waiting && !self.reader.get_mut().is_ready_within(PAUSE)? {
                self.is_pause_told = true;
                return Ok(NextLine::Pause);
            }
            let read = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            let (length, end) = (read.len(), read.iter().position(|byte| *byte == b'\n'));
            self.begun.extend_from_slice(&read[..end.unwrap_or(length)]);
            self.reader.consume(end.map_or(length, |end| end + 1));
            if length == 0 && self.begun.is_empty() {
                return Ok(NextLine::End);
            }
            if length == 0 || end.is_some() {
                self.is_pause_told = false;
                self.begun.pop_if(|last| *last == b'\r');
                return Ok(NextLine::Line(std::mem::take(&mut self.begun)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a file of this content.
    fn lines_of(content: &[u8]) -> Vec<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, content).unwrap();
        let mut lines = PacedLines::open(&path).unwrap();
        let mut found = Vec::new();
        loop {
            match lines.next().unwrap() {
                NextLine::Line(line) => found.push(line),
                NextLine::Pause => panic!("a file makes no pause"),
                NextLine::End => return found,
            }
        }
    }

    #[test]
    fn lines_end_by_line_feeds_with_or_without_a_carriage_return_and_the_last_one_need_not() {
        assert_eq!(lines_of(b""), [b""; 0]);
        assert_eq!(lines_of(b"\n"), [b""]);
        assert_eq!(lines_of(b"a\nb"), [b"a", b"b"]);
        assert_eq!(lines_of(b"a\r\n\r\nb\r\r\n"), [&b"a"[..], b"", b"b\r"]);
        let long = vec![b'x'; 100_000];
        assert_eq!(lines_of(&[&long[..], b"\ny"].concat()), [&long[..], b"y"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_waits_makes_one_pause_and_keeps_the_line_that_has_begun() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let mut lines = PacedLines::open(&path).unwrap();
        // Nothing is read, and the pipe not opened, before the first line is asked for.
        assert_eq!(lines.next().unwrap(), NextLine::Pause);
        let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(b"one\ntwo\nthr").unwrap();
        assert_eq!(lines.next().unwrap(), NextLine::Line(b"one".into()));
        assert_eq!(lines.next().unwrap(), NextLine::Line(b"two".into()));
        assert_eq!(lines.next().unwrap(), NextLine::Pause);
        let rest = std::thread::spawn(move || writer.write_all(b"ee\n").map(|()| drop(writer)));
        assert_eq!(lines.next().unwrap(), NextLine::Line(b"three".into()));
        rest.join().unwrap().unwrap();
        assert_eq!(lines.next().unwrap(), NextLine::End);
    }
}
