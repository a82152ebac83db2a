//! The Scheduler's part, for an endpoint that keeps schedules and fires none: due ones are sent to the close queue and deleted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_scheduler::Client as Scheduler;
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_sqs::Client as Sqs;
use expiry_core::time::{Clock, Timestamp};
use expiry_runtime::logs::chain;

use crate::AnyError;
use crate::cloud::Expression;
use crate::settings::SCHEDULE_GROUP;

/// Schedules of one page, and pages of one look: a look sees so many schedules.
const PAGE: i32 = 100;
const PAGES: usize = 100;
/// The pause between two looks.
const LOOK: Duration = Duration::from_secs(1);

/// Fires the schedules of the group.
pub struct Bridge {
    /// Where they are.
    pub scheduler: Scheduler,
    /// What they send by.
    pub sqs: Sqs,
    /// The queue that all of them send to.
    pub close_url: String,
    /// The present.
    pub clock: Arc<dyn Clock>,
}

impl Bridge {
    /// Looks again and again.
    pub async fn run(self) {
        let mut due = BTreeMap::new();
        loop {
            if let Err(error) = self.look(&mut due).await {
                tracing::warn!(error = %chain(error.as_ref()), "the schedules were not read");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Fires what is due; `known` is when each schedule is.
    async fn look(&self, known: &mut BTreeMap<String, Timestamp>) -> Result<(), AnyError> {
        let names = self.names().await?;
        known.retain(|name, _| names.contains(name));
        for name in names {
            if known.get(&name).is_some_and(|at| *at > self.clock.now()) {
                continue;
            }
            // One that cannot be read or sent holds up no other; it is looked at again.
            if let Err(error) = self.look_at(&name, known).await {
                tracing::warn!(schedule = name, error = %chain(error.as_ref()), "a schedule was not delivered");
            }
        }
        Ok(())
    }

    /// Fires a schedule that is due; it may have been moved since it was looked at.
    async fn look_at(&self, name: &str, known: &mut BTreeMap<String, Timestamp>) -> Result<(), AnyError> {
        match self.schedule(name).await? {
            Some((at, input)) if at <= self.clock.now() => self.fire(name, &input).await?,
            Some((at, _)) => {
                known.insert(name.to_owned(), at);
            }
            None => {}
        }
        Ok(())
    }

    async fn names(&self) -> Result<Vec<String>, AnyError> {
        let mut names = Vec::new();
        let mut next = None;
        for _ in 0..PAGES {
            let listed = self.scheduler.list_schedules().group_name(SCHEDULE_GROUP).max_results(PAGE);
            let page = listed.set_next_token(next).send().await?;
            names.extend(page.schedules.into_iter().filter_map(|schedule| schedule.name));
            next = page.next_token;
            if next.is_none() {
                break;
            }
        }
        Ok(names)
    }

    /// When a schedule is due and what it sends; `None` when it is gone, or is none of ours.
    async fn schedule(&self, name: &str) -> Result<Option<(Timestamp, String)>, AnyError> {
        match self.scheduler.get_schedule().group_name(SCHEDULE_GROUP).name(name).send().await {
            Ok(schedule) => Ok(once(&schedule)),
            Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sends, then deletes: a bridge that dies between the two sends again, as the Scheduler may.
    async fn fire(&self, name: &str, input: &str) -> Result<(), AnyError> {
        self.sqs.send_message().queue_url(&self.close_url).message_body(input).send().await?;
        self.scheduler.delete_schedule().group_name(SCHEDULE_GROUP).name(name).send().await?;
        Ok(())
    }
}

fn once(schedule: &GetScheduleOutput) -> Option<(Timestamp, String)> {
    match Expression::parse(schedule.schedule_expression()?)? {
        Expression::At(at) => Some((at, schedule.target()?.input()?.to_owned())),
        Expression::Rate(_) => None,
    }
}
