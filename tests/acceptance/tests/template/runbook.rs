//! `docs/RUNBOOK.md`, held against the alarms, the dashboard, the contract and the code: it names nothing that is not there.

use std::collections::BTreeSet;

use expiry_core::ids::AttemptNo;
use expiry_core::signal::Signal;

use crate::document::{Template, yaml};
use crate::observability::{alarms, widgets};
use crate::source::{all_code, read, set};

/// One entry: the alarms in its heading, and what it says, on one line.
struct Entry {
    alarms: Vec<String>,
    text: String,
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn entries() -> Vec<Entry> {
    let runbook = read("docs/RUNBOOK.md");
    let sections = runbook.split("\n### ").skip(1).map(|section| section.split("\n## ").next().unwrap_or_default());
    let entry = |section: &str| {
        let (heading, text) = section.split_once('\n').expect("a heading");
        Entry { alarms: heading.split(", ").map(str::to_owned).collect(), text: one_line(text) }
    };
    sections.map(entry).collect()
}

/// The metrics that the runbook says have no alarm, each with its reason.
pub(crate) fn figures_without_alarm() -> BTreeSet<String> {
    let runbook = read("docs/RUNBOOK.md");
    let (_, table) = runbook.split_once("## Figures without an alarm").expect("the section");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    set(rows.filter(|(metric, reason)| *metric != "metric" && !reason.is_empty()).map(|(metric, _)| metric))
}

/// What stands between two marks, every time.
fn between<'t>(text: &'t str, opens: &'t str, closes: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(opens).skip(1).filter_map(move |rest| Some(rest.split_once(closes)?.0))
}

#[test]
fn every_alarm_has_its_entry_and_every_entry_its_alarm() {
    let named: Vec<String> = entries().into_iter().flat_map(|entry| entry.alarms).collect();
    let alarms = alarms(&Template::with(&[]));
    assert_eq!(set(named.iter().cloned()), set(alarms.keys().cloned()));
    assert_eq!(named.len(), alarms.len(), "none has two entries");
    for Entry { alarms, text } in entries() {
        let mut rest = text.as_str();
        for label in ["**Means.** ", "**Look.** ", "**Do.** ", "**Never.** "] {
            let (_, after) = rest.split_once(label).unwrap_or_else(|| panic!("{alarms:?}: {label}"));
            rest = after;
        }
    }
}

#[test]
fn the_runbook_names_only_what_is_there() {
    let template = Template::with(&[]);
    let (contract, alarms) = (yaml("openapi.yaml"), alarms(&template));
    let runbook = one_line(&read("docs/RUNBOOK.md"));
    for code in runbook.split('`').skip(1).step_by(2) {
        let is_of = |fits: fn(char) -> bool| code.chars().all(fits);
        if let Some((method @ ("GET" | "POST" | "PUT"), path)) = code.split_once(' ') {
            assert!(contract["paths"][path][method.to_lowercase()].is_object(), "there is no {code}");
        } else if code.contains('-') && is_of(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '-')) {
            let name = code.strip_prefix("order-expiry-").unwrap_or(code);
            assert!(alarms.contains_key(name), "no alarm is called {code}");
        } else if code.contains(char::is_lowercase)
            && code.starts_with(char::is_uppercase)
            && is_of(char::is_alphanumeric)
        {
            let is_there = ["Parameters", "Resources"].iter().any(|of| template.document[of][code].is_object());
            assert!(is_there, "the template has no {code}");
        }
    }
    let widgets = widgets(&template);
    let looks: Vec<String> = entries().into_iter().flat_map(|entry| looks_of(&entry.text)).collect();
    assert!(looks.len() > 50);
    for title in looks {
        assert!(widgets.contains_key(&title), "no widget is called {title}");
    }
    let one = AttemptNo::new(1).expect("a number");
    let findings = [
        Signal::AmountMismatch(one),
        Signal::RefundedElsewhere(one),
        Signal::SecondTransaction(one),
        Signal::TransactionTaken(one),
        Signal::NeedsAttention,
        Signal::ReservationAnomaly(String::new()),
        Signal::RefundFailed(one),
    ];
    assert!(findings.iter().all(Signal::is_finding));
    assert_eq!(set(between(&runbook, "`, name `", "`")), set(findings.iter().map(Signal::name)));
    let code = all_code();
    let logged = ["message = ", "message like "].map(|word| between(&runbook, word, " or ").collect::<Vec<_>>());
    for text in logged.into_iter().flatten() {
        let text = text.split('"').nth(1).expect("a quoted text");
        assert!(code.contains(text), "nothing logs {text:?}");
    }
}

/// The quoted titles of an entry's **Look.**, what is code left out.
fn looks_of(text: &str) -> Vec<String> {
    let look = between(text, "**Look.** ", "**Do.**").next().unwrap_or_default();
    let prose: String = look.split('`').step_by(2).collect();
    prose.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}
