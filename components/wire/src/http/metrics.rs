//! Metrics for operators: the number of requests, their duration, and the reasons of rejections.
//!
//! # Invariant
//!
//! Labels come from closed lists of ours, never from a request. Requests cannot make the metrics
//! grow, and the metrics reveal nothing about sessions.

use std::{sync::atomic::Ordering, time::Duration};

use http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::EntryReads;

/// Media type of [`Metrics::render`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the histogram, in seconds: from a read in memory to a failing disk.
const SECONDS: [f64; 14] =
    [25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

/// Metrics of one [`Http`](super::Http).
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
    rejections: Family<RejectionLabels, Counter>,
    streams: Gauge,
    entry_reads: Counter,
    kept_entry_reads: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RejectionLabels {
    code: &'static str,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("shared_context");
        let requests = Family::default();
        registry.register("http_requests", "HTTP requests answered", requests.clone());
        let durations: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        registry.register_with_unit(
            "http_request_duration",
            "Time from a whole request to its whole response",
            Unit::Seconds,
            durations.clone(),
        );
        let rejections = Family::default();
        registry.register("rejections", "Requests rejected, by error code", rejections.clone());
        let streams = Gauge::default();
        registry.register("open_streams", "Live streams of changes now open", streams.clone());
        let (entry_reads, kept_entry_reads) = (Counter::default(), Counter::default());
        registry.register("entry_reads", "Requests that read entries", entry_reads.clone());
        registry.register(
            "kept_entry_reads",
            "Requests that read entries and were answered by a reply that was kept",
            kept_entry_reads.clone(),
        );
        Self { registry, requests, durations, rejections, streams, entry_reads, kept_entry_reads }
    }

    /// Counts one answered request, and its duration if known.
    pub(crate) fn record_request(
        &self,
        route: &'static str,
        method: &Method,
        status: StatusCode,
        micros: Option<u64>,
    ) {
        let labels = RequestLabels { route, method: name(method), status: status.as_u16() };
        self.requests.get_or_create(&labels).inc();
        if let Some(micros) = micros {
            let seconds = Duration::from_micros(micros).as_secs_f64();
            self.durations.get_or_create(&RouteLabels { route }).observe(seconds);
        }
    }

    /// Counts one rejection.
    pub(crate) fn record_rejection(&self, code: &'static str) {
        self.rejections.get_or_create(&RejectionLabels { code }).inc();
    }

    /// Returns the gauge of open live streams, for the code that opens them.
    pub(crate) fn streams(&self) -> Gauge {
        self.streams.clone()
    }

    /// Renders all metrics in the format of Prometheus, with the host's counts of reads.
    pub(crate) fn render(&self, reads: EntryReads) -> String {
        self.entry_reads.inner().store(reads.all, Ordering::Relaxed);
        self.kept_entry_reads.inner().store(reads.kept, Ordering::Relaxed);
        let mut text = String::new();
        // Writing to a string does not fail, and incomplete metrics are better than none.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_method_and_status() {
        let metrics = Metrics::new();
        let strange = Method::from_bytes(b"BREW").unwrap();
        metrics.record_request("/healthz", &Method::GET, StatusCode::OK, Some(40));
        metrics.record_request("/healthz", &Method::GET, StatusCode::OK, Some(60_000_000));
        metrics.record_request("unknown", &strange, StatusCode::NOT_FOUND, None);
        metrics.record_rejection("NOT_FOUND");
        metrics.streams().inc();
        let text = metrics.render(EntryReads { all: 5, kept: 3 });
        for line in [
            "shared_context_entry_reads_total 5",
            "shared_context_kept_entry_reads_total 3",
            r#"shared_context_http_requests_total{route="/healthz",method="GET",status="200"} 2"#,
            r#"shared_context_http_requests_total{route="unknown",method="other",status="404"} 1"#,
            r#"shared_context_http_request_duration_seconds_count{route="/healthz"} 2"#,
            r#"shared_context_http_request_duration_seconds_bucket{le="0.00005",route="/healthz"} 1"#,
            r#"shared_context_rejections_total{code="NOT_FOUND"} 1"#,
            "shared_context_open_streams 1",
            "# TYPE shared_context_http_requests counter",
            "# EOF",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
