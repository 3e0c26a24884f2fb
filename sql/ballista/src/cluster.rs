//! A cluster of processes on this machine, which end with the process that started them.

use datafusion::error::{DataFusionError, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time for a process to start, on a machine that has other things to do.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// What a cluster is made of.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// The program `ogive-scheduler`.
    pub scheduler: PathBuf,
    /// The program `ogive-executor`.
    pub executor: PathBuf,
    /// Executors.
    pub executors: usize,
    /// Tasks of an executor at a time.
    pub tasks: usize,
    /// Prefixes of what queries may open; everything, if there are none.
    pub allow: Vec<String>,
}

impl ClusterOptions {
    /// Two executors of two tasks each, by the programs that lie beside this one, or on the path of the shell.
    #[must_use]
    pub fn new() -> Self {
        Self {
            scheduler: program("ogive-scheduler"),
            executor: program("ogive-executor"),
            executors: 2,
            tasks: 2,
            allow: Vec::new(),
        }
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// A program beside this one; else its name, for the shell's path.
fn program(name: &str) -> PathBuf {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(&file)));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(file))
}

/// A scheduler and some executors, as processes on the loopback. They are killed when this is dropped, and end by
/// themselves if this process does.
#[derive(Debug)]
pub struct LocalCluster {
    options: ClusterOptions,
    address: SocketAddr,
    scheduler: Child,
    executors: Vec<Executor>,
    /// Intermediate results of the executors.
    _folder: tempfile::TempDir,
}

#[derive(Debug)]
struct Executor {
    process: Child,
    work_dir: PathBuf,
    address: SocketAddr,
}

impl LocalCluster {
    /// Starts all processes, on free ports, and waits until the executors are known to the scheduler.
    ///
    /// # Errors
    /// For a program that is missing, or does not start in time.
    pub fn start(options: &ClusterOptions) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("ogive-cluster-").tempdir()?;
        let (scheduler, address) = spawn_scheduler(options, 0)?;
        let mut cluster = Self { options: options.clone(), address, scheduler, executors: Vec::new(), _folder: folder };
        for number in 0..options.executors {
            let work_dir = cluster._folder.path().join(format!("executor-{number}"));
            let mut command = Command::new(&options.executor);
            command.args(["--bind-port", "0", "--bind-grpc-port", "0", "--executor-heartbeat-interval-seconds", "1"]);
            command.arg("--scheduler-port").arg(address.port().to_string());
            command.arg("--vcores").arg(options.tasks.to_string()).arg("--work-dir").arg(&work_dir);
            let (process, address) = spawn(command, &options.allow)?;
            cluster.executors.push(Executor { process, work_dir, address });
        }
        cluster.wait()?;
        Ok(cluster)
    }

    /// The address of the scheduler, for [`connect`](crate::connect).
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The addresses of the executors, in the order of their numbers.
    #[must_use]
    pub fn executors(&self) -> Vec<SocketAddr> {
        self.executors.iter().map(|executor| executor.address).collect()
    }

    /// Files of intermediate results that an executor has: more than before when it has ended a task. They stay for
    /// some time after their query.
    #[must_use]
    pub fn result_files(&self, executor: usize) -> usize {
        self.executors.get(executor).map_or(0, |executor| count_files(&executor.work_dir))
    }

    /// Kills an executor, as a machine fails: without a word to the others. Its intermediate results are lost.
    ///
    /// # Errors
    /// Those of the system; for an executor that is none.
    pub fn kill(&mut self, executor: usize) -> Result<()> {
        let missing = || DataFusionError::Execution(format!("there is no executor {executor}"));
        let executor = self.executors.get_mut(executor).ok_or_else(missing)?;
        executor.process.kill()?;
        executor.process.wait()?;
        std::fs::remove_dir_all(&executor.work_dir)?;
        Ok(())
    }

    /// Kills the scheduler, starts another one at its address, and waits until the executors are known to it.
    ///
    /// # Errors
    /// Those of the system; if the executors do not register in time.
    pub fn restart_scheduler(&mut self) -> Result<()> {
        self.scheduler.kill()?;
        self.scheduler.wait()?;
        (self.scheduler, self.address) = spawn_scheduler(&self.options, self.address.port())?;
        self.wait()
    }

    /// Waits until the scheduler knows as many executors as it waits for.
    fn wait(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while Instant::now() < deadline {
            if is_ready(self.address).unwrap_or(false) {
                return Ok(());
            }
            for executor in &mut self.executors {
                if let Some(status) = executor.process.try_wait()? {
                    return Err(DataFusionError::Execution(format!("an executor ended with {status}")));
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(DataFusionError::Execution(format!("the executors did not register within {START_TIMEOUT:?}")))
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        let executors = self.executors.iter_mut().map(|executor| &mut executor.process);
        for process in executors.chain([&mut self.scheduler]) {
            // One that has ended cannot be killed.
            _ = process.kill();
            _ = process.wait();
        }
    }
}

/// Starts a scheduler at a port, or at a free one for port 0.
fn spawn_scheduler(options: &ClusterOptions, port: u16) -> Result<(Child, SocketAddr)> {
    let mut command = Command::new(&options.scheduler);
    command.arg("--bind-port").arg(port.to_string()).args(["--executor-timeout-seconds", "4"]);
    command.arg("--min-ready-executors").arg(options.executors.to_string());
    spawn(command, &options.allow)
}

/// Starts a process, and reads the address that it prints.
fn spawn(mut command: Command, allow: &[String]) -> Result<(Child, SocketAddr)> {
    allow.iter().for_each(|prefix| {
        command.args(["--allow", prefix]);
    });
    command.args(["--until-stdin-ends", "--log-level", "off"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let name = command.get_program().to_owned();
    let name = Path::new(&name).display();
    let mut process = command.spawn().map_err(|error| {
        let message = format!(
            "cannot start {name}: {error}; build it by `cargo build --release --manifest-path sql/Cargo.toml -p \
             ogive-ballista`, and put it beside this program"
        );
        DataFusionError::Execution(message)
    })?;
    let address = process.stdout.take().and_then(first_line).and_then(|line| {
        let address = line.trim().rsplit_once(' ').map(|(_, address)| address.to_owned());
        address?.parse().ok()
    });
    match address {
        Some(address) => Ok((process, address)),
        None => {
            _ = process.kill();
            let status = process.wait()?;
            Err(DataFusionError::Execution(format!("{name} did not say where it listens, and ended with {status}")))
        }
    }
}

/// The first line of an output, if it comes in time.
fn first_line(output: impl Read + Send + 'static) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let mut output = BufReader::new(output);
        if output.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            // The receiver is gone when it was too late.
            _ = sender.send(line);
        }
        // What comes later is read away, so that the process can write.
        _ = std::io::copy(&mut output, &mut std::io::sink());
    });
    receiver.recv_timeout(START_TIMEOUT).ok()
}

/// Asks the scheduler, by HTTP, whether its executors are there.
pub(crate) fn is_ready(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: scheduler\r\nConnection: close\r\n\r\n")?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    Ok(answer.ends_with(b" 200"))
}

fn count_files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let files = entries.flatten().map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => count_files(&entry.path()),
        Ok(_) => 1,
        // Removed meanwhile.
        Err(_) => 0,
    });
    files.sum()
}
