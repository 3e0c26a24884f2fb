//! A server that talks S3, and the command that talks to it.

use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The program, where `cargo xtask test` has installed it; else it is looked for in the usual folders.
const PROGRAM_VARIABLE: &str = "OGIVE_MOTO_SERVER";
/// The bucket of all tests.
pub(crate) const BUCKET: &str = "bucket";

/// A running server. It ends when the last test that uses it does.
#[derive(Debug)]
pub(crate) struct Server {
    process: Mutex<Child>,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

impl Server {
    /// The server that tests share; `None`, with a message, where it is not installed.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::start(&[])?);
        server.request("PUT", &format!("/{BUCKET}"), b"");
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// A server with these variables in its environment.
    pub(crate) fn start(environment: &[(&str, &str)]) -> Option<Self> {
        let program = std::env::var_os(PROGRAM_VARIABLE).unwrap_or_else(|| "moto_server".into());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            eprintln!("skipped: there is no moto_server; `cargo xtask test` installs it where Python is");
            return None;
        };
        let server = Self { process: Mutex::new(process), port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if server.process.lock().unwrap().try_wait().unwrap().is_some() {
                eprintln!("skipped: moto_server does not start; `cargo xtask test` installs it where Python is");
                return None;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "moto_server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address of the server.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The answer to a request, headers included.
    pub(crate) fn request(&self, method: &str, path: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\nx-amz-acl: public-read\r\n"
        );
        stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Puts an object.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let answer = self.request("PUT", &format!("/{BUCKET}/{name}"), content.as_ref());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// The names of all objects that begin with a prefix.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let answer = self.request("GET", &format!("/{BUCKET}?prefix={prefix}"), b"");
        let keys = answer.split("<Key>").skip(1);
        keys.map(|key| key.split('<').next().unwrap().to_owned()).collect()
    }

    /// Whether multipart uploads are in progress.
    pub(crate) fn has_uploads(&self) -> bool {
        self.request("GET", &format!("/{BUCKET}?uploads"), b"").contains("<UploadId>")
    }
}

/// A folder of its own for one test, and the command that runs in it.
pub(crate) struct Place {
    pub(crate) server: Arc<Server>,
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Option<Self> {
        Some(Self { server: Server::shared()?, folder: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The command, with the server as its S3.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.folder.path(), arguments);
        command.env("AWS_ENDPOINT", self.server.endpoint());
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "SECRET").env("AWS_REGION", "us-east-1");
        command
    }

    /// Runs the command.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::new(arguments, self.command(arguments).output().unwrap())
    }

    /// Runs the command with another server as its S3.
    pub(crate) fn run_at(&self, endpoint: &str, arguments: &[&str]) -> Run {
        Run::new(arguments, self.command(arguments).env("AWS_ENDPOINT", endpoint).output().unwrap())
    }

    /// Runs the command, which must succeed, and returns what it prints.
    #[track_caller]
    pub(crate) fn prints(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    }
}

/// The command without any variable of a cloud.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ogive"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|cloud| name.starts_with(cloud))) {
            command.env_remove(name);
        }
    }
    command
}

/// What one run printed, and how it ended.
pub(crate) struct Run {
    arguments: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arguments, stdout, stderr, code } = self;
        write!(formatter, "ogive {arguments}\n{code:?}\n{stdout}\n{stderr}")
    }
}

impl Run {
    pub(crate) fn new(arguments: &[&str], output: Output) -> Self {
        Self {
            arguments: arguments.join(" "),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }

    /// Insists on a failure that says these words, and shows no secret.
    #[track_caller]
    pub(crate) fn complains_of(&self, words: &[&str]) {
        assert!(matches!(self.code, Some(1 | 2)), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
        assert!(!self.stderr.contains("SECRET") && !self.stdout.contains("SECRET"), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
    }
}
