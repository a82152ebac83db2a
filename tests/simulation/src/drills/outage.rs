//! What can be out, and how it is put out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use local::cloud::Faults;
use local::cloud::fate::{Call, CallFate, Failure, Held, Service};
use local::settings::RESOURCES_TABLE;
use serde_json::json;

use super::floor::Floor;

/// What is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Every queue and the Scheduler refuse what is sent.
    Sends,
    /// No call of the database is answered.
    Database,
    /// Writes are applied, and their answers are lost.
    WriteAnswers,
    /// The payment channel cannot be reached.
    Channel,
    /// Nothing that touches stock is written.
    Stock,
    /// Nobody reads the stream.
    Stream,
    /// The scan reads nothing, and wake-ups are lost.
    ScanAndWakes,
    /// Every function that a queue, the stream or a schedule runs dies again and again.
    Workers,
}

/// How often workers die.
const DEATHS_APART: Duration = Duration::from_millis(500);

impl Outage {
    /// It happens, and is over after `lasts`.
    pub(super) async fn befalls(self, floor: &Floor, lasts: Duration) {
        match self {
            Outage::Workers => {
                let ends = tokio::time::Instant::now() + lasts;
                while tokio::time::Instant::now() < ends {
                    floor.shop.system.crash();
                    tokio::time::sleep(DEATHS_APART).await;
                }
            }
            Outage::Stream => {
                let stopped = Held::default();
                let reader = stopped.clone();
                let reads = |call: &Call<'_>| call.operation == "GetRecords";
                floor.shop.system.cloud.on_call(move |call| reads(call).then(|| CallFate::Held(reader.clone())));
                tokio::time::sleep(lasts).await;
                floor.shop.system.cloud.clear_call_rules();
                stopped.release(CallFate::Pass);
            }
            Outage::Sends
            | Outage::Database
            | Outage::WriteAnswers
            | Outage::Channel
            | Outage::Stock
            | Outage::ScanAndWakes => {
                let is_out = self.breaks_calls(floor);
                floor.shop.system.set_faults(self.faults());
                tokio::time::sleep(lasts).await;
                floor.shop.system.set_faults(Faults::default());
                is_out.store(false, Ordering::SeqCst);
            }
        }
    }

    fn faults(self) -> Faults {
        let everywhere: Vec<String> =
            expiry_core::message::Queue::ALL.iter().map(|queue| queue.name().to_owned()).collect();
        let sends = everywhere.into_iter().chain([local::cloud::SCHEDULER.to_owned()]).collect();
        match self {
            Outage::Sends => Faults { send_errors: sends, ..Faults::default() },
            Outage::Channel => Faults { channel_down: vec!["sim".to_owned()], ..Faults::default() },
            Outage::ScanAndWakes => Faults { drop_wakes: true, ..Faults::default() },
            Outage::Database | Outage::WriteAnswers | Outage::Stock | Outage::Stream | Outage::Workers => {
                Faults::default()
            }
        }
    }

    /// Breaks its calls for as long as the answer says so.
    fn breaks_calls(self, floor: &Floor) -> Arc<AtomicBool> {
        let is_out = Arc::new(AtomicBool::new(true));
        let still_out = Arc::clone(&is_out);
        floor
            .shop
            .system
            .cloud
            .on_call(move |call| still_out.load(Ordering::SeqCst).then(|| self.fate(call)).flatten());
        is_out
    }

    fn fate(self, call: &Call<'_>) -> Option<CallFate> {
        let down = || Some(CallFate::Fail(Failure::new(500, "InternalServerError")));
        let is_database = call.service == Service::DynamoDb;
        let is_write = matches!(call.operation, "PutItem" | "UpdateItem" | "TransactWriteItems");
        match self {
            Outage::Database if is_database => Some(CallFate::LoseRequest),
            Outage::WriteAnswers if is_database && is_write => Some(CallFate::LoseAnswer),
            Outage::Stock if is_database && is_write && touches_resources(call) => down(),
            Outage::ScanAndWakes if call.operation == "Query" => down(),
            Outage::Sends
            | Outage::Database
            | Outage::WriteAnswers
            | Outage::Channel
            | Outage::Stock
            | Outage::Stream
            | Outage::ScanAndWakes
            | Outage::Workers => None,
        }
    }
}

fn touches_resources(call: &Call<'_>) -> bool {
    let members = call.body["TransactItems"].as_array().into_iter().flatten();
    let mut tables = members.filter_map(|member| member.as_object()?.values().next()?.get("TableName"));
    call.resource == RESOURCES_TABLE || tables.any(|table| *table == json!(RESOURCES_TABLE))
}
