//! Metrics, as Prometheus reads them, over HTTP.

use crate::config::StartError;
use crate::control::Phase;
use crate::door::{Measure, ServerState, Sessions};
use crate::numbers::{Family, Numbers};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread::{JoinHandle, try_spawn};
use std::fmt;
use std::net::SocketAddr;
use tiny_http::{Header, Response};

const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The endpoint of the metrics.
pub(crate) struct Metrics {
    server: Arc<tiny_http::Server>,
    address: SocketAddr,
    thread: JoinHandle<()>,
}

impl Metrics {
    pub(crate) fn start<S: Sessions>(
        at: SocketAddr,
        shared: Arc<ServerState<S>>,
    ) -> Result<Self, StartError> {
        let server = tiny_http::Server::http(at).map_err(|error| StartError::Listen {
            at: at.to_string(),
            error: std::io::Error::other(error.to_string()),
        })?;
        let server = Arc::new(server);
        let address = server.server_addr().to_ip().unwrap_or(at);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Collecting(shared)));
        let listening = server.clone();
        let thread = try_spawn("metrics", move || {
            for request in listening.incoming_requests() {
                let known = request.url() == "/metrics";
                let mut body = String::new();
                // a client that does not wait for the answer is no concern of ours
                let _ = if known && text::encode(&mut body, &registry).is_ok() {
                    let header = Header::from_bytes("Content-Type", CONTENT);
                    let mut response = Response::from_string(body);
                    if let Ok(header) = header {
                        response.add_header(header);
                    }
                    request.respond(response)
                } else {
                    request.respond(Response::from_string("see /metrics\n").with_status_code(404))
                };
            }
        });
        let thread = thread.map_err(|error| StartError::System(error.to_string()))?;
        Ok(Self { server, address, thread })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn stop(self) {
        self.server.unblock();
        let _ = self.thread.join();
    }
}

struct Collecting<S>(Arc<ServerState<S>>);

impl<S> fmt::Debug for Collecting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collecting")
    }
}

impl<S: Sessions> Collector for Collecting<S> {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        let registry = &self.0.registry;
        let ([statements, errors, conflicts], phases) = registry.counts();
        let mut counter = |name: &str, help: &str, value: u64| {
            let value = ConstCounter::new(value);
            value.encode(to.encode_descriptor(name, help, None, value.metric_type())?)
        };
        // statistics
        let read = |count: &scaledb_sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        counter("scaledb_connections_accepted", "Clients that have come", read(&registry.accepted))?;
        counter("scaledb_connections_refused", "Clients turned away at once", read(&registry.refused))?;
        counter("scaledb_cancels", "Cancel requests with the right key", read(&registry.cancels))?;
        let help = "Idle transactions that were ended because memory was short";
        counter("scaledb_idle_transactions_ended", help, read(&registry.holders_ended))?;
        counter("scaledb_statements", "Simple queries and executed portals", statements)?;
        counter("scaledb_errors", "Requests that failed", errors)?;
        counter("scaledb_conflicts", "Requests that failed with 40001", conflicts)?;
        let help = "Clients by what they do";
        let mut family = to.encode_descriptor("scaledb_connections", help, None, MetricType::Gauge)?;
        for (phase, count) in Phase::ALL.into_iter().zip(phases) {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(family.encode_family(&[("state", phase.name())])?)?;
        }
        let mut done = Ok(());
        self.0.sessions.numbers(&mut |name, help, measure, value| {
            let (counter, gauge) =
                (ConstCounter::new(value), ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
            let encoded = match measure {
                Measure::Counter => to
                    .encode_descriptor(name, help, None, counter.metric_type())
                    .and_then(|encoder| counter.encode(encoder)),
                Measure::Gauge => to
                    .encode_descriptor(name, help, None, gauge.metric_type())
                    .and_then(|encoder| gauge.encode(encoder)),
            };
            done = std::mem::replace(&mut done, Ok(())).and(encoded);
        });
        done?;
        for family in self.0.sessions.families() {
            write_family(&mut to, &family)?;
        }
        Ok(())
    }
}

/// Writes the numbers of a name.
fn write_family(to: &mut DescriptorEncoder<'_>, family: &Family) -> fmt::Result {
    let kind = match &family.numbers {
        Numbers::Counters(_) => MetricType::Counter,
        Numbers::Gauges(_) => MetricType::Gauge,
        Numbers::Histograms(_) => MetricType::Histogram,
    };
    let mut lines = to.encode_descriptor(family.name, family.help, None, kind)?;
    match &family.numbers {
        Numbers::Counters(numbers) => {
            for (labels, value) in numbers {
                ConstCounter::new(*value).encode(lines.encode_family(labels)?)?;
            }
        }
        Numbers::Gauges(numbers) => {
            for (labels, value) in numbers {
                let gauge = ConstGauge::new(i64::try_from(*value).unwrap_or(i64::MAX));
                gauge.encode(lines.encode_family(labels)?)?;
            }
        }
        Numbers::Histograms(numbers) => {
            for (labels, times) in numbers {
                let mut line = lines.encode_family(labels)?;
                line.encode_histogram::<NoLabelSet>(times.seconds, times.count, &times.buckets, None)?;
            }
        }
    }
    Ok(())
}
