//! Metrics and events of a store: what Prometheus reads, and what goes to the log.
//!
//! ```console
//! $ cargo run -p ogive --features metrics --example prometheus                     # print the metrics once
//! $ cargo run -p ogive --features metrics --example prometheus -- 127.0.0.1:9100   # serve them until stopped
//! ```
//!
//! Alert rules for these metrics are in `prometheus-alerts.yaml`.

#![expect(clippy::disallowed_macros, reason = "a program prints its results")]

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use ogive::{Db, DbOptions};
use std::io::{Read, Write};
use std::net::TcpListener;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Events go to standard error: those of `ogive` from DEBUG on.
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_writer(std::io::stderr)
        .init();

    // The recorder comes first: what is opened before it counts nowhere. Durations become histograms with these
    // buckets.
    let buckets = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0];
    let recorder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &buckets)?;
    let metrics = recorder.install_recorder()?;

    let folder = tempfile::tempdir()?;
    let db = Db::open(folder.path(), &DbOptions::default())?;
    for i in 0..1000_u32 {
        db.insert(i.to_be_bytes(), "value")?;
    }
    db.flush()?;
    for i in 0..1000_u32 {
        db.get(i.to_be_bytes())?;
    }

    match std::env::args().nth(1) {
        None => print!("{}", metrics.render()),
        Some(address) => {
            for connection in TcpListener::bind(address)?.incoming() {
                let mut connection = connection?;
                // Whatever is asked for, the answer is the metrics.
                let _ = connection.read(&mut [0; 4096])?;
                let body = metrics.render();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
                write!(connection, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
            }
        }
    }
    db.close()?;
    Ok(())
}
