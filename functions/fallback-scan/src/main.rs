//! The hourly schedule of the fallback scan.

use std::process::ExitCode;
use std::sync::Arc;

use expiry_adjudication::Context;
use expiry_core::message::Queue;
use expiry_core::time::Timestamp;
use expiry_runtime::config::Config;
use expiry_runtime::queues::Queues;
use expiry_runtime::{boot, sdk};
use fallback_scan::FallbackScan;
use lambda_runtime::LambdaEvent;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let sdk = sdk::load();
        let context = Context::in_lambda(&config, &sdk).await;
        let queues = Queues::new(aws_sdk_sqs::Client::new(&sdk), config.queue_urls(&Queue::ALL)?);
        let function = Arc::new(FallbackScan::new(Arc::new(context), queues, config.scan_grace));
        Ok(move |event: LambdaEvent<serde_json::Value>| {
            let function = Arc::clone(&function);
            async move {
                let deadline = i64::try_from(event.context.deadline).ok().and_then(Timestamp::from_millis);
                let scanned = function.handle(deadline.unwrap_or(Timestamp::EPOCH)).await;
                scanned.map_err(|error| boot::Failure::new("ScanFailed", &error))
            }
        })
    })
}
