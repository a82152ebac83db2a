//! A small EventBridge Scheduler: one-time and rate schedules that send to an embedded queue, or leave an [`Invocation`] for the
//! drivers when their target is anything else.
//!
//! A one-time schedule fires at a moment of chance within the minute after its time; a rate schedule exactly one interval after it
//! was created or last fired, so it fires once however far the clock jumps.

mod api;
mod expression;

use std::collections::{BTreeMap, BTreeSet};

use expiry_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

pub(crate) use api::{Context, Route, execute};
pub(crate) use expression::Expression;

use super::chance::Chance;

/// Group and name.
type Key = (String, String);

/// A schedule as `GET /_local/schedules` shows it. Times are RFC 3339.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScheduleView {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its expression, such as `at(2026-03-01T10:00:05)`.
    pub expression: String,
    /// The moment it will fire; absent when it is disabled or has fired.
    pub fires_at: Option<String>,
    /// The ARN of what it invokes.
    pub target: String,
    /// What it sends.
    pub input: String,
}

/// A fired schedule whose target is no queue: for a driver to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The schedule's name.
    pub schedule: String,
    /// The schedule's group.
    pub group: String,
    /// The ARN it invokes.
    pub target: String,
    /// What it sends.
    pub input: String,
    /// When it fired.
    pub fired_at: Timestamp,
}

/// One schedule.
#[derive(Debug)]
struct Schedule {
    expression: Expression,
    enabled: bool,
    deletes_itself: bool,
    target: String,
    input: String,
    /// The request that set it, which `GetSchedule` shows again.
    request: Value,
    created_at: Timestamp,
    modified_at: Timestamp,
    fires_at: Option<Timestamp>,
}

/// Every schedule.
#[derive(Debug, Default)]
pub(crate) struct Schedules {
    by_key: BTreeMap<Key, Schedule>,
    /// The same by the moment of firing.
    due: BTreeSet<(Timestamp, Key)>,
    /// The groups that were created; `default` always exists.
    groups: BTreeSet<String>,
}

impl Schedules {
    /// Fires what is due at `now`, in order of firing. A fired one-time schedule that deletes itself is gone.
    pub(crate) fn fire(&mut self, now: Timestamp) -> Vec<Invocation> {
        let mut fired = Vec::new();
        while let Some((at, key)) = self.due.first().filter(|(at, _)| *at <= now).cloned() {
            self.due.pop_first();
            let Some(schedule) = self.by_key.get_mut(&key) else {
                continue;
            };
            let (group, name) = key.clone();
            fired.push(Invocation {
                schedule: name,
                group,
                target: schedule.target.clone(),
                input: schedule.input.clone(),
                fired_at: at,
            });
            schedule.fires_at = None;
            match schedule.expression {
                Expression::Rate(every) => {
                    schedule.fires_at = Some(now.plus(every));
                    self.due.insert((now.plus(every), key));
                }
                Expression::At(_) if schedule.deletes_itself => {
                    self.by_key.remove(&key);
                }
                Expression::At(_) => {}
            }
        }
        fired
    }

    /// When the next schedule fires.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Every schedule, by group and name.
    pub(crate) fn views(&self) -> Vec<ScheduleView> {
        self.by_key
            .iter()
            .map(|((group, name), schedule)| ScheduleView {
                name: name.clone(),
                group: group.clone(),
                expression: expression_text(&schedule.request).to_owned(),
                fires_at: schedule.fires_at.map(|at| at.to_string()),
                target: schedule.target.clone(),
                input: schedule.input.clone(),
            })
            .collect()
    }

    /// Sets a schedule, in place of the one of the same name. One whose time has passed already fires as if due now.
    fn set(&mut self, chance: &mut Chance, key: Key, mut schedule: Schedule, now: Timestamp) {
        self.remove(&key);
        schedule.fires_at = schedule.enabled.then(|| match schedule.expression {
            Expression::At(at) => chance.schedule_fires(&key.1, at.max(now)),
            Expression::Rate(every) => now.plus(every),
        });
        if let Some(at) = schedule.fires_at {
            self.due.insert((at, key.clone()));
        }
        self.by_key.insert(key, schedule);
    }

    fn remove(&mut self, key: &Key) -> Option<Schedule> {
        let removed = self.by_key.remove(key)?;
        if let Some(at) = removed.fires_at {
            self.due.remove(&(at, key.clone()));
        }
        Some(removed)
    }

    fn has_group(&self, group: &str) -> bool {
        group == api::DEFAULT_GROUP || self.groups.contains(group)
    }
}

fn expression_text(request: &Value) -> &str {
    request.get("ScheduleExpression").and_then(Value::as_str).unwrap_or_default()
}
