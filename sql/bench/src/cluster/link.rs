//! A link between processes that counts the bytes of its connections.

use futures::future::try_join;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Bytes that are passed on at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Bytes of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    /// To the program that listens.
    pub(super) requests: u64,
    /// From it.
    pub(super) answers: u64,
}

impl Traffic {
    pub(super) fn total(self) -> u64 {
        self.requests + self.answers
    }

    /// What has come since an earlier state.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self { requests: self.requests - earlier.requests, answers: self.answers - earlier.answers }
    }
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    answers: AtomicU64,
}

/// Listens at an address, and connects all that come to another.
#[derive(Debug)]
pub(super) struct Link {
    address: SocketAddr,
    counters: Arc<Counters>,
}

impl Link {
    /// A link in the runtime of the caller, which it ends with.
    pub(super) async fn open(address: SocketAddr, target: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let (address, counters) = (listener.local_addr()?, Arc::<Counters>::default());
        let counted = counters.clone();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass(near, target, counted.clone()));
            }
        });
        Ok(Self { address, counters })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn traffic(&self) -> Traffic {
        let bytes = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic { requests: bytes(&self.counters.requests), answers: bytes(&self.counters.answers) }
    }
}

/// Passes a connection on until either side ends it.
async fn pass(near: TcpStream, target: SocketAddr, counters: Arc<Counters>) -> io::Result<()> {
    let far = TcpStream::connect(target).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((near_read, near_write), (far_read, far_write)) = (near.into_split(), far.into_split());
    let requests = copy_counted(near_read, far_write, &counters.requests);
    try_join(requests, copy_counted(far_read, near_write, &counters.answers)).await?;
    Ok(())
}

async fn copy_counted(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    bytes: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        // Before they are passed on: who has an answer finds it counted.
        bytes.fetch_add(read as u64, Ordering::Relaxed);
        to.write_all(&buffer[..read]).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[tokio::test]
    async fn bytes_are_passed_on_and_counted_in_both_directions() {
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = TcpListener::bind(free).await.unwrap();
        let link = Link::open(free, server.local_addr().unwrap()).await.unwrap();
        let mut client = TcpStream::connect(link.address()).await.unwrap();
        let (mut served, _) = server.accept().await.unwrap();
        client.write_all(&[1; 100_000]).await.unwrap();
        let mut request = vec![0; 100_000];
        served.read_exact(&mut request).await.unwrap();
        assert!(request.iter().all(|&byte| byte == 1));
        let before = link.traffic();
        served.write_all(b"answer").await.unwrap();
        drop(served);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"answer");
        assert_eq!(before, Traffic { requests: 100_000, answers: 0 });
        assert_eq!(link.traffic().since(before), Traffic { requests: 0, answers: 6 });
        assert_eq!(link.traffic().total(), 100_006);
    }
}
