//! Sessions of clients, in which quoted paths are tables, and of schedulers and executors.

use crate::allowed::Allowed;
use crate::cluster::is_ready;
use crate::codec::{OgiveLogicalCodec, OgivePhysicalCodec};
use crate::constants::ConstantsInMemory;
use crate::exchange::{SortBehindExchanges, SortBehindJoins, SortForLimits};
use crate::guard::{GuardedPlanner, runtime};
use crate::plan_size::SizedPlanner;
use crate::tables::OpenTables;
use crate::task_error::is_lost_connection;
use crate::write::ClientPlanner;
use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_core::extension::{ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};
use ogive_datafusion::{OgiveOptions, UrlTables, with_long_timestamps, with_ogive, without_changes};
use std::net::ToSocketAddrs;
use std::sync::Arc;

/// The port of schedulers, if an address has none.
pub const SCHEDULER_PORT: u16 = 50050;

/// A configuration with the codecs of tables, for schedulers, executors and clients.
///
/// Plans are not adapted while they run, unless the setting `ballista.planner.adaptive.enabled` says so: in version 55,
/// rows then lose the order of a query at times, and some queries do not end.
#[must_use]
pub fn session_config(tables: &Arc<OpenTables>) -> SessionConfig {
    with_long_timestamps(SessionConfig::new_with_ballista())
        .with_ballista_adaptive_query_planner(false)
        .with_ballista_logical_extension_codec(Arc::new(OgiveLogicalCodec::new(tables.clone())))
        .with_ballista_physical_extension_codec(Arc::new(OgivePhysicalCodec::new(tables.clone())))
}

/// The state of a session in a scheduler, whose plans open what is allowed.
///
/// # Errors
/// Those of the engine.
pub fn session_state(config: SessionConfig, allowed: &Allowed) -> Result<SessionState> {
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime(allowed, None)?)
        .with_optimizer_rules(ballista_default_optimizer_rules())
        .with_scalar_functions(ballista_scalar_functions())
        .with_aggregate_functions(ballista_aggregate_functions())
        .with_window_functions(ballista_window_functions());
    let state = without_changes(with_ogive(state, &OgiveOptions::default()));
    let state = state.with_physical_optimizer_rule(Arc::new(SortBehindExchanges));
    let state = state.with_physical_optimizer_rule(Arc::new(SortBehindJoins));
    let state = state.with_physical_optimizer_rule(Arc::new(SortForLimits));
    let state = state.with_physical_optimizer_rule(Arc::new(ConstantsInMemory)).build();
    let planner = SizedPlanner { planner: state.query_planner().clone() };
    let planner = GuardedPlanner { planner: Arc::new(planner), allowed: allowed.clone() };
    Ok(SessionStateBuilder::new_from_existing(state).with_query_planner(Arc::new(planner)).build())
}

/// The state of a client, and what its catalog needs to know it.
struct Client {
    state: SessionState,
    urls: UrlTables,
}

impl Client {
    /// A client in whose queries quoted paths and URLs are tables.
    fn new(config: SessionConfig, tables: &OpenTables) -> Result<Self> {
        let state = session_state(config, tables.allowed())?;
        let (state, urls) = UrlTables::add_to(state, OgiveOptions::default());
        Ok(Self { state, urls })
    }

    fn finish(&self, context: &SessionContext) -> SessionContext {
        let state = context.state();
        let rules = state.optimizers().iter().filter(|rule| CLIENT_RULES.contains(&rule.name())).cloned().collect();
        let planner = ClientPlanner { queries: state.query_planner().clone() };
        let state = SessionStateBuilder::new_from_existing(state)
            .with_optimizer_rules(rules)
            .with_query_planner(Arc::new(planner))
            .build();
        let context = SessionContext::from(state);
        self.urls.attach(&context);
        context
    }
}

/// The rules that a client applies: those that make joins of subqueries, which do not travel otherwise. The scheduler
/// applies all. Some of the others make an `EmptyRelation`, whose columns DataFusion 55 loses on the way.
const CLIENT_RULES: [&str; 5] = [
    "not_in_subquery_rewrite",
    "rewrite_set_comparison",
    "decorrelate_predicate_subquery",
    "scalar_subquery_to_join",
    "decorrelate_lateral_join",
];

/// Whether the scheduler of a cluster has executors; queries wait for one. `None` if it does not say so.
///
/// # Errors
/// For an address that is none.
pub async fn has_executors(address: &str) -> Result<Option<bool>> {
    let host = host_and_port(address)?;
    let asked = tokio::task::spawn_blocking(move || {
        let address = host.to_socket_addrs().ok()?.next()?;
        is_ready(address).ok()
    });
    Ok(asked.await.ok().flatten())
}

/// Connects to the scheduler of a cluster, at `HOST:PORT` or `df://HOST:PORT`. Quoted paths and URLs are tables; paths
/// are those of this machine, and must lead to the same files on all.
///
/// # Errors
/// For an address that is none, and a scheduler that does not answer.
pub async fn connect(address: &str) -> Result<SessionContext> {
    connect_with(address, session_config(&Arc::default())).await
}

/// Connects with settings, such as the number of partitions, which begin with [`session_config`].
///
/// # Errors
/// As [`connect`].
pub async fn connect_with(address: &str, config: SessionConfig) -> Result<SessionContext> {
    ogive_object_store::register();
    let (host, port) = host_and_port(address)?;
    let reached = tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::TcpStream::connect((host.as_str(), port))).await;
    let reached = reached.map_err(|_| "it did not answer in time".to_owned());
    if let Err(detail) = reached.and_then(|reached| reached.map_err(|error| error.to_string())) {
        let message = format!(
            "no scheduler answers at {host}:{port}: {detail}; start one by `ogive-scheduler --bind-port {port}`, or \
             give the address of another"
        );
        return Err(DataFusionError::Execution(message));
    }
    let client = Client::new(config, &OpenTables::default())?;
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let url = format!("df://{host}:{port}");
    let context = SessionContext::remote_with_state(&url, client.state.clone()).await.map_err(|error| {
        // What answers speaks another protocol, such as the HTTP of a web server, or does not know these calls.
        let is_other = ["content-type", "h2 protocol", "Unimplemented"].iter().any(|it| error.to_string().contains(it));
        if is_other {
            let message = format!("what answers at {host}:{port} is no scheduler; give the address that it prints");
            DataFusionError::Execution(message)
        } else if is_lost_connection(&error) {
            let message = format!("the scheduler at {host}:{port} does not answer; see its messages, or start it anew");
            DataFusionError::Execution(message)
        } else {
            error
        }
    })?;
    Ok(client.finish(&context))
}

const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// A cluster of one executor within this process, with as many tasks at a time as `tasks` says.
///
/// # Errors
/// Those of Ballista.
pub async fn standalone(config: SessionConfig, tables: &OpenTables, tasks: usize) -> Result<SessionContext> {
    ogive_object_store::register();
    let client = Client::new(config.with_ballista_standalone_parallelism(tasks.max(1)), tables)?;
    let context = SessionContext::standalone_with_state(client.state.clone()).await?;
    Ok(client.finish(&context))
}

/// Host and port of `HOST`, `HOST:PORT`, `[::1]:PORT`, or one of these after a scheme.
fn host_and_port(address: &str) -> Result<(String, u16)> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest).trim_end_matches('/');
    let invalid = || {
        let message = format!("'{address}' is no address of a scheduler; give HOST:PORT, such as localhost:50050");
        DataFusionError::Configuration(message)
    };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, port.parse().map_err(|_| invalid())?)
        }
        _ => (rest, SCHEDULER_PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() || host.contains(['/', ' ']) {
        return Err(invalid());
    }
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_may_have_a_port() {
        let parse = |address: &str| host_and_port(address).ok();
        assert_eq!(parse("localhost"), Some(("localhost".to_owned(), SCHEDULER_PORT)));
        assert_eq!(parse("df://node-1:7/"), Some(("node-1".to_owned(), 7)));
        assert_eq!(parse("[::1]:50050"), Some(("::1".to_owned(), 50050)));
        for wrong in ["", ":50050", "host:port", "host:99999", "df://", "a/b:1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
