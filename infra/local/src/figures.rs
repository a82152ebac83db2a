//! What the functions' metric lines add up to: in the cloud CloudWatch does this.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use expiry_runtime::metrics::Sink;
use serde::Serialize;
use serde_json::Value;

/// Most different figures kept; metrics and their dimensions are few.
const FIGURES: usize = 1_000;

/// One metric with one set of dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// How often it was written.
    pub lines: u64,
    /// The sum of its values.
    pub sum: u64,
    /// The highest value.
    pub most: u64,
}

/// The figures so far. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Figures(Arc<Mutex<BTreeMap<String, Figure>>>);

impl Figures {
    /// A sink for metric lines.
    #[must_use]
    pub fn sink(&self) -> Sink {
        let figures = self.clone();
        Arc::new(move |line| figures.add(line))
    }

    /// Every figure, named `Metric` or `Metric{dimension=value,…}`.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, Figure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The sum of `metric` over all its dimensions.
    #[must_use]
    pub fn sum(&self, metric: &str) -> u64 {
        let is_metric = |name: &str| name == metric || name.split_once('{').is_some_and(|(head, _)| head == metric);
        self.all().iter().filter(|(name, _)| is_metric(name)).map(|(_, figure)| figure.sum).sum()
    }

    fn add(&self, line: &str) {
        tracing::debug!(target: "metrics", line);
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return;
        };
        for (name, value) in read(&line) {
            let mut figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if figures.len() >= FIGURES && !figures.contains_key(&name) {
                return;
            }
            let figure = figures.entry(name).or_default();
            figure.lines += 1;
            figure.sum = figure.sum.saturating_add(value);
            figure.most = figure.most.max(value);
        }
    }
}

/// The metrics of one EMF line, each under its fullest set of dimensions.
fn read(line: &Value) -> Vec<(String, u64)> {
    let directives = line["_aws"]["CloudWatchMetrics"].as_array().map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    for directive in directives {
        let sets = directive["Dimensions"].as_array().map_or(&[][..], Vec::as_slice);
        let fullest = sets.iter().filter_map(Value::as_array).max_by_key(|set| set.len());
        let dimensions: Vec<String> = fullest
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(Value::as_str)
            .map(|name| format!("{name}={}", line[name].as_str().unwrap_or_default()))
            .collect();
        for metric in directive["Metrics"].as_array().map_or(&[][..], Vec::as_slice) {
            let Some((name, value)) = metric["Name"].as_str().and_then(|name| Some((name, line[name].as_u64()?)))
            else {
                continue;
            };
            let name =
                if dimensions.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", dimensions.join(",")) };
            found.push((name, value));
        }
    }
    found
}
