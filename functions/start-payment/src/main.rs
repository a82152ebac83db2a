//! `POST /orders/{id}/payments`.

use std::process::ExitCode;
use std::sync::Arc;

use expiry_adjudication::Context;
use expiry_core::time::Timestamp;
use expiry_runtime::config::Config;
use expiry_runtime::http::Request;
use expiry_runtime::{boot, sdk};
use lambda_runtime::LambdaEvent;
use start_payment::StartPayment;

fn main() -> ExitCode {
    boot::run(async {
        let config = Config::from_env()?;
        let context = Context::in_lambda_with_channels(&config, &sdk::load()).await?;
        let function = Arc::new(StartPayment::new(Arc::new(context)));
        Ok(move |event: LambdaEvent<Request>| {
            let function = Arc::clone(&function);
            async move {
                let deadline = i64::try_from(event.context.deadline).ok().and_then(Timestamp::from_millis);
                let deadline = deadline.unwrap_or(Timestamp::EPOCH);
                Ok::<_, boot::Failure>(function.handle(&event.payload, deadline).await)
            }
        })
    })
}
