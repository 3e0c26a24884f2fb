//! Fetching real key sets: download, unpack, make the file, check it.
//!
//! Downloads, decompression and checksums are the work of `curl`, `gzip`, `zstd`, `sha256sum` and `md5sum`, so that the
//! bench needs no network code. The file gets its name only once its checksum is right; nothing else is left behind.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::real::{Digest, Part, PartForm, RealKeys};
use super::sosd::{SosdReader, publish, unfinished};
use crate::error::{Error, Result};

/// Addresses that no proxy serves, beside those that the user excepts.
const LOCAL: &str = "localhost,127.0.0.1";
/// The longest line of positions; theirs have some dozens of bytes.
const LINE_BYTES_MAX: u64 = 4 << 10;

/// Makes the file of a real key set in `folder`, from downloads below `base`, or from its own source without one.
/// Returns the path of the file. Calls `tell` with each address before it is fetched.
///
/// # Errors
/// [`Error::Exists`] if there is such a file and `replace` is not set; [`Error::Tool`] if a program is missing;
/// [`Error::Fetch`] for what cannot be downloaded or unpacked; [`Error::Digest`] for other data than were expected;
/// [`Error::Io`].
pub fn fetch(
    set: &RealKeys,
    base: Option<&str>,
    folder: &Path,
    replace: bool,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf> {
    let path = folder.join(set.file);
    if !replace && path.exists() {
        return Err(Error::Exists { path });
    }
    std::fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))?;
    let downloads = tempfile::tempdir_in(folder).map_err(|source| Error::io("create a folder in", folder, source))?;
    let keys_file = unfinished(&path)?;
    let mut positions = Vec::new();
    let base = match base {
        Some(copy) if !copy.ends_with('/') => format!("{copy}/"),
        copy => copy.unwrap_or(set.base).to_owned(),
    };
    for (index, part) in set.parts.iter().enumerate() {
        let url = format!("{base}{}", part.path);
        tell(&url);
        let download = downloads.path().join(index.to_string());
        let mut curl = Command::new("curl");
        curl.args(CURL).env("no_proxy", without_proxy()).arg("--output").arg(&download).arg(&url);
        run(curl.stdin(Stdio::null()), &url)?;
        unpack(set, part, &download, &url, keys_file.as_file(), &mut positions)?;
    }
    if !positions.is_empty() {
        positions.sort_unstable();
        positions.dedup();
        write_keys(keys_file.as_file(), &positions).map_err(|source| Error::io("write", &path, source))?;
    }
    check(set, keys_file.path())?;
    publish(keys_file, &path, replace)?;
    Ok(path)
}

/// Fails on answers other than success, follows redirections, says only what went wrong, tries again also after a
/// transfer that was cut, and gives up on servers that do not answer or send hardly anything for a minute.
#[rustfmt::skip]
const CURL: [&str; 13] = [
    "--fail", "--location", "--silent", "--show-error", "--retry", "2", "--retry-all-errors",
    "--connect-timeout", "30", "--speed-limit", "1000", "--speed-time", "60",
];

/// The addresses that the user reaches without a proxy, and those of this machine.
fn without_proxy() -> String {
    let excepted = ["no_proxy", "NO_PROXY"].iter().find_map(|name| std::env::var(name).ok());
    excepted.filter(|list| !list.is_empty()).map_or_else(|| LOCAL.to_owned(), |list| format!("{list},{LOCAL}"))
}

/// Unpacks a download: a SOSD file goes to `file`, positions are collected. What is larger than the set is refused.
fn unpack(
    set: &RealKeys,
    part: &Part,
    download: &Path,
    url: &str,
    file: &File,
    positions: &mut Vec<u64>,
) -> Result<()> {
    let tool = match part.form {
        PartForm::Positions { .. } => "gzip",
        PartForm::Sosd => "zstd",
    };
    let missing = |source| Error::Tool { tool: tool.into(), source };
    let mut child = Command::new(tool)
        .arg("-dc")
        .arg(download)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(missing)?;
    let taken = child.stdout.take().map(|unpacked| match part.form {
        PartForm::Positions { chromosome } => read_positions(unpacked, chromosome, set.count, positions),
        PartForm::Sosd => copy_at_most(unpacked, file, 8 * (set.count + 1)),
    });
    // A program whose output is not read to the end has ended, since nothing holds the pipe any more.
    let status = child.wait().map_err(missing)?;
    let failed = |reason| Err(Error::Fetch { url: url.into(), reason });
    match taken {
        Some(Ok(())) if status.success() => Ok(()),
        Some(Err(error)) => failed(error.to_string()),
        _ => failed(format!("{tool} cannot unpack it ({status})")),
    }
}

/// Collects the first word of each line but that of the titles. Positions may be repeated, each a few times.
fn read_positions(unpacked: impl Read, chromosome: u64, keys: u64, positions: &mut Vec<u64>) -> std::io::Result<()> {
    /// Times that a position may be repeated, on average.
    const REPEATED_MAX: u64 = 16;
    let mut unpacked = BufReader::new(unpacked);
    for number in 0_u64.. {
        let mut line = String::new();
        if (&mut unpacked).take(LINE_BYTES_MAX).read_line(&mut line)? == 0 {
            break;
        }
        if number == 0 && line.ends_with('\n') {
            continue;
        }
        let position = line.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let Some(position) = position.filter(|position| *position < 1 << 32) else {
            let start: String = line.trim_end().chars().take(40).collect();
            return Err(unlike(format!("{start:?} is no position")));
        };
        if positions.len() as u64 >= REPEATED_MAX * keys {
            return Err(unlike(format!("it has more than {} positions", positions.len())));
        }
        positions.push((chromosome << 32) + position);
    }
    Ok(())
}

/// Copies a file that has at most this many bytes.
fn copy_at_most(unpacked: impl Read, mut file: &File, bytes_max: u64) -> std::io::Result<()> {
    let copied = std::io::copy(&mut unpacked.take(bytes_max + 1), &mut file)?;
    if copied > bytes_max { Err(unlike(format!("it has more than {bytes_max} bytes"))) } else { Ok(()) }
}

fn unlike(reason: String) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, reason)
}

fn write_keys(file: &File, keys: &[u64]) -> std::io::Result<()> {
    let mut file = BufWriter::new(file);
    file.write_all(&(keys.len() as u64).to_le_bytes())?;
    keys.iter().try_for_each(|key| file.write_all(&key.to_le_bytes()))?;
    file.flush()
}

/// Compares the checksum and the number of keys.
fn check(set: &RealKeys, file: &Path) -> Result<()> {
    let (tool, expected) = match set.digest {
        Digest::Sha256(digest) => ("sha256sum", digest),
        Digest::Md5(digest) => ("md5sum", digest),
    };
    let content = File::open(file).map_err(|source| Error::io("read", file, source))?;
    // From a pipe: a name with a backslash would change what is printed.
    let printed = run(Command::new(tool).stdin(content), tool)?;
    let found = printed.split_ascii_whitespace().next().unwrap_or_default();
    if found != expected {
        return Err(Error::Digest { name: set.name.into(), expected: expected.into(), found: found.into() });
    }
    let found = SosdReader::open(file)?.len();
    let failed = |reason| Err(Error::Fetch { url: set.name.into(), reason });
    if found == set.count { Ok(()) } else { failed(format!("it has {found} keys instead of {}", set.count)) }
}

/// Runs a program to its end; returns what it printed. `what` is what it works on, for errors.
fn run(command: &mut Command, what: &str) -> Result<String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| Error::Tool { tool, source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    // Each try of a download adds a line.
    let told = String::from_utf8_lossy(&output.stderr);
    let reason = told.lines().last().map_or_else(|| output.status.to_string(), |line| line.trim().to_owned());
    Err(Error::Fetch { url: what.into(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::open;
    use std::net::TcpListener;

    /// Positions 5 and 9 of chromosome 1, and 7 of chromosome 2 in two parts, one of which repeats it.
    const SMALL: RealKeys = RealKeys {
        name: "small",
        file: "small.u64",
        about: "three positions",
        licence: "none",
        count: 3,
        base: "http://127.0.0.1:1/",
        parts: &[
            Part { path: "one", form: PartForm::Positions { chromosome: 1 } },
            Part { path: "two", form: PartForm::Positions { chromosome: 2 } },
            Part { path: "two", form: PartForm::Positions { chromosome: 2 } },
        ],
        digest: Digest::Sha256("8f76552b49700986ef4f49abe5da2882f4f1af942f5690d9864bbf3c2b70a4a8"),
    };

    fn packed(tool: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut child = Command::new(tool).arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        child.stdin.take()?.write_all(bytes).ok()?;
        Some(child.wait_with_output().ok()?.stdout)
    }

    /// Serves files on a port of this machine until the process ends, and answers anything else by 404.
    fn serve(files: Vec<(&'static str, Vec<u8>)>) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/", listener.local_addr()?);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut line = String::new();
                let mut request = BufReader::new(&mut stream);
                if request.read_line(&mut line).is_err() {
                    continue;
                }
                // Until the empty line: a connection that is closed with unread input is reset.
                let mut header = String::new();
                while request.read_line(&mut header).is_ok_and(|read| read > 2) {
                    header.clear();
                }
                let path = line.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
                let (status, body) = match files.iter().find(|(name, _)| *name == path) {
                    Some((_, body)) => ("200 OK", body.as_slice()),
                    None => ("404 Not Found", &b"nothing"[..]),
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(&[head.as_bytes(), body].concat());
            }
        });
        Ok(address)
    }

    fn small_files(two: &str) -> Vec<(&'static str, Vec<u8>)> {
        let gzip = |text: &str| packed("gzip", text.as_bytes()).expect("gzip");
        vec![("one", gzip("pos\tchr\n9\t1\n5\t1\n")), ("two", gzip(two))]
    }

    /// Fetches into an empty folder, which must hold nothing else afterwards.
    fn fetched(set: &RealKeys, base: Option<&str>) -> Result<Vec<u64>> {
        let folder = tempfile::tempdir().expect("a folder");
        let fetched = fetch(set, base, folder.path(), false, &mut |_| ());
        let left = std::fs::read_dir(folder.path()).expect("a listing").count();
        assert_eq!(left, usize::from(fetched.is_ok()), "partial files are left");
        open(&fetched?.to_string_lossy())?.load()
    }

    #[test]
    fn a_set_is_made_of_its_parts_and_checked() -> Result<(), Box<dyn std::error::Error>> {
        let base = serve(small_files("pos\tchr\n7\t2\n"))?;
        assert_eq!(fetched(&SMALL, Some(&base))?, [(1 << 32) + 5, (1 << 32) + 9, (2 << 32) + 7]);

        let folder = tempfile::tempdir()?;
        let path = folder.path().join(SMALL.file);
        std::fs::write(&path, "precious")?;
        let mut told = Vec::new();
        let refused = fetch(&SMALL, Some(&base), folder.path(), false, &mut |url| told.push(url.to_owned()));
        assert!(matches!(refused, Err(Error::Exists { .. })) && told.is_empty());
        fetch(&SMALL, Some(&base), folder.path(), true, &mut |url| told.push(url.to_owned()))?;
        assert_eq!(told, [format!("{base}one"), format!("{base}two"), format!("{base}two")]);
        assert_eq!(std::fs::metadata(&path)?.len(), 32);
        Ok(())
    }

    #[test]
    fn other_data_missing_files_and_no_network_leave_no_file() -> Result<(), Box<dyn std::error::Error>> {
        let other = serve(small_files("pos\tchr\n8\t2\n"))?;
        let error = fetched(&SMALL, Some(&other)).unwrap_err();
        assert!(matches!(&error, Error::Digest { name, .. } if name == "small"), "{error}");

        let invalid = serve(small_files("pos\tchr\nseven\t2\n"))?;
        let error = fetched(&SMALL, Some(&invalid)).unwrap_err();
        assert!(matches!(&error, Error::Fetch { reason, .. } if reason.contains("seven")), "{error}");

        let plain = serve(vec![("one", b"no gzip".to_vec())])?;
        let error = fetched(&SMALL, Some(&plain)).unwrap_err();
        assert!(matches!(&error, Error::Fetch { reason, .. } if reason.contains("gzip cannot unpack it")), "{error}");

        let repeated = "pos\tchr\n".to_owned() + &"7\t2\n".repeat(100);
        let endless = serve(small_files(&repeated))?;
        let error = fetched(&SMALL, Some(&endless)).unwrap_err();
        assert!(matches!(&error, Error::Fetch { reason, .. } if reason.contains("48 positions")), "{error}");

        let one_line = serve(small_files(&format!("pos\tchr\n{}", "7".repeat(10_000))))?;
        let error = fetched(&SMALL, Some(&one_line)).unwrap_err();
        assert!(matches!(&error, Error::Fetch { reason, .. } if reason.contains("is no position")), "{error}");

        let missing = serve(Vec::new())?;
        let error = fetched(&SMALL, Some(&missing)).unwrap_err();
        assert!(matches!(&error, Error::Fetch { url, reason } if url.ends_with("/one") && reason.contains("404")));

        let error = fetched(&SMALL, None).unwrap_err();
        assert!(matches!(error, Error::Fetch { .. }), "{error}");
        Ok(())
    }

    #[test]
    fn sosd_files_are_unpacked_as_they_are() -> Result<(), Box<dyn std::error::Error>> {
        let keys: Vec<u8> = [3_u64, 1, 1, 8].iter().flat_map(|number| number.to_le_bytes()).collect();
        let Some(zst) = packed("zstd", &keys) else {
            eprintln!("no zstd: nothing is tested");
            return Ok(());
        };
        let base = serve(vec![("three", zst)])?;
        let parts: &[Part] = &[Part { path: "three", form: PartForm::Sosd }];
        let set = RealKeys { parts, digest: Digest::Md5("6658353a40de70d62b3b6e8f6b059b12"), ..SMALL };
        assert_eq!(fetched(&set, Some(&base))?, [1, 1, 8]);
        // The address of a copy needs no slash at its end.
        assert_eq!(fetched(&set, Some(base.trim_end_matches('/')))?, [1, 1, 8]);
        let smaller = RealKeys { count: 2, ..set };
        let error = fetched(&smaller, Some(&base)).unwrap_err();
        assert!(matches!(&error, Error::Fetch { reason, .. } if reason.contains("more than 24 bytes")), "{error}");
        Ok(())
    }

    #[test]
    fn every_set_has_a_name_a_file_and_a_digest_of_its_own() {
        let sets = super::super::real::real_keys();
        for set in sets {
            let same = |other: &&RealKeys| other.name == set.name || other.file == set.file;
            assert_eq!(sets.iter().filter(same).count(), 1, "{}", set.name);
            let (digest, digits) = match set.digest {
                Digest::Sha256(digest) => (digest, 64),
                Digest::Md5(digest) => (digest, 32),
            };
            assert!(digest.len() == digits && digest.bytes().all(|digit| digit.is_ascii_hexdigit()), "{}", set.name);
            assert!(set.base.starts_with("https://") && !set.base.contains(' ') && !set.parts.is_empty());
        }
    }
}
