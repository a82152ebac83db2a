//! The queues `stock-release`, `coupon-release`, `points-release` and `quota-release`.

use std::process::ExitCode;
use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use expiry_adjudication::Context;
use expiry_core::message::Queue;
use expiry_runtime::config::Config;
use expiry_runtime::queues::Queues;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;
use settle_resources::SettleResources;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let sdk = sdk::load();
        let context = Context::in_lambda(&config, &sdk).await;
        let needed = [Queue::StockRelease, Queue::CouponRelease, Queue::PointsRelease, Queue::QuotaRelease];
        let queues = Queues::new(aws_sdk_sqs::Client::new(&sdk), config.queue_urls(&needed)?);
        let function = Arc::new(SettleResources::new(Arc::new(context), queues));
        Ok(move |event: LambdaEvent<SqsEvent>| {
            let function = Arc::clone(&function);
            async move { function.handle(event.payload).await }
        })
    })
}
