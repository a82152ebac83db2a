//! Wake-up schedules: one per order, a reminder and never the truth (DESIGN §1).

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::error::{BuildError, SdkError};
use aws_sdk_scheduler::operation::create_schedule::CreateScheduleError;
use aws_sdk_scheduler::operation::delete_schedule::DeleteScheduleError;
use aws_sdk_scheduler::operation::update_schedule::UpdateScheduleError;
use aws_sdk_scheduler::types::{ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, Target};
use expiry_core::ids::OrderId;
use expiry_core::time::Timestamp;

use crate::config::SchedulerConfig;

/// How often one call creates, else moves, a schedule that fires or is disarmed between the two.
pub const ARM_ROUNDS: usize = 2;

/// Why an order has no schedule at the time asked for. Whatever the reason, delayed messages stand in for it (DESIGN §5).
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// It was not created: throttled, refused, or no answer.
    #[error("the schedule of order {order} was not created")]
    Create {
        /// The order.
        order: OrderId,
        /// What the SDK says.
        #[source]
        source: Box<SdkError<CreateScheduleError>>,
    },
    /// One exists already and was not moved.
    #[error("the schedule of order {order} was not moved")]
    Update {
        /// The order.
        order: OrderId,
        /// What the SDK says.
        #[source]
        source: Box<SdkError<UpdateScheduleError>>,
    },
    /// It came and went between the calls, [`ARM_ROUNDS`] times over: others arm and disarm it.
    #[error("the schedule of order {order} came and went while it was armed")]
    Contended {
        /// The order.
        order: OrderId,
    },
    /// The SDK refuses the request itself.
    #[error("the schedule of order {order} cannot be described")]
    Describe {
        /// The order.
        order: OrderId,
        /// What is missing.
        #[source]
        source: BuildError,
    },
}

/// Why a schedule may still be there. It then fires and finds nothing to do.
#[derive(Debug, thiserror::Error)]
#[error("the schedule of order {order} was not deleted")]
pub struct DisarmError {
    /// The order.
    pub order: OrderId,
    /// What the SDK says.
    #[source]
    pub source: Box<SdkError<DeleteScheduleError>>,
}

/// Arms and disarms the wake-ups; needs `scheduler:CreateSchedule`, `UpdateSchedule`, `DeleteSchedule` on its group and
/// `iam:PassRole` on the role.
#[derive(Clone, Debug)]
pub struct WakeSchedules {
    client: Client,
    config: SchedulerConfig,
}

/// What became of an attempt to create a schedule.
enum Created {
    Yes,
    ThereAlready,
}

/// What became of an attempt to move a schedule.
enum Moved {
    Yes,
    GoneMeanwhile,
}

impl WakeSchedules {
    /// Schedules in `config.group` that send to `config.close_queue_arn`.
    #[must_use]
    pub fn new(client: Client, config: SchedulerConfig) -> WakeSchedules {
        WakeSchedules { client, config }
    }

    /// Makes the schedule of `order` send `input` at `at`, whether there is one already or not; it deletes itself afterwards.
    ///
    /// The Scheduler knows whole seconds: `at` is rounded down, because an early wake-up waits and a late one is late.
    ///
    /// # Errors
    /// [`ArmError`]: the order may have no schedule, or the one it had before.
    pub async fn arm(&self, order: &OrderId, at: Timestamp, input: &str) -> Result<(), ArmError> {
        let describe = |source| ArmError::Describe { order: order.clone(), source };
        let target = Target::builder()
            .arn(&self.config.close_queue_arn)
            .role_arn(&self.config.role_arn)
            .input(input)
            .build()
            .map_err(describe)?;
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().map_err(describe)?;
        for _ in 0..ARM_ROUNDS {
            match self.create(order, at, &target, &window).await? {
                Created::Yes => return Ok(()),
                Created::ThereAlready => {}
            }
            match self.update(order, at, &target, &window).await? {
                Moved::Yes => return Ok(()),
                // It fired between the two calls and deleted itself.
                Moved::GoneMeanwhile => {}
            }
        }
        Err(ArmError::Contended { order: order.clone() })
    }

    async fn create(
        &self,
        order: &OrderId,
        at: Timestamp,
        target: &Target,
        window: &FlexibleTimeWindow,
    ) -> Result<Created, ArmError> {
        let answer = self
            .client
            .create_schedule()
            .group_name(&self.config.group)
            .name(order.as_str())
            .schedule_expression(expression(at))
            .schedule_expression_timezone("UTC")
            .flexible_time_window(window.clone())
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(target.clone())
            .send()
            .await;
        match answer {
            Ok(_) => Ok(Created::Yes),
            Err(error) if error.as_service_error().is_some_and(CreateScheduleError::is_conflict_exception) => {
                Ok(Created::ThereAlready)
            }
            Err(source) => Err(ArmError::Create { order: order.clone(), source: Box::new(source) }),
        }
    }

    async fn update(
        &self,
        order: &OrderId,
        at: Timestamp,
        target: &Target,
        window: &FlexibleTimeWindow,
    ) -> Result<Moved, ArmError> {
        let answer = self
            .client
            .update_schedule()
            .group_name(&self.config.group)
            .name(order.as_str())
            .schedule_expression(expression(at))
            .schedule_expression_timezone("UTC")
            .flexible_time_window(window.clone())
            .action_after_completion(ActionAfterCompletion::Delete)
            .target(target.clone())
            .send()
            .await;
        match answer {
            Ok(_) => Ok(Moved::Yes),
            Err(error)
                if error.as_service_error().is_some_and(UpdateScheduleError::is_resource_not_found_exception) =>
            {
                Ok(Moved::GoneMeanwhile)
            }
            Err(source) => Err(ArmError::Update { order: order.clone(), source: Box::new(source) }),
        }
    }

    /// Deletes the schedule of `order`; one that is not there is deleted already.
    ///
    /// # Errors
    /// [`DisarmError`] when it may still be there.
    pub async fn disarm(&self, order: &OrderId) -> Result<(), DisarmError> {
        let answer = self.client.delete_schedule().group_name(&self.config.group).name(order.as_str()).send().await;
        match answer {
            Ok(_) => Ok(()),
            Err(error)
                if error.as_service_error().is_some_and(DeleteScheduleError::is_resource_not_found_exception) =>
            {
                Ok(())
            }
            Err(source) => Err(DisarmError { order: order.clone(), source: Box::new(source) }),
        }
    }
}

/// `at(2026-01-01T00:00:00)`: the Scheduler's form of one moment, without fraction or zone.
fn expression(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split_once('.').map_or(text.as_str(), |(seconds, _)| seconds);
    format!("at({seconds})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::chain;
    use crate::wire::{Wire, at_millis};

    const CONFLICT: &str = r#"{"__type":"ConflictException","Message":"exists"}"#;
    const NOT_FOUND: &str = r#"{"__type":"ResourceNotFoundException","Message":"gone"}"#;
    const CREATED: &str = r#"{"ScheduleArn":"arn:aws:scheduler:eu-central-1:1:schedule/orders/x"}"#;

    fn schedules(wire: &Wire) -> WakeSchedules {
        let client = Client::from_conf(wire.configure_scheduler(aws_sdk_scheduler::Config::builder()).build());
        let config = SchedulerConfig {
            group: "orders".to_owned(),
            role_arn: "arn:aws:iam::1:role/wake".to_owned(),
            close_queue_arn: "arn:aws:sqs:eu-central-1:1:close".to_owned(),
        };
        WakeSchedules::new(client, config)
    }

    fn order() -> OrderId {
        OrderId::from_bits([0; 15])
    }

    async fn arm(wire: &Wire) -> Result<(), ArmError> {
        schedules(wire).arm(&order(), at_millis(1_767_225_600_999), r#"{"order":"x"}"#).await
    }

    #[tokio::test]
    async fn a_schedule_is_exact_in_utc_to_the_second_before_and_deletes_itself() {
        let wire = Wire::default();
        wire.answer(200, CREATED);
        arm(&wire).await.expect("created");
        let sent = &wire.sent()[0];
        assert_eq!(sent.method, "POST");
        assert!(sent.uri.ends_with(&format!("/schedules/{}", order())), "{}", sent.uri);
        assert_eq!(sent.body["GroupName"], "orders");
        assert_eq!(sent.body["ScheduleExpression"], "at(2026-01-01T00:00:00)");
        assert_eq!(sent.body["ScheduleExpressionTimezone"], "UTC");
        assert_eq!(sent.body["FlexibleTimeWindow"]["Mode"], "OFF");
        assert_eq!(sent.body["ActionAfterCompletion"], "DELETE");
        assert_eq!(sent.body["Target"]["Arn"], "arn:aws:sqs:eu-central-1:1:close");
        assert_eq!(sent.body["Target"]["RoleArn"], "arn:aws:iam::1:role/wake");
        assert_eq!(sent.body["Target"]["Input"], r#"{"order":"x"}"#);
    }

    #[tokio::test]
    async fn a_schedule_that_exists_is_moved_and_one_that_fires_meanwhile_is_created_again() {
        let wire = Wire::default();
        wire.answer(409, CONFLICT);
        wire.answer(404, NOT_FOUND);
        wire.answer(200, CREATED);
        arm(&wire).await.expect("created in the second round");
        let methods: Vec<String> = wire.sent().into_iter().map(|sent| sent.method).collect();
        assert_eq!(methods, ["POST", "PUT", "POST"]);

        let wire = Wire::default();
        wire.answer(409, CONFLICT);
        wire.answer(200, CREATED);
        arm(&wire).await.expect("moved");
        assert_eq!(wire.sent()[1].body["ScheduleExpression"], "at(2026-01-01T00:00:00)");
    }

    #[tokio::test]
    async fn a_throttled_schedule_is_an_error_with_its_cause() {
        let wire = Wire::default();
        wire.answer(429, r#"{"__type":"ThrottlingException","Message":"slow down"}"#);
        let error = arm(&wire).await.expect_err("throttled");
        assert!(matches!(error, ArmError::Create { .. }));
        assert!(chain(&error).contains("slow down"), "{}", chain(&error));
    }

    #[tokio::test]
    async fn a_schedule_that_is_gone_is_disarmed() {
        let wire = Wire::default();
        wire.answer(404, NOT_FOUND);
        wire.answer(500, r#"{"__type":"InternalServerException","Message":"broken"}"#);
        assert!(schedules(&wire).disarm(&order()).await.is_ok());
        assert!(schedules(&wire).disarm(&order()).await.is_err());
    }
}
