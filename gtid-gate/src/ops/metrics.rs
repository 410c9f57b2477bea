//! All metrics of the gate, with their help and unit.
//!
//! In: events of the other modules. Out: Prometheus text. Must never: have a label whose values clients choose.

use crate::common::consistency::Level;
use prometheus::core::Collector;
use prometheus::process_collector::ProcessCollector;
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

pub struct Metrics {
    registry: Registry,
    reads: IntCounterVec,
    pub master_statements: IntCounter,
    /// By `Level::index`.
    levels: [IntCounter; Level::NAMES.len()],
    pub waits: IntCounter,
    pub hopeless_waits: IntCounter,
    pub wait_errors: IntCounter,
    pub wait_seconds: Histogram,
    pub queue_seconds: Histogram,
    pub overloads: IntCounterVec,
    pub handed_over: IntCounter,
    pub fallbacks: IntCounter,
    pub fallback_rejections: IntCounter,
    pub moved_reads: IntCounter,
    pub refused_as_write: IntCounter,
    pub sessions: IntGauge,
    pub memory: IntGauge,
    pub logins: IntCounterVec,
    pub errors: IntCounterVec,
    pub master_questions: IntCounter,
    pub server_up: IntGaugeVec,
    pub server_restarts: IntCounterVec,
    pub server_running: IntGaugeVec,
    pub server_limit: IntGaugeVec,
    pub server_queued: IntGaugeVec,
    pub server_heavy: IntGaugeVec,
    pub server_sessions: IntGaugeVec,
    pub lag_transactions: IntGaugeVec,
    pub lag_seconds: GaugeVec,
    pub class_reads: IntCounterVec,
    pub class_elsewhere: IntCounterVec,
    pub class_errors: IntCounterVec,
    pub spare_reads: IntCounter,
    pub spare_share: Gauge,
    pub password_read: Gauge,
    /// Without labels, as each of the next ones: what is not known has no value, while a plain gauge would say 0.
    pub password_changed: GaugeVec,
    pub certificate_expires: GaugeVec,
    pub verified: GaugeVec,
    pub verify_status: GaugeVec,
    pub data: GaugeVec,
    pub data_size: GaugeVec,
    pub server_memory: GaugeVec,
    pub server_memory_limit: GaugeVec,
    pub bootstrap_failures: GaugeVec,
    pub estimate_error: Histogram,
    pub table_reads: IntCounter,
    pub table_waits: IntCounterVec,
    pub table_stream_up: IntGauge,
    pub table_transactions: IntCounterVec,
    pub table_stream_seconds: Histogram,
    statement_seconds: HistogramVec,
    /// What statements took that the gate answered by itself.
    pub own_statement_times: StatementTimes,
}

const WAIT_BUCKETS: &[f64] = &[
    0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1.0, 2.0,
];

const ERROR_BUCKETS: &[f64] = &[
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 2.0, 4.0, 8.0,
];

/// Most commits are told of within a millisecond or two.
const STREAM_BUCKETS: &[f64] = &[
    0.0001, 0.0002, 0.0003, 0.0004, 0.0005, 0.0006, 0.0008, 0.001, 0.0012, 0.0015, 0.002, 0.0025,
    0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0,
    5.0,
];

/// Of statements, from 50 µs on, each twice the one before: also where other tables of their times begin anew.
pub const STATEMENT_BUCKETS: [f64; 20] = doubled(0.000_05);

const fn doubled(first: f64) -> [f64; 20] {
    let (mut bounds, mut at) = ([first; 20], 1);
    while at < bounds.len() {
        bounds[at] = bounds[at - 1] * 2.0;
        at += 1;
    }
    bounds
}

/// Registers as it makes; a clash of names is a mistake of this file, shown by its test.
struct Maker {
    registry: Registry,
}

impl Maker {
    fn counter(&self, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
        let metric = IntCounter::new(name, help)?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn counters(
        &self,
        name: &str,
        help: &str,
        label: &str,
    ) -> Result<IntCounterVec, prometheus::Error> {
        let metric = IntCounterVec::new(Opts::new(name, help), &[label])?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
        let metric = IntGauge::new(name, help)?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn gauges(&self, name: &str, help: &str) -> Result<IntGaugeVec, prometheus::Error> {
        let metric = IntGaugeVec::new(Opts::new(name, help), &["server"])?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn reals(&self, name: &str, help: &str) -> Result<GaugeVec, prometheus::Error> {
        let metric = GaugeVec::new(Opts::new(name, help), &["server"])?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn known(&self, name: &str, help: &str) -> Result<GaugeVec, prometheus::Error> {
        let metric = GaugeVec::new(Opts::new(name, help), &[])?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn real(&self, name: &str, help: &str) -> Result<Gauge, prometheus::Error> {
        let metric = Gauge::new(name, help)?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn times(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
    ) -> Result<HistogramVec, prometheus::Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        let metric = HistogramVec::new(options, &["server", "level"])?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn buckets(
        &self,
        name: &str,
        help: &str,
        buckets: &[f64],
    ) -> Result<Histogram, prometheus::Error> {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        let metric = Histogram::with_opts(options)?;
        self.registry.register(Box::new(metric.clone()))?;
        Ok(metric)
    }
}

/// The histograms of one server: one for each consistency level and one for what is no read, each from its first statement on.
#[derive(Default)]
pub struct StatementTimes([OnceLock<Histogram>; Level::NAMES.len() + 1]);

impl StatementTimes {
    pub fn observe(&self, metrics: &Metrics, server: &str, level: Option<Level>, took: Duration) {
        let at = level.map_or(Level::NAMES.len(), Level::index);
        let name = level.map_or("none", |level| Level::NAMES[level.index()]);
        let labels = [server, name];
        let histogram =
            self.0[at].get_or_init(|| metrics.statement_seconds.with_label_values(&labels));
        histogram.observe(took.as_secs_f64());
    }

    /// Upper bounds, and how many statements were below each.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = STATEMENT_BUCKETS.into_iter().chain([f64::INFINITY]);
        let mut all: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
        for histogram in self.0.iter().filter_map(OnceLock::get) {
            let families = histogram.collect();
            let known = families[0].get_metric()[0].get_histogram();
            let below = known.get_bucket().iter().map(|b| b.cumulative_count());
            let below = below.chain([known.get_sample_count()]);
            all.iter_mut()
                .zip(below)
                .for_each(|(all, below)| all.1 += below);
        }
        all
    }
}

/// The counters of one metric by the value of its label.
pub fn by_label(counters: &IntCounterVec) -> BTreeMap<String, u64> {
    let families = counters.collect();
    let metrics = families.iter().flat_map(|family| family.get_metric());
    let each = metrics.filter_map(|metric| {
        let label = metric.get_label().first()?.value().to_owned();
        Some((label, metric.get_counter().get_value() as u64))
    });
    each.collect()
}

fn by_level(counters: &IntCounterVec) -> [IntCounter; Level::NAMES.len()] {
    Level::NAMES.map(|name| counters.with_label_values(&[name]))
}

impl Metrics {
    pub fn new() -> Result<Self, prometheus::Error> {
        let m = Maker {
            registry: Registry::new(),
        };
        m.registry
            .register(Box::new(ProcessCollector::for_self()))?;
        Ok(Self {
            reads: m.counters("gtid_gate_reads_total", "Reads answered, text and prepared, by the server that answered", "server")?,
            master_statements: m.counter("gtid_gate_master_statements_total", "Statements run on the master because they are not reads for satellites")?,
            levels: by_level(&m.counters("gtid_gate_reads_by_level_total", "Reads and read-only transactions that asked for a server, by consistency level", "level")?),
            wait_errors: m.counter("gtid_gate_wait_errors_total", "Reads refused because no satellite was fresh enough in time and they chose an error over the master")?,
            waits: m.counter("gtid_gate_waits_total", "Reads that had to wait because no satellite was fresh enough")?,
            hopeless_waits: m.counter("gtid_gate_hopeless_waits_total", "Reads that did not wait because no satellite could have become fresh enough in time")?,
            wait_seconds: m.buckets("gtid_gate_wait_seconds", "How long those reads waited, in seconds", WAIT_BUCKETS)?,
            queue_seconds: m.buckets("gtid_gate_queue_seconds", "How long statements that did not run at once waited for their turn on their server, in seconds", WAIT_BUCKETS)?,
            overloads: m.counters("gtid_gate_overloads_total", "Statements and logins refused because a server had no turn (running) or no connection (connections) in time", "limit")?,
            handed_over: m.counter("gtid_gate_handed_over_total", "Connections to servers that passed from session to session for want of more")?,
            fallbacks: m.counter("gtid_gate_fallbacks_total", "Reads and read-only transactions run on the master because no satellite could")?,
            fallback_rejections: m.counter("gtid_gate_fallback_rejections_total", "Reads refused because too many were on the master already")?,
            moved_reads: m.counter("gtid_gate_moved_reads_total", "Reads moved to another server after theirs was lost")?,
            refused_as_write: m.counter("gtid_gate_refused_as_write_total", "Statements that a satellite refused, as writes or for lack of something, then run on the master")?,
            sessions: m.gauge("gtid_gate_sessions", "Client sessions")?,
            memory: m.gauge("gtid_gate_memory_bytes", "Commands in hand, long data and prepared statements of all clients, as far as GATE_MEMORY_BYTES bounds them, in bytes")?,
            logins: m.counters("gtid_gate_logins_total", "Logins by outcome", "outcome")?,
            errors: m.counters("gtid_gate_errors_total", "Errors made by the gate itself, by kind", "kind")?,
            master_questions: m.counter("gtid_gate_master_questions_total", "Questions to the master for its GTID sets")?,
            server_up: m.gauges("gtid_gate_server_up", "1 while the server answers and may be used")?,
            server_restarts: m.counters("gtid_gate_server_restarts_total", "How often the server came back as another mysqld; a satellite has cloned itself for each", "server")?,
            server_running: m.gauges("gtid_gate_server_running", "Statements running on the server through the gate")?,
            server_limit: m.gauges("gtid_gate_server_limit", "Statements that may run on the server at once through the gate: the number set, or the one found")?,
            server_queued: m.gauges("gtid_gate_server_queued", "Statements that wait for their turn on the server")?,
            server_heavy: m.gauges("gtid_gate_server_heavy", "Heavy queries that run on the server or wait for their turn there")?,
            server_sessions: m.gauges("gtid_gate_server_sessions", "Connections of clients' sessions to the server")?,
            lag_transactions: m.gauges("gtid_gate_lag_transactions", "Transactions of the master that the server did not have at the last look")?,
            lag_seconds: m.reals("gtid_gate_lag_seconds", "Age of the oldest master position that the server did not have at the last look, in seconds")?,
            class_reads: m.counters("gtid_gate_class_reads_total", "Reads answered, by their class of GATE_CLASSES; none: those without a class", "class")?,
            class_elsewhere: m.counters("gtid_gate_class_elsewhere_total", "Reads of a class that went as any other read because none of its satellites could take them", "class")?,
            class_errors: m.counters("gtid_gate_class_errors_total", "Reads of a class refused because none of its satellites could take them", "class")?,
            spare_reads: m.counter("gtid_gate_spare_reads_total", "Reads that the master answered from what it had to spare, because it did so sooner than satellites")?,
            password_read: m.real("gtid_gate_password_read_timestamp_seconds", "When the gate read its own password, in seconds since 1970: at its start or at a SIGHUP")?,
            password_changed: m.known("gtid_gate_password_changed_timestamp_seconds", "When the file of the gate's own password was written, in seconds since 1970")?,
            certificate_expires: m.known("gtid_gate_certificate_expires_timestamp_seconds", "When the certificate that the gate shows to clients expires, in seconds since 1970")?,
            verified: m.known("gtid_gate_last_verify_timestamp_seconds", "When make verify ran last, in seconds since 1970")?,
            verify_status: m.known("gtid_gate_last_verify_status", "What the last make verify ended with: 0, every check held; 1, something differs; 2 and more, it could not be proven")?,
            data: m.reals("gtid_gate_server_data_bytes", "Bytes used in the file system that holds the server's data: tmpfs, or the disk with all that is on it")?,
            data_size: m.reals("gtid_gate_server_data_limit_bytes", "Bytes that this file system can hold")?,
            server_memory: m.reals("gtid_gate_server_memory_bytes", "Memory of the server's container, without what the system may drop at once, in bytes")?,
            server_memory_limit: m.reals("gtid_gate_server_memory_limit_bytes", "Memory that the server's container may take, in bytes")?,
            bootstrap_failures: m.reals("gtid_gate_server_bootstrap_failures", "Attempts of a satellite to clone the master and serve that have failed, one after the other; not there while it serves")?,
            spare_share: m.real("gtid_gate_spare_share", "The part of one core that reads may take from what the master has to spare")?,
            estimate_error: m.buckets("gtid_gate_estimate_error", "Time that a read took from the choice of its server on against the time expected then: their difference divided by what it took; one in sixteen is looked at", ERROR_BUCKETS)?,
            table_reads: m.counter("gtid_gate_table_reads_total", "Reads that a satellite could answer because it has all writes of their tables, though not all that they would need otherwise")?,
            table_waits: m.counters("gtid_gate_table_waits_total", "Waits for the table stream, by whether it told in time", "outcome")?,
            table_stream_up: m.gauge("gtid_gate_table_stream_up", "1 while the table stream of capture is read")?,
            table_transactions: m.counters("gtid_gate_table_transactions_total", "Transactions that the table stream told of, by what it knows of them: tables, or all", "kind")?,
            table_stream_seconds: m.buckets("gtid_gate_table_stream_seconds", "Time from a commit on the master until the table stream told of its tables, in seconds", STREAM_BUCKETS)?,
            statement_seconds: m.times("gtid_gate_statement_seconds", "Time of a statement from the command, as read, to the last byte of its answer, in seconds, by the server that ran it (gate: none) and by the consistency level of reads (none: no read)", &STATEMENT_BUCKETS)?,
            own_statement_times: StatementTimes::default(),
            registry: m.registry,
        })
    }

    /// Each consistency level and its reads.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.levels.iter().map(IntCounter::get);
        Level::NAMES.into_iter().zip(counts)
    }

    pub fn level(&self, level: Level) -> &IntCounter {
        &self.levels[level.index()]
    }

    pub fn reads_of(&self, server: &str) -> IntCounter {
        self.reads.with_label_values(&[server])
    }

    /// A server that was removed is not shown any more.
    pub fn forget_server(&self, name: &str) {
        let gauges = [
            &self.server_up,
            &self.server_running,
            &self.server_limit,
            &self.server_queued,
            &self.server_heavy,
            &self.server_sessions,
            &self.lag_transactions,
        ];
        for gauge in gauges {
            let _ = gauge.remove_label_values(&[name]);
        }
        let reals = [
            &self.lag_seconds,
            &self.data,
            &self.data_size,
            &self.server_memory,
            &self.server_memory_limit,
            &self.bootstrap_failures,
        ];
        for gauge in reals {
            let _ = gauge.remove_label_values(&[name]);
        }
        let _ = self.server_restarts.remove_label_values(&[name]);
    }

    pub fn text(&self) -> Result<String, prometheus::Error> {
        let mut out = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_clash() {
        let metrics = Metrics::new().unwrap();
        metrics.reads_of("satellite-1").inc();
        let text = metrics.text().unwrap();
        assert!(
            text.contains("gtid_gate_reads_total{server=\"satellite-1\"} 1"),
            "{text}"
        );
    }
}
