//! Metrics in CloudWatch's embedded metric format: one JSON object per line on stdout, not through the logger, so that no filter
//! ever drops one. Every value is a whole number.

mod names;

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use expiry_core::time::Clock;
use serde_json::{Map, Value, json};

pub use self::names::{Dimension, Metric, Unit};

/// The namespace of every metric without `METRICS_NAMESPACE`.
pub const NAMESPACE: &str = "OrderExpiry";

/// Where finished lines go, without their line end.
pub type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// Writes metrics of one process. Clones write to the same place.
///
/// Each is stored under no dimension and, when dimensions are given, once more under all of them: an alarm needs no list of values.
#[derive(Clone)]
pub struct Metrics {
    clock: Arc<dyn Clock>,
    sink: Sink,
    namespace: Arc<str>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Metrics").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics stamped by `clock` and written to `sink`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, sink: Sink) -> Metrics {
        Metrics { clock, sink, namespace: NAMESPACE.into() }
    }

    /// Metrics of `namespace` on stdout, where CloudWatch finds them.
    #[must_use]
    pub fn on_stdout(clock: Arc<dyn Clock>, namespace: &str) -> Metrics {
        let sink: Sink = Arc::new(|line| {
            // A closed stdout must not fail the order whose metric this is.
            let _ = writeln!(std::io::stdout().lock(), "{line}");
        });
        Metrics { namespace: namespace.into(), ..Metrics::new(clock, sink) }
    }

    /// Adds `times` to a metric of [`Unit::Count`].
    pub fn count(&self, metric: Metric, times: u64, dimensions: &[(Dimension, &str)]) {
        self.write(metric, Unit::Count, times, dimensions);
    }

    /// One measured time of a metric of [`Unit::Milliseconds`].
    pub fn milliseconds(&self, metric: Metric, span: Duration, dimensions: &[(Dimension, &str)]) {
        self.write(metric, Unit::Milliseconds, u64::try_from(span.as_millis()).unwrap_or(u64::MAX), dimensions);
    }

    /// The present value of a metric, in its own unit.
    pub fn gauge(&self, metric: Metric, value: u64, dimensions: &[(Dimension, &str)]) {
        self.write(metric, metric.unit(), value, dimensions);
    }

    fn write(&self, metric: Metric, unit: Unit, value: u64, dimensions: &[(Dimension, &str)]) {
        debug_assert_eq!(metric.unit(), unit, "{metric:?} is measured in its own unit");
        let told_apart_by = dimensions.iter().map(|(dimension, _)| dimension);
        debug_assert!(
            told_apart_by.eq(metric.dimensions()),
            "{metric:?} is written under its own dimensions: {dimensions:?}"
        );
        let mut sets = vec![json!([])];
        if !dimensions.is_empty() {
            sets.push(dimensions.iter().map(|(dimension, _)| Value::from(dimension.as_str())).collect());
        }
        let mut line = Map::new();
        line.insert(
            "_aws".to_owned(),
            json!({
                "Timestamp": self.clock.now().as_millis(),
                "CloudWatchMetrics": [{
                    "Namespace": *self.namespace,
                    "Dimensions": sets,
                    "Metrics": [{"Name": metric.as_str(), "Unit": metric.unit().as_str()}],
                }],
            }),
        );
        line.insert(metric.as_str().to_owned(), value.into());
        for (dimension, value) in dimensions {
            // CloudWatch drops a metric with an empty dimension.
            let value = if value.is_empty() { "none" } else { value };
            line.insert(dimension.as_str().to_owned(), value.into());
        }
        (self.sink)(&Value::Object(line).to_string());
    }
}

/// A sink that keeps its lines, for tests. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct KeptLines(Arc<Mutex<Vec<String>>>);

impl KeptLines {
    /// What [`Metrics::new`] is given.
    #[must_use]
    pub fn sink(&self) -> Sink {
        let lines = self.clone();
        Arc::new(move |line| lines.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned()))
    }

    /// Every line so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every value of `metric` so far, in the order written, whatever its dimensions.
    #[must_use]
    pub fn values(&self, metric: Metric) -> Vec<u64> {
        let value = |line: &String| serde_json::from_str::<Value>(line).ok()?.get(metric.as_str())?.as_u64();
        self.lines().iter().filter_map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{SetClock, at_millis};

    fn metrics() -> (Metrics, KeptLines) {
        let lines = KeptLines::default();
        (Metrics::new(Arc::new(SetClock::at(at_millis(1_767_225_600_000))), lines.sink()), lines)
    }

    #[test]
    fn a_metric_is_one_line_of_the_embedded_metric_format() {
        let (metrics, lines) = metrics();
        metrics.count(Metric::CallbackRefused, 2, &[(Dimension::Channel, "sim"), (Dimension::Reason, "signature")]);
        let line: Value = serde_json::from_str(&lines.lines()[0]).expect("JSON");
        let expected = json!({
            "_aws": {
                "Timestamp": 1_767_225_600_000_i64,
                "CloudWatchMetrics": [{
                    "Namespace": "OrderExpiry",
                    "Dimensions": [[], ["channel", "reason"]],
                    "Metrics": [{"Name": "CallbackRefused", "Unit": "Count"}],
                }],
            },
            "CallbackRefused": 2, "channel": "sim", "reason": "signature",
        });
        assert_eq!(line, expected);
        assert!(!lines.lines()[0].contains('\n'));
    }

    #[test]
    fn times_are_whole_milliseconds_and_an_empty_dimension_is_named() {
        let (metrics, lines) = metrics();
        metrics.milliseconds(Metric::ExpireToClosed, Duration::from_micros(1_500_999), &[]);
        metrics.gauge(Metric::ScanLastSuccess, 1_767_225_600, &[]);
        metrics.count(Metric::ChannelTimeout, 1, &[(Dimension::Channel, "")]);
        assert_eq!(lines.values(Metric::ExpireToClosed), [1_500]);
        assert_eq!(lines.values(Metric::ScanLastSuccess), [1_767_225_600]);
        assert!(lines.lines()[2].contains(r#""channel":"none""#));
    }

    #[test]
    fn no_two_metrics_share_a_name() {
        let mut names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Metric::ALL.len());
    }
}
