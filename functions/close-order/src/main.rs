//! The queue `close`.

use std::process::ExitCode;
use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use close_order::CloseOrder;
use expiry_adjudication::Context;
use expiry_core::message::Queue;
use expiry_runtime::config::Config;
use expiry_runtime::queues::Queues;
use expiry_runtime::schedules::WakeSchedules;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let sdk = sdk::load();
        let context = Context::in_lambda_with_channels(&config, &sdk).await?;
        let queues = Queues::new(aws_sdk_sqs::Client::new(&sdk), config.queue_urls(&[Queue::Close])?);
        let schedules = WakeSchedules::new(aws_sdk_scheduler::Client::new(&sdk), config.scheduler()?.clone());
        let function = Arc::new(CloseOrder::new(Arc::new(context), queues, schedules));
        Ok(move |event: LambdaEvent<SqsEvent>| {
            let function = Arc::clone(&function);
            async move { function.handle(event.payload).await }
        })
    })
}
