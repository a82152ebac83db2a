//! The stream of the orders table.

use std::process::ExitCode;
use std::sync::Arc;

use aws_lambda_events::event::dynamodb::Event;
use expiry_core::message::Queue;
use expiry_core::time::Clock;
use expiry_runtime::clock::SystemClock;
use expiry_runtime::config::Config;
use expiry_runtime::logs::chain;
use expiry_runtime::metrics::Metrics;
use expiry_runtime::queues::Queues;
use expiry_runtime::schedules::WakeSchedules;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;
use outbox_fanout::OutboxFanout;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let sdk = sdk::load();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let queues = Queues::new(aws_sdk_sqs::Client::new(&sdk), config.queue_urls(&Queue::ALL)?);
        if let Err(error) = queues.warm(Queue::Close).await {
            tracing::warn!(error = %chain(&error), "the queues do not answer at the start");
        }
        let schedules = WakeSchedules::new(aws_sdk_scheduler::Client::new(&sdk), config.scheduler()?.clone());
        let metrics = Metrics::on_stdout(Arc::clone(&clock), &config.metrics_namespace);
        let function = Arc::new(OutboxFanout::new(clock, metrics, queues, schedules));
        Ok(move |event: LambdaEvent<Event>| {
            let function = Arc::clone(&function);
            async move { function.handle(event.payload).await }
        })
    })
}
