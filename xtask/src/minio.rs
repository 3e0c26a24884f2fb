//! The S3 server of the long run: MinIO, which Go builds in a folder of its own where it is missing. moto, the server
//! of the usual run, serves one request after the other; this one has real latencies and races.

use crate::Failure;
use crate::process::{Step, answers};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PACKAGE: &str = "github.com/minio/minio@latest";
const USER: &str = "ogive";
const PASSWORD: &str = "ogive-secret";
/// Gigabytes, minutes and rounds of openings of the measurement; the document has a longer one.
const SIZE: &str = "1 2 60";
/// A server that does not listen after this time has failed.
const STARTED: Duration = Duration::from_secs(60);

/// Runs the measurement of a store in use. Where there is neither MinIO nor Go, says that it is skipped.
pub(crate) fn run_live(root: &Path) -> Result<(), Failure> {
    let Some(program) = prepare(root) else { return Ok(()) };
    let server = Server::start(&program, &root.join("target/minio/data"))?;
    Step::new("live", &format!("cargo bench -p ogive-object-store --bench live -- s3://bucket/live {SIZE}"))
        .with("AWS_ENDPOINT", &server.endpoint)
        .with("AWS_ACCESS_KEY_ID", USER)
        .with("AWS_SECRET_ACCESS_KEY", PASSWORD)
        .with("AWS_REGION", "us-east-1")
        .run(root)
}

fn prepare(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/minio/bin");
    let program = folder.join("minio");
    if let Some(found) = [PathBuf::from("minio"), program.clone()].into_iter().find(|program| answers(program)) {
        return Some(found);
    }
    println!("building MinIO, which takes some minutes");
    let install = Step::new("MinIO", &format!("go install {PACKAGE}"))
        .with("CGO_ENABLED", "0")
        .with("GOBIN", &folder.display().to_string());
    if install.run(root).is_err() {
        println!("skipped: the store in use needs MinIO, and Go to build it; see the message above");
        return None;
    }
    Some(program)
}

/// A running server with one bucket. It ends, and its data are removed, when this is dropped.
struct Server {
    process: Child,
    data: PathBuf,
    endpoint: String,
}

impl Server {
    fn start(program: &Path, data: &Path) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::Check(format!("cannot start {}: {error}", program.display()));
        // A bucket is a folder.
        fs::create_dir_all(data.join("bucket")).map_err(failed)?;
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(failed)?;
        let process = Command::new(program)
            .args(["server", "--quiet", "--address", &address.to_string()])
            .arg(data)
            .env("MINIO_ROOT_USER", USER)
            .env("MINIO_ROOT_PASSWORD", PASSWORD)
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let server = Self { process, data: data.to_owned(), endpoint: format!("http://{address}") };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if begun.elapsed() > STARTED {
                return Err(Failure::Check(format!("{} does not listen at {address}", program.display())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What cannot be ended or removed is in the way of nothing.
        _ = self.process.kill();
        _ = self.process.wait();
        _ = fs::remove_dir_all(&self.data);
    }
}
