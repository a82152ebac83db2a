//! What `template.yaml` creates in the cloud, by calls of the SDK: tables, queues with their dead letters, the group of schedules. What
//! exists already is taken as it is; only a queue with other attributes is refused. Besides, the secret that the template is given.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_scheduler::operation::create_schedule_group::CreateScheduleGroupError;
use aws_sdk_scheduler::types::{FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use aws_sdk_secretsmanager::operation::create_secret::CreateSecretError;
use aws_sdk_sqs::types::QueueAttributeName;
use expiry_core::message::Queue;
use expiry_store::{CreateTablesError, Tables, create_tables};

use crate::AnyError;
use crate::settings::{ACCOUNT, ORDERS_TABLE, REGION, RESOURCES_TABLE, SCHEDULE_GROUP, SIM_SECRET_NAME};

/// Receives of a message before it goes to the dead-letter queue.
const RECEIVES: u32 = 5;
/// The name of the scan's recurring schedule.
const SCAN_SCHEDULE: &str = "fallback-scan";

/// Why something does not exist.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// A table.
    #[error("the tables do not open")]
    Tables(#[from] CreateTablesError),
    /// Something else.
    #[error("{0} cannot be created")]
    Service(&'static str, #[source] AnyError),
}

/// Creates everything but the scan's schedule in `region`, whose queues show a received message again after so many seconds, and the
/// secret of the channel `sim`; answers the queues' URLs.
///
/// # Errors
/// When something neither exists nor can be created.
pub async fn provision(
    sdk: &SdkConfig,
    region: &str,
    visibility_seconds: u64,
    sim_secret: &str,
) -> Result<BTreeMap<Queue, String>, ProvisionError> {
    let tables = Tables { orders: ORDERS_TABLE.to_owned(), resources: RESOURCES_TABLE.to_owned() };
    create_tables(&aws_sdk_dynamodb::Client::new(sdk), &tables).await?;
    let sqs = aws_sdk_sqs::Client::new(sdk);
    let mut urls = BTreeMap::new();
    for queue in Queue::ALL {
        let url = create_queue(&sqs, region, queue, visibility_seconds).await;
        urls.insert(queue, url.map_err(|error| ProvisionError::Service("a queue", error))?);
    }
    create_group(sdk).await.map_err(|error| ProvisionError::Service("the group of schedules", error))?;
    put_secret(sdk, sim_secret)
        .await
        .map_err(|error| ProvisionError::Service("the secret of the channel sim", error))?;
    Ok(urls)
}

async fn create_queue(
    sqs: &aws_sdk_sqs::Client,
    region: &str,
    queue: Queue,
    visibility_seconds: u64,
) -> Result<String, AnyError> {
    let dead_letters = sqs.create_queue().queue_name(format!("{queue}-dlq")).send().await?;
    let target = arn_of(dead_letters.queue_url().unwrap_or_default(), region).ok_or("a queue has no URL")?;
    let redrive = format!(r#"{{"deadLetterTargetArn":"{target}","maxReceiveCount":"{RECEIVES}"}}"#);
    let created = sqs
        .create_queue()
        .queue_name(queue.name())
        .attributes(QueueAttributeName::VisibilityTimeout, visibility_seconds.to_string())
        .attributes(QueueAttributeName::RedrivePolicy, redrive)
        .send()
        .await?;
    Ok(created.queue_url.ok_or("a queue has no URL")?)
}

/// The ARN of the queue at `url`, which ends with account and name.
#[must_use]
pub fn arn_of(url: &str, region: &str) -> Option<String> {
    let (rest, name) = url.rsplit_once('/')?;
    let (_, account) = rest.rsplit_once('/')?;
    Some(format!("arn:aws:sqs:{region}:{account}:{name}"))
}

async fn create_group(sdk: &SdkConfig) -> Result<(), AnyError> {
    let created = aws_sdk_scheduler::Client::new(sdk).create_schedule_group().name(SCHEDULE_GROUP).send().await;
    match created {
        Err(error) if error.as_service_error().is_some_and(CreateScheduleGroupError::is_conflict_exception) => Ok(()),
        created => Ok(created.map(drop)?),
    }
}

/// The channel is simulated in this process, so its secret is what this process says: also where there is another from before.
async fn put_secret(sdk: &SdkConfig, secret: &str) -> Result<(), AnyError> {
    let secrets = aws_sdk_secretsmanager::Client::new(sdk);
    let created = secrets.create_secret().name(SIM_SECRET_NAME).secret_string(secret).send().await;
    match created {
        Err(error) if error.as_service_error().is_some_and(CreateSecretError::is_resource_exists_exception) => {
            let put = secrets.put_secret_value().secret_id(SIM_SECRET_NAME).secret_string(secret).send().await;
            Ok(put.map(drop)?)
        }
        created => Ok(created.map(drop)?),
    }
}

/// Creates the recurring schedule of the scan, in the embedded cloud.
///
/// # Errors
/// When it cannot be created.
pub async fn schedule_scan(sdk: &SdkConfig, period: Duration) -> Result<(), ProvisionError> {
    create_scan_schedule(sdk, period).await.map_err(|error| ProvisionError::Service("the schedule of the scan", error))
}

async fn create_scan_schedule(sdk: &SdkConfig, period: Duration) -> Result<(), AnyError> {
    let minutes = (period.as_secs() / 60).max(1);
    let unit = if minutes == 1 { "minute" } else { "minutes" };
    let target = Target::builder()
        .arn(format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{SCAN_SCHEDULE}"))
        .role_arn(format!("arn:aws:iam::{ACCOUNT}:role/order-expiry-scheduler"))
        .input("{}")
        .build()?;
    aws_sdk_scheduler::Client::new(sdk)
        .create_schedule()
        .name(SCAN_SCHEDULE)
        .schedule_expression(format!("rate({minutes} {unit})"))
        .flexible_time_window(FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build()?)
        .target(target)
        .send()
        .await?;
    Ok(())
}
