//! Starting a payment: one write before the channel hears of it, one after (DESIGN §4).

mod request;

use std::sync::Arc;

use expiry_adjudication::{Context, Ran, RunError, attempt_ref};
use expiry_channels::{ChannelClient, Credential, PlaceRequest};
use expiry_core::attempt::Attempt;
use expiry_core::decide::place_answered::{PlaceAnswered, PlacedOutcome};
use expiry_core::decide::start_payment::{StartOutcome, StartPayment as Start, StartRefusal, not_payable};
use expiry_core::fact::{Cause, PlaceOutcome, Placed};
use expiry_core::guard;
use expiry_core::ids::{AttemptNo, OrderId};
use expiry_core::money::Money;
use expiry_core::order::Order;
use expiry_core::time::Timestamp;
use expiry_runtime::http::{
    Caller, Request, Response, json_body, json_response, method, path_parameter, problem_response,
};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use serde::Serialize;

use request::PaymentRequest;

/// The function.
#[derive(Debug)]
pub struct StartPayment {
    context: Arc<Context>,
}

#[derive(Debug, Serialize)]
struct PaymentDocument {
    attempt_no: u8,
    out_trade_no: String,
    channel: String,
    amount: u64,
    status: &'static str,
    expires_at: String,
    credential: Credential,
}

impl StartPayment {
    /// The function.
    #[must_use]
    pub fn new(context: Arc<Context>) -> StartPayment {
        StartPayment { context }
    }

    /// `POST /orders/{id}/payments` → 201 with what the payer needs. `deadline` is this function's own.
    pub async fn handle(&self, request: &Request, deadline: Timestamp) -> Response {
        if method(request) != "POST" {
            return problem_response(&Problem::method_not_allowed("POST"));
        }
        match self.started(request, deadline).await {
            Ok(document) => json_response(201, &document),
            Err(problem) => problem_response(&problem),
        }
    }

    async fn started(&self, request: &Request, deadline: Timestamp) -> Result<PaymentDocument, Problem> {
        let caller = Caller::of(request)?;
        let id = OrderId::parse(path_parameter(request, "id")?).map_err(|_| Problem::new(Code::OrderNotFound))?;
        let body: PaymentRequest = json_body(request)?;
        let channels = self.context.channels().await.map_err(|error| {
            tracing::error!(order_id = %id, error = %chain(&error), "no channel can be talked to");
            Problem::new(Code::TryAgain)
        })?;
        let client = channels
            .get(&body.channel)
            .ok_or_else(|| Problem::invalid("#/channel", "is not a channel that is switched on"))?;
        let order = self.context.read(&id).await.map_err(|error| error.problem(&id))?;
        if !caller.may_act_for(&order.order.user) {
            return Err(Problem::new(Code::OrderNotFound));
        }
        let command = Start {
            channel: body.channel.clone(),
            merchant: client.channel().merchant().clone(),
            min_expiry: client.channel().capabilities().min_expiry,
            method: body.method.clone(),
            amount: body.amount()?,
            initiator: body.initiator(),
            place_before: deadline,
        };
        let ran = self.context.run_on(order, &command).await.map_err(|error| error.problem(&id))?;
        match ran.outcome {
            StartOutcome::Refused(refusal) => Err(refused(refusal)),
            StartOutcome::Place(no) => self.place(client, ran, no).await,
        }
    }

    async fn place(
        &self,
        client: &ChannelClient,
        ran: Ran<StartOutcome>,
        no: AttemptNo,
    ) -> Result<PaymentDocument, Problem> {
        let id = ran.order.order.id.clone();
        let placed = match ran.order.order.attempt(no) {
            Some(attempt) => self.call(client, &ran.order.order, no, attempt).await,
            None => PlaceOutcome::InDoubt(Cause::new("the attempt is gone")),
        };
        let (credential, outcome) = without_credential(placed);
        let answered = PlaceAnswered { attempt: no, outcome };
        let ran = self.context.run_on(ran.order, &answered).await.map_err(|error| error.problem(&id))?;
        let order = &ran.order.order;
        match (self.looked_at_again(ran.outcome, order)?, order.attempt(no), credential) {
            (PlacedOutcome::HandOut, Some(attempt), Some(credential)) => Ok(PaymentDocument {
                attempt_no: no.get(),
                out_trade_no: order.out_trade_no(no).to_string(),
                channel: attempt.channel.to_string(),
                amount: attempt.amount.minor(),
                status: attempt.status.name(),
                expires_at: attempt.channel_expiry.unwrap_or(attempt.asked_expiry).to_string(),
                credential,
            }),
            (PlacedOutcome::Withhold(refusal), Some(attempt), _) => {
                // It exists at the channel and must not be payable; whether that worked is asked by the closer.
                let closed = client.close(&attempt_ref(order, no, attempt), self.context.channel_call).await;
                tracing::info!(order_id = %id, attempt = %no, ?refusal, closed = ?closed.answer, "credential withheld");
                Err(refused(refusal))
            }
            (PlacedOutcome::Refused(cause), _, _) => {
                Err(Problem::with_detail(Code::ChannelRefused, format!("The channel refused: {cause}.")))
            }
            (PlacedOutcome::Undecided(refusal), _, _) => Err(refused(refusal)),
            (PlacedOutcome::InDoubt(_) | PlacedOutcome::HandOut | PlacedOutcome::Withhold(_), _, _) => {
                Err(Problem::new(Code::ChannelUnavailable))
            }
        }
    }

    /// The write took its time: a credential leaves only while the clock, after the database's answer, still says that it may (I10).
    fn looked_at_again(&self, outcome: PlacedOutcome, order: &Order) -> Result<PlacedOutcome, Problem> {
        if outcome != PlacedOutcome::HandOut || !guard::SECOND_WRITE.stands() {
            return Ok(outcome);
        }
        let now = self.context.trusted_now().map_err(|error| RunError::from(error).problem(&order.id))?;
        Ok(not_payable(order, now).map_or(outcome, PlacedOutcome::Withhold))
    }

    /// The create call; not sent once its last moment has passed, because nobody would wait for it any more.
    async fn call(
        &self,
        client: &ChannelClient,
        order: &Order,
        no: AttemptNo,
        attempt: &Attempt,
    ) -> PlaceOutcome<Credential> {
        let Ok(now) = self.context.trusted_now() else {
            return PlaceOutcome::InDoubt(Cause::new("the clock is not to be trusted"));
        };
        let left = attempt.place_before.map(|last| last.since(now)).unwrap_or_default();
        let left = if guard::PLACE_BEFORE.stands() { left } else { self.context.channel_call };
        if left.is_zero() {
            return PlaceOutcome::InDoubt(Cause::new("there was no time left to call the channel"));
        }
        let place = PlaceRequest {
            out_trade_no: order.out_trade_no(no),
            amount: Money { amount: attempt.amount, currency: order.currency },
            method: attempt.method.clone(),
            expires_at: attempt.asked_expiry,
        };
        client.place(&place, self.context.channel_call.min(left)).await.answer
    }
}

/// The credential is handed out or forgotten, never stored.
fn without_credential(placed: PlaceOutcome<Credential>) -> (Option<Credential>, PlaceOutcome<()>) {
    match placed {
        PlaceOutcome::Credential(Placed { reference, expires_at, credential }) => {
            (Some(credential), PlaceOutcome::Credential(Placed { reference, expires_at, credential: () }))
        }
        PlaceOutcome::Refused(cause) => (None, PlaceOutcome::Refused(cause)),
        PlaceOutcome::InDoubt(cause) => (None, PlaceOutcome::InDoubt(cause)),
    }
}

fn refused(refusal: StartRefusal) -> Problem {
    match refusal {
        StartRefusal::Expired => Problem::new(Code::OrderExpired),
        StartRefusal::Closing => Problem::new(Code::OrderClosing),
        StartRefusal::Closed => Problem::new(Code::OrderClosed),
        StartRefusal::Paid => Problem::new(Code::OrderPaid),
        StartRefusal::Amount => Problem::invalid("#/amount", "must be from 1 to what is unpaid"),
        StartRefusal::Undecided => Problem::new(Code::AttemptUndecided),
        StartRefusal::TooMany => Problem::new(Code::TooManyAttempts),
    }
}
