//! Detection of executors whose process has ended, by their closed connections.

use ballista_core::serde::scheduler::ExecutorMetadata;
use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Pause before a connection that was closed is made again.
const PAUSE: Duration = Duration::from_millis(200);
/// Pause before an executor is tried again that has not been reached yet.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Times that a port must refuse a connection, one after the other.
const REFUSALS: usize = 2;

/// Connections to all executors. The system closes that of a process that ends, however it ends, and refuses new ones.
///
/// An executor is taken for ended if it was reached before, its connection was closed, and its port refuses others. All
/// else, such as a machine that is lost without a word, is left to heartbeats.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    executors: Mutex<BTreeMap<String, Watched>>,
    ended: Arc<Mutex<HashSet<String>>>,
}

#[derive(Debug)]
struct Watched {
    host: String,
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Begins to watch an executor, which is there.
    pub(crate) fn begin(&self, executor: &ExecutorMetadata) {
        let ExecutorMetadata { id, host, port, .. } = executor;
        let mut executors = locked(&self.executors);
        let is_watched =
            executors.get(id).is_some_and(|it| it.host == *host && it.port == *port && !it.task.is_finished());
        locked(&self.ended).remove(id);
        if is_watched || *port == 0 {
            return;
        }
        let (ended, watched) = (self.ended.clone(), (id.clone(), host.clone(), *port));
        let task = tokio::spawn(async move {
            let (id, host, port) = watched;
            until_refused(&host, port).await;
            log::warn!("executor {id}: {host}:{port} has closed its connection, and refuses others: it has ended");
            locked(&ended).insert(id);
        });
        executors.insert(id.clone(), Watched { host: host.clone(), port: *port, task });
    }

    /// Ends the watch of an executor that is removed.
    pub(crate) fn end(&self, id: &str) {
        locked(&self.executors).remove(id);
        locked(&self.ended).remove(id);
    }

    /// Whether an executor has ended.
    pub(crate) fn has_ended(&self, id: &str) -> bool {
        locked(&self.ended).contains(id)
    }
}

/// Waits until a port that was reached refuses connections.
async fn until_refused(host: &str, port: u16) {
    let (mut was_reached, mut refusals) = (false, 0);
    while refusals < REFUSALS {
        match TcpStream::connect((host, port)).await {
            Ok(connection) => {
                (was_reached, refusals) = (true, 0);
                until_closed(connection).await;
            }
            Err(error) if was_reached && error.kind() == ErrorKind::ConnectionRefused => refusals += 1,
            Err(_) => refusals = 0,
        }
        tokio::time::sleep(if was_reached { PAUSE } else { FIRST_PAUSE }).await;
    }
}

/// Waits until the other side closes a connection; what it sends is of no interest.
async fn until_closed(connection: TcpStream) {
    let mut bytes = [0; 64];
    while connection.readable().await.is_ok() {
        match connection.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::vcores::CountedVcores;
    use ballista_core::serde::protobuf::ExecutorHeartbeat;
    use ballista_core::serde::scheduler::{
        ExecutorData, ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification,
    };
    use ballista_scheduler::cluster::ClusterState;
    use ballista_scheduler::cluster::memory::InMemoryClusterState;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpStream};

    const SEEN_AT: u64 = 1 << 40;
    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Registers an executor that listens on a port, and accepts its watch.
    async fn register(state: &CountedVcores, id: &str) -> (TcpListener, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let metadata = ExecutorMetadata {
            id: id.to_owned(),
            host: "127.0.0.1".to_owned(),
            port: listener.local_addr().unwrap().port(),
            grpc_port: 0,
            specification: ExecutorSpecification::default().with_vcores(2),
            os_info: ExecutorOperatingSystemSpecification::default(),
        };
        let data = ExecutorData { executor_id: id.to_owned(), total_vcores: 2, available_vcores: 2 };
        state.register_executor(metadata, data).await.unwrap();
        let heartbeat = ExecutorHeartbeat { executor_id: id.to_owned(), timestamp: SEEN_AT, ..Default::default() };
        state.save_executor_heartbeat(heartbeat).await.unwrap();
        let connection = tokio::time::timeout(TIMEOUT, listener.accept()).await.unwrap().unwrap().0;
        (listener, connection)
    }

    fn seen_at(state: &CountedVcores, id: &str) -> Option<u64> {
        state.executor_heartbeats().get(id).map(|heartbeat| heartbeat.timestamp)
    }

    #[tokio::test]
    async fn an_executor_that_ends_is_not_seen_any_more() {
        let state = CountedVcores::new(Arc::new(InMemoryClusterState::default()));
        let (first, _second) = (register(&state, "first").await, register(&state, "second").await);
        // A connection that is closed is made again.
        let (listener, connection) = first;
        drop(connection);
        let again = tokio::time::timeout(TIMEOUT, listener.accept()).await.unwrap().unwrap().0;
        assert_eq!(seen_at(&state, "first"), Some(SEEN_AT));
        drop((listener, again));
        let ended = async {
            while seen_at(&state, "first") != Some(0) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, ended).await.unwrap();
        assert_eq!(seen_at(&state, "second"), Some(SEEN_AT));
        state.remove_executor("first").await.unwrap();
        let _first = register(&state, "first").await;
        assert_eq!(seen_at(&state, "first"), Some(SEEN_AT));
    }
}
