//! Alarms and dashboard (DESIGN §10), held against what the code measures and what the template deploys.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use expiry_core::closing::CloseTrigger;
use expiry_core::limits;
use expiry_core::message::Queue;
use expiry_core::reservation::ResourceKind;
use expiry_runtime::metrics::{Metric, NAMESPACE};
use serde_json::{Value, json};

use crate::document::Template;
use crate::runbook;
use crate::source::set;

/// A metric as CloudWatch keeps it. A search finds every value of its dimensions, so there they have none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Measured {
    namespace: String,
    name: String,
    dimensions: BTreeMap<String, Option<String>>,
}

impl Measured {
    fn of(namespace: &str, name: &str, dimensions: &[(&str, &str)]) -> Measured {
        let dimensions = dimensions.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
        Measured { namespace: namespace.to_owned(), name: name.to_owned(), dimensions: dimensions.collect() }
    }

    /// Whether this system writes it, and no other stack.
    fn is_own(&self) -> bool {
        self.namespace == format!("{NAMESPACE}/shop")
    }

    fn told_apart_by(&self) -> BTreeSet<String> {
        set(self.dimensions.keys().cloned())
    }
}

/// An alarm as it is deployed.
#[derive(Debug)]
pub(crate) struct Alarm {
    metric: Measured,
    statistic: String,
    period: u64,
    periods: u64,
    threshold: u64,
    missing: String,
}

/// Every alarm by the name it has behind the stack's.
pub(crate) fn alarms(template: &Template) -> BTreeMap<String, Alarm> {
    let mut alarms = BTreeMap::new();
    for stack in ["OrderAlarms", "ServiceAlarms"] {
        let stack = template.nested(stack);
        for (id, alarm) in stack.resources("AWS::CloudWatch::Alarm") {
            let text = |name: &str| stack.text(&alarm[name]).unwrap_or_else(|| panic!("{id} has no {name}"));
            let number = |name: &str| text(name).parse().unwrap_or_else(|_| panic!("{name} of {id}"));
            let dimensions = alarm["Dimensions"].as_array().into_iter().flatten().map(|dimension| {
                let value = stack.text(&dimension["Value"]).expect("a value");
                (dimension["Name"].as_str().expect("a name").to_owned(), Some(value))
            });
            let metric =
                Measured { namespace: text("Namespace"), name: text("MetricName"), dimensions: dimensions.collect() };
            let statistic = if alarm["Statistic"].is_null() { "ExtendedStatistic" } else { "Statistic" };
            let read = Alarm {
                metric,
                statistic: text(statistic),
                period: number("Period"),
                periods: number("EvaluationPeriods"),
                threshold: number("Threshold"),
                missing: text("TreatMissingData"),
            };
            let called = text("AlarmName").strip_prefix("shop-").expect("the stack's name in front").to_owned();
            let told = json!({"Fn::If": ["Tells", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]});
            assert_eq!(alarm["AlarmActions"], told, "{called}");
            assert!(!text("AlarmDescription").is_empty(), "{called} says what its threshold follows from");
            assert!(alarms.insert(called.clone(), read).is_none(), "{called} is there twice");
        }
    }
    alarms
}

/// The widgets of the dashboard by their titles, each with what it shows.
pub(crate) fn widgets(template: &Template) -> BTreeMap<String, Vec<Measured>> {
    let stack = template.nested("Dashboard");
    let dashboards = stack.resources("AWS::CloudWatch::Dashboard");
    let body = stack.text(&dashboards["Dashboard"]["DashboardBody"]).expect("a body");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    let mut widgets = BTreeMap::new();
    for widget in body["widgets"].as_array().expect("widgets") {
        let properties = &widget["properties"];
        let Some(title) = properties["title"].as_str() else { continue };
        let metrics = properties["metrics"].as_array().into_iter().flatten().map(shown).collect();
        assert!(widgets.insert(title.to_owned(), metrics).is_none(), "{title} is there twice");
    }
    widgets
}

/// A row of a widget: a namespace, a name, dimensions with their values, options; or a search.
fn shown(row: &Value) -> Measured {
    if let Some(search) = row[0]["expression"].as_str() {
        let (schema, rest) = search.strip_prefix("SEARCH('{").and_then(|rest| rest.split_once("} ")).expect("a search");
        let mut schema = schema.split(',');
        let namespace = schema.next().expect("a namespace").trim_matches('"').to_owned();
        let name = rest.strip_prefix("MetricName=\"").and_then(|rest| rest.split_once('"')).expect("a metric").0;
        let dimensions = schema.map(|dimension| (dimension.to_owned(), None)).collect();
        return Measured { namespace, name: name.to_owned(), dimensions };
    }
    let texts: Vec<&str> = row.as_array().expect("a row").iter().filter_map(Value::as_str).collect();
    let dimensions: Vec<(&str, &str)> = texts[2..].chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!(texts.len() % 2, 0, "{row}: a dimension has a value");
    Measured::of(texts[0], texts[1], &dimensions)
}

fn own(name: &str) -> Metric {
    let named = Metric::ALL.into_iter().find(|metric| metric.as_str() == name);
    named.unwrap_or_else(|| panic!("nothing measures {name}"))
}

fn dimensions(metric: Metric) -> BTreeSet<String> {
    set(metric.dimensions().iter().map(|dimension| dimension.as_str()))
}

#[test]
fn functions_write_where_the_alarms_look() {
    for (name, function) in Template::with(&[]).functions() {
        assert_eq!(function.variables()["METRICS_NAMESPACE"], format!("{NAMESPACE}/shop"), "{name}");
    }
}

#[test]
fn every_metric_has_an_alarm_or_a_reason_to_have_none_and_is_on_the_dashboard() {
    let template = Template::with(&[]);
    let alarms = alarms(&template);
    let own_alarms = || alarms.iter().filter(|(_, alarm)| alarm.metric.is_own());
    let alarmed = set(own_alarms().map(|(_, alarm)| alarm.metric.name.clone()));
    let excused = runbook::figures_without_alarm();
    assert_eq!(alarmed.intersection(&excused).count(), 0, "an alarm, or a reason to have none: {excused:?}");
    let told: BTreeSet<String> = alarmed.union(&excused).cloned().collect();
    assert_eq!(told, set(Metric::ALL.map(Metric::as_str)));

    let widgets = widgets(&template);
    let shown = || widgets.values().flatten().filter(|metric| metric.is_own());
    for metric in Metric::ALL {
        let on_it = shown().any(|shown| shown.name == metric.as_str() && shown.told_apart_by() == dimensions(metric));
        assert!(on_it, "{metric:?} is on the dashboard, told apart by {:?}", dimensions(metric));
    }
    // What is written is the sum without dimensions, and each value under all of them; nothing between.
    let watched = own_alarms().map(|(_, alarm)| &alarm.metric);
    for metric in shown().chain(watched) {
        let told_apart_by = metric.told_apart_by();
        assert!(told_apart_by.is_empty() || told_apart_by == dimensions(own(&metric.name)), "{metric:?}");
    }
    let mut resources = set(ResourceKind::ALL.map(ResourceKind::name));
    resources.extend(set(["cap", "ask"]));
    for (name, alarm) in own_alarms() {
        for (dimension, value) in &alarm.metric.dimensions {
            let value = value.as_deref().expect("an alarm looks at one value");
            let is_written = match dimension.as_str() {
                "resource" => resources.contains(value),
                "trigger" => CloseTrigger::ALL.into_iter().any(|trigger| trigger.name() == value),
                other => panic!("{name}: which values has {other}?"),
            };
            assert!(is_written, "{name}: nothing is written with {dimension} {value}");
        }
    }
    let aged = own_alarms().filter(|(_, alarm)| alarm.metric.name == "OldestPendingAge");
    let aged = aged.filter_map(|(_, alarm)| alarm.metric.dimensions["resource"].clone());
    assert_eq!(set(aged), resources, "all that waits without an alarm of its own");
}

#[test]
fn every_queue_function_table_and_schedule_has_its_alarms_and_no_other_is_watched() {
    let template = Template::with(&[]);
    let mut expected = BTreeSet::new();
    let mut need = |namespace, name, dimensions: &[(&str, &str)]| {
        let _ = expected.insert(Measured::of(namespace, name, dimensions));
    };
    let queues: Vec<String> = template.resources("AWS::SQS::Queue").keys().map(|id| template.queue_name(id)).collect();
    for queue in &queues {
        let (age, depth) = ("ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible");
        need("AWS/SQS", if queue.ends_with("-dlq") { depth } else { age }, &[("QueueName", queue)]);
    }
    for (folder, function) in template.functions() {
        let name = format!("shop-{folder}");
        need("AWS/Lambda", "Errors", &[("FunctionName", &name)]);
        need("AWS/Lambda", "Throttles", &[("FunctionName", &name)]);
        if !function.events("DynamoDB").is_empty() {
            need("AWS/Lambda", "IteratorAge", &[("FunctionName", &name)]);
        }
    }
    for name in ["ReadThrottleEvents", "WriteThrottleEvents"] {
        for (table, properties) in template.resources("AWS::DynamoDB::Table") {
            need("AWS/DynamoDB", name, &[("TableName", table)]);
            for index in properties["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
                let index = index["IndexName"].as_str().expect("a name");
                need("AWS/DynamoDB", name, &[("TableName", table), ("GlobalSecondaryIndexName", index)]);
            }
        }
    }
    for operation in ["GetItem", "UpdateItem", "TransactWriteItems"] {
        need("AWS/DynamoDB", "SystemErrors", &[("TableName", "OrdersTable"), ("Operation", operation)]);
    }
    need("AWS/DynamoDB", "SystemErrors", &[("TableName", "ResourcesTable"), ("Operation", "TransactWriteItems")]);
    for group in template.resources("AWS::Scheduler::ScheduleGroup").keys() {
        for name in ["TargetErrorCount", "InvocationThrottleCount", "InvocationDroppedCount"] {
            need("AWS/Scheduler", name, &[("ScheduleGroup", group)]);
        }
    }
    for api in template.resources("AWS::ApiGatewayV2::Api").keys() {
        need("AWS/ApiGateway", "5xx", &[("ApiId", api)]);
    }
    let watched = alarms(&template).into_values().map(|alarm| alarm.metric);
    let watched: BTreeSet<Measured> = watched.filter(|metric| !metric.is_own()).collect();
    assert_eq!(watched, expected);

    let shown: BTreeSet<Measured> = widgets(&template).into_values().flatten().collect();
    for queue in &queues {
        for name in ["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"] {
            assert!(shown.contains(&Measured::of("AWS/SQS", name, &[("QueueName", queue)])), "{name} of {queue}");
        }
    }
    let by_call = |metric: &&Measured| metric.name != "SystemErrors";
    for metric in expected.iter().filter(by_call) {
        assert!(shown.contains(metric), "{metric:?} is on the dashboard");
    }
    assert!(shown.iter().any(|metric| metric.name == "SystemErrors"), "by a search for every call");
}

#[test]
fn what_is_missing_is_judged_by_what_its_absence_means() {
    for (name, alarm) in alarms(&Template::with(&[])) {
        let is_gauge =
            ["OldestOverdueAge", "ClosingOverLease", "OldestRefundAge"].contains(&alarm.metric.name.as_str());
        let expected = match alarm.metric.name.as_str() {
            // A scan that stopped writes nothing.
            "ScanLastSuccess" => "breaching",
            // Not measured is not good news. `OldestPendingAge` is written only while something waits, so there it is.
            _ if is_gauge => "ignore",
            _ => "notBreaching",
        };
        assert_eq!(alarm.missing, expected, "{name}");
    }
}

#[test]
fn thresholds_follow_from_the_numbers_of_the_design() {
    let template = Template::with(&[]);
    let lease = template.parameters["LeaseSeconds"].parse::<u64>().expect("seconds");
    let calls = template.document["Parameters"]["ChannelCallSeconds"]["MaxValue"].as_u64().expect("a bound");
    let rhythm = limits::RETRY_RHYTHM.iter().sum::<Duration>().as_secs();
    let functions = template.functions();
    for minutes in [1, 5, 15, 30, 60] {
        let template = Template::with(&[("ScanPeriodMinutes", &minutes.to_string())]);
        let grace = template.parameters["ScanGraceSeconds"].parse::<u64>().expect("seconds");
        let alarms = alarms(&template);
        let period = minutes * 60;
        for (name, alarm) in &alarms {
            let age_of_the_scan = name.starts_with("oldest-pending-") || name == "oldest-overdue";
            let by_the_scan = ["scan-stopped", "scan-lap", "found-by-scan", "closing-over-lease", "oldest-refund"];
            if age_of_the_scan || by_the_scan.contains(&name.as_str()) {
                assert_eq!(alarm.period, period, "{name}: as often as it is measured");
            }
            if age_of_the_scan {
                // Found by one scan, still there at the next; longer than asking a channel may rightly take.
                assert!(alarm.threshold > rhythm.max(2 * period + grace), "{name}: {}", alarm.threshold);
            }
            assert!(alarm.period * alarm.periods <= 86_400, "{name}: CloudWatch looks back a day at most");
        }
        let stopped = &alarms["scan-stopped"];
        assert_eq!((stopped.statistic.as_str(), stopped.threshold), ("SampleCount", 1));
        assert!(
            stopped.periods >= 2 && stopped.period * stopped.periods >= 300,
            "the way through the logs takes a while"
        );
        // Four shards at a time share the run (functions/fallback-scan); two thirds of a shard's part is late.
        let run = period.min(functions["fallback-scan"].seconds()) * 1_000;
        assert_eq!(alarms["scan-lap"].threshold, run / (u64::from(limits::DUE_SHARDS) / 4) * 2 / 3);
    }
    let alarms = alarms(&template);
    let visibility = 180;
    for queue in Queue::ALL {
        // `close` and `refund` carry delayed messages; on the others only a failed message rests.
        let rests = match queue {
            Queue::Close | Queue::Refund => limits::QUEUE_DELAY.as_secs() + visibility,
            Queue::StockRelease | Queue::CouponRelease | Queue::PointsRelease | Queue::QuotaRelease => 3 * visibility,
        };
        assert!(alarms[&format!("{queue}-age")].threshold > rests, "{queue}");
    }
    let slowest_look = limits::EXPIRY_SETTLE_TIME.as_secs() + 3 * calls;
    let late = alarms["expire-to-closed"].threshold;
    assert!(late == lease * 1_000 && late > slowest_look * 1_000);
    assert_eq!(alarms["stream-age"].threshold, limits::SCHEDULE_AHEAD.as_secs() * 1_000);
    // One undecided order: two queries at each look that falls into five minutes.
    let mut looks = vec![Duration::ZERO];
    for wait in limits::RETRY_RHYTHM {
        looks.push(looks[looks.len() - 1] + wait);
    }
    let one_order = 2 * looks.iter().filter(|look| look.as_secs() < 300).count() as u64;
    for name in ["channel-timeouts", "channel-unknown"] {
        assert!(alarms[name].threshold >= one_order && alarms[name].periods >= 2, "{name}");
    }
    for name in ["invariant-breach", "amount-mismatch", "foreign-refund", "second-transaction", "transaction-taken"] {
        assert_eq!((alarms[name].threshold, alarms[name].period), (1, 60), "{name}: one is too many");
    }
}
