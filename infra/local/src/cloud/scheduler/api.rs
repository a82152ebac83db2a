//! The operations of EventBridge Scheduler.

use std::collections::BTreeMap;

use expiry_core::time::Timestamp;
use serde_json::{Map, Value, json};

use super::{Expression, Key, Schedule, Schedules, expression_text};
use crate::cloud::chance::Chance;
use crate::cloud::names::Names;
use crate::cloud::wire::ApiError;

/// The group of a schedule that names none.
pub(crate) const DEFAULT_GROUP: &str = "default";
/// The longest name of a schedule or group.
const MAX_NAME: usize = 64;
/// How many schedules one list answer holds at most.
const MAX_RESULTS: usize = 100;

/// What a REST request asks for: its operation, the resource its path names, and its query.
#[derive(Debug, PartialEq)]
pub(crate) struct Route {
    pub(crate) operation: &'static str,
    pub(crate) name: String,
    query: BTreeMap<String, String>,
}

impl Route {
    /// Reads method, path and query; `None` when they are no operation of Scheduler.
    pub(crate) fn parse(method: &str, path: &str, query: &str) -> Option<Route> {
        let path = path.trim_matches('/');
        let (collection, name) = path.split_once('/').unwrap_or((path, ""));
        let operation = match (method, collection, name.is_empty()) {
            ("POST", "schedules", false) => "CreateSchedule",
            ("GET", "schedules", false) => "GetSchedule",
            ("PUT", "schedules", false) => "UpdateSchedule",
            ("DELETE", "schedules", false) => "DeleteSchedule",
            ("GET", "schedules", true) => "ListSchedules",
            ("POST", "schedule-groups", false) => "CreateScheduleGroup",
            _ => return None,
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key.to_owned(), percent_decoded(value))
        });
        Some(Route { operation, name: percent_decoded(name), query: query.collect() })
    }

    fn query(&self, key: &str) -> Option<&str> {
        self.query.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let (byte, used) = match (first, hex) {
            (b'%', Some(byte)) => (byte, 2),
            (byte, _) => (*byte, 0),
        };
        bytes.push(byte);
        rest = &tail[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything an operation works on.
pub(crate) struct Context<'a> {
    pub(crate) schedules: &'a mut Schedules,
    pub(crate) chance: &'a mut Chance,
    pub(crate) names: &'a Names,
    pub(crate) now: Timestamp,
}

/// Carries out one operation.
pub(crate) fn execute(cx: &mut Context<'_>, route: &Route, body: &Value) -> Result<Value, ApiError> {
    match route.operation {
        "CreateSchedule" => create(cx, route, body),
        "UpdateSchedule" => update(cx, route, body),
        "GetSchedule" => get(cx, route),
        "DeleteSchedule" => delete(cx, route),
        "ListSchedules" => list(cx, route),
        "CreateScheduleGroup" => create_group(cx, route),
        other => Err(invalid(format!("{other} is not part of the embedded Scheduler"))),
    }
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(400, "ValidationException", message)
}

fn not_found(kind: &str, name: &str) -> ApiError {
    ApiError::new(404, "ResourceNotFoundException", format!("{kind} {name} does not exist."))
}

fn conflict(kind: &str, name: &str) -> ApiError {
    ApiError::new(409, "ConflictException", format!("{kind} {name} already exists."))
}

fn text<'a>(body: &'a Value, name: &str) -> Option<&'a str> {
    body.get(name).and_then(Value::as_str)
}

/// Group and name of the schedule a writing request names, once the group is known to exist.
fn key_of(cx: &Context<'_>, route: &Route, group: Option<&str>) -> Result<Key, ApiError> {
    check_name(&route.name)?;
    let group = group.unwrap_or(DEFAULT_GROUP);
    match cx.schedules.has_group(group) {
        true => Ok((group.to_owned(), route.name.clone())),
        false => Err(not_found("Schedule group", group)),
    }
}

fn check_name(name: &str) -> Result<(), ApiError> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(legal) {
        true => Ok(()),
        false => Err(invalid(format!("Name {name:?} must be 1 to {MAX_NAME} of [0-9a-zA-Z-_.]"))),
    }
}

/// Reads a schedule from the body of a create or update.
fn schedule_of(body: &Value, now: Timestamp) -> Result<Schedule, ApiError> {
    let expression = Expression::parse(expression_text(body))
        .ok_or_else(|| invalid(format!("Invalid Schedule Expression {}.", expression_text(body))))?;
    if text(body, "ScheduleExpressionTimezone").is_some_and(|zone| zone != "UTC") {
        return Err(invalid("The embedded Scheduler knows UTC only."));
    }
    if body.get("FlexibleTimeWindow").and_then(|window| text(window, "Mode")) != Some("OFF") {
        return Err(invalid("The embedded Scheduler needs FlexibleTimeWindow OFF."));
    }
    let target = body.get("Target").ok_or_else(|| invalid("Target is missing."))?;
    let (Some(arn), Some(_role)) = (text(target, "Arn"), text(target, "RoleArn")) else {
        return Err(invalid("Target needs Arn and RoleArn."));
    };
    Ok(Schedule {
        expression,
        enabled: text(body, "State") != Some("DISABLED"),
        deletes_itself: text(body, "ActionAfterCompletion") == Some("DELETE"),
        target: arn.to_owned(),
        input: text(target, "Input").unwrap_or("{}").to_owned(),
        request: body.clone(),
        created_at: now,
        modified_at: now,
        fires_at: None,
    })
}

fn create(cx: &mut Context<'_>, route: &Route, body: &Value) -> Result<Value, ApiError> {
    let key = key_of(cx, route, text(body, "GroupName"))?;
    let arn = json!({"ScheduleArn": cx.names.schedule_arn(&key.0, &key.1)});
    let schedule = schedule_of(body, cx.now)?;
    match cx.schedules.by_key.get(&key) {
        // The same request sent again (its client token is in the body) is the same creation.
        Some(existing) if existing.request == *body && body.get("ClientToken").is_some() => Ok(arn),
        Some(_) => Err(conflict("Schedule", &key.1)),
        None => {
            cx.schedules.set(cx.chance, key, schedule, cx.now);
            Ok(arn)
        }
    }
}

fn update(cx: &mut Context<'_>, route: &Route, body: &Value) -> Result<Value, ApiError> {
    let key = key_of(cx, route, text(body, "GroupName"))?;
    let arn = json!({"ScheduleArn": cx.names.schedule_arn(&key.0, &key.1)});
    let schedule = schedule_of(body, cx.now)?;
    let created_at = cx.schedules.by_key.get(&key).ok_or_else(|| not_found("Schedule", &key.1))?.created_at;
    cx.schedules.set(cx.chance, key, Schedule { created_at, ..schedule }, cx.now);
    Ok(arn)
}

fn get(cx: &Context<'_>, route: &Route) -> Result<Value, ApiError> {
    let key = key_of(cx, route, route.query("groupName"))?;
    let schedule = cx.schedules.by_key.get(&key).ok_or_else(|| not_found("Schedule", &key.1))?;
    let mut shown = summary(cx.names, &key, schedule);
    if let Value::Object(request) = &schedule.request {
        shown.extend(request.clone().into_iter().filter(|(name, _)| name != "ClientToken"));
    }
    Ok(Value::Object(shown))
}

fn summary(names: &Names, (group, name): &Key, schedule: &Schedule) -> Map<String, Value> {
    let state = if schedule.enabled { "ENABLED" } else { "DISABLED" };
    Map::from_iter([
        ("Arn".to_owned(), json!(names.schedule_arn(group, name))),
        ("Name".to_owned(), json!(name)),
        ("GroupName".to_owned(), json!(group)),
        ("State".to_owned(), json!(state)),
        ("CreationDate".to_owned(), json!(schedule.created_at.as_seconds())),
        ("LastModificationDate".to_owned(), json!(schedule.modified_at.as_seconds())),
        ("Target".to_owned(), json!({"Arn": schedule.target})),
    ])
}

fn delete(cx: &mut Context<'_>, route: &Route) -> Result<Value, ApiError> {
    let key = key_of(cx, route, route.query("groupName"))?;
    cx.schedules.remove(&key).map(|_| json!({})).ok_or_else(|| not_found("Schedule", &key.1))
}

/// One page: `NextToken` is `group/name` of its last schedule.
fn list(cx: &Context<'_>, route: &Route) -> Result<Value, ApiError> {
    let most = match route.query("MaxResults").map(str::parse) {
        None => MAX_RESULTS,
        Some(Ok(most)) if (1..=MAX_RESULTS).contains(&most) => most,
        Some(_) => return Err(invalid(format!("MaxResults must be 1 to {MAX_RESULTS}."))),
    };
    let after = route.query("NextToken").and_then(|token| token.split_once('/'));
    let wanted = |(group, name): &Key, schedule: &Schedule| {
        after.is_none_or(|after| (group.as_str(), name.as_str()) > after)
            && route.query("ScheduleGroup").is_none_or(|asked| asked == group)
            && route.query("NamePrefix").is_none_or(|prefix| name.starts_with(prefix))
            && route.query("State").is_none_or(|state| (state == "ENABLED") == schedule.enabled)
    };
    let mut found = cx.schedules.by_key.iter().filter(|(key, schedule)| wanted(key, schedule)).peekable();
    let page: Vec<_> = found.by_ref().take(most).collect();
    let next = page.last().filter(|_| found.peek().is_some()).map(|((group, name), _)| format!("{group}/{name}"));
    let page: Vec<_> = page.into_iter().map(|(key, schedule)| summary(cx.names, key, schedule)).collect();
    Ok(json!({"Schedules": page, "NextToken": next}))
}

fn create_group(cx: &mut Context<'_>, route: &Route) -> Result<Value, ApiError> {
    check_name(&route.name)?;
    if route.name == DEFAULT_GROUP || !cx.schedules.groups.insert(route.name.clone()) {
        return Err(conflict("Schedule group", &route.name));
    }
    Ok(json!({"ScheduleGroupArn": cx.names.schedule_group_arn(&route.name)}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_from_method_path_and_query() {
        let route =
            Route::parse("DELETE", "/schedules/order-1", "groupName=orders&clientToken=x%2Fy").expect("a route");
        assert_eq!((route.operation, route.name.as_str()), ("DeleteSchedule", "order-1"));
        assert_eq!((route.query("groupName"), route.query("clientToken")), (Some("orders"), Some("x/y")));
        assert_eq!(Route::parse("GET", "/schedules", "").map(|route| route.operation), Some("ListSchedules"));
        assert_eq!(Route::parse("PATCH", "/schedules/order-1", ""), None);
        assert_eq!(percent_decoded("100%"), "100%");
    }
}
