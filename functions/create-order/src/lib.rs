//! Creating an order: everything it needs is reserved in the transaction that creates it (DESIGN §6, §8).

mod request;

use std::sync::Arc;

use expiry_adjudication::Context;
use expiry_core::decide::create::{InvalidOrder, NewOrder, create};
use expiry_core::expiry_rule::ExpiryRules;
use expiry_core::ids::OrderId;
use expiry_core::reservation::{CounterKey, ResourceKind};
use expiry_core::time::Timestamp;
use expiry_runtime::config::Config;
use expiry_runtime::document::OrderDocument;
use expiry_runtime::http::{Caller, Request, Response, header, json_body, json_response, method, problem_response};
use expiry_runtime::ids::{digest, order_id_for};
use expiry_runtime::logs::chain;
use expiry_runtime::problem::{Code, Problem};
use expiry_runtime::skew::UntrustedClock;
use expiry_store::{CreateError, Loaded};

use request::OrderRequest;

/// The function.
#[derive(Debug)]
pub struct CreateOrder {
    context: Arc<Context>,
    rules: ExpiryRules,
    most_open: Option<u32>,
}

impl CreateOrder {
    /// The function with the rules and the cap of `config`.
    #[must_use]
    pub fn new(context: Arc<Context>, config: &Config) -> CreateOrder {
        let most_open = config.max_open_orders_per_user.map(std::num::NonZeroU32::get);
        CreateOrder { context, rules: config.expiry_rules.clone(), most_open }
    }

    /// `POST /orders` → 201 with the order document, also when the request is repeated.
    pub async fn handle(&self, request: &Request) -> Response {
        if method(request) != "POST" {
            return problem_response(&Problem::method_not_allowed("POST"));
        }
        match self.created(request).await {
            Ok(document) => json_response(201, &document),
            Err(problem) => problem_response(&problem),
        }
    }

    async fn created(&self, request: &Request) -> Result<OrderDocument, Problem> {
        let caller = Caller::of(request)?;
        let key = idempotency_key(request)?;
        let body: OrderRequest = json_body(request)?;
        let body_digest = digest(&serde_json::to_vec(&body).map_err(|_| Problem::new(Code::Internal))?);
        if !caller.may_act_for(&body.user_id) {
            return Err(Problem::new(Code::Forbidden));
        }
        let id = match key {
            Some(key) => order_id_for(&body.user_id, key),
            None => OrderId::from_bits(self.context.ids.unique()),
        };
        let now = self.now(&id).await?;
        let wanted = body.into_order(id, body_digest)?;
        let order = self.create(wanted, now).await?;
        Ok(OrderDocument::new(&order.order, self.context.clock.now()))
    }

    /// The time that may be decided by; when nothing was read lately that confirms the clock, the order id is read first.
    async fn now(&self, id: &OrderId) -> Result<Timestamp, Problem> {
        let refused = |error: UntrustedClock| {
            tracing::error!(order_id = %id, error = %chain(&error), "no order is created by this clock");
            Problem::new(Code::TryAgain)
        };
        match self.context.trusted_now() {
            Err(UntrustedClock::Unread) => {
                self.context.store.load(id).await.map_err(|error| {
                    tracing::error!(order_id = %id, error = %chain(&error), "the database could not be read");
                    Problem::new(Code::TryAgain)
                })?;
                self.context.trusted_now().map_err(refused)
            }
            now => now.map_err(refused),
        }
    }

    async fn create(&self, wanted: NewOrder, now: Timestamp) -> Result<Loaded, Problem> {
        let (id, user, body_digest) = (wanted.id.clone(), wanted.user.clone(), wanted.body_digest);
        let invalid = |error: &InvalidOrder| Problem::invalid(format!("#/{}", error.field()), error.to_string());
        let found = match create(wanted, &self.rules, self.most_open, now) {
            Ok(creation) => match self.context.store.create(&creation).await {
                Ok(found) => found,
                Err(error) => self.existing(&id, error).await?,
            },
            // The rule of a request that is repeated may be gone since.
            Err(error @ InvalidOrder::Rule(_)) => self.found_or(&id, invalid(&error)).await?,
            Err(error) => return Err(invalid(&error)),
        };
        let order = &found.order;
        if order.user != user || order.body_digest != body_digest {
            return Err(Problem::new(Code::IdempotencyMismatch));
        }
        if order.version == 1 {
            tracing::info!(order_id = %id, expire_at = ?order.expire_at.map(|at| at.to_string()), "order created");
        }
        Ok(found)
    }

    /// An answer that did not come may hide an order that was created: it is looked for before anything is refused.
    async fn existing(&self, id: &OrderId, error: CreateError) -> Result<Loaded, Problem> {
        let problem = match &error {
            CreateError::Insufficient(keys) => return Err(insufficient(keys)),
            CreateError::Coupon => return Err(Problem::new(Code::CouponUnavailable)),
            CreateError::TooManyOpen => return Err(Problem::new(Code::TooManyOpenOrders)),
            CreateError::Contended => Problem::new(Code::TryAgain),
            CreateError::Unavailable(_) | CreateError::Unreadable(_) => {
                tracing::error!(order_id = %id, error = %chain(&error), "it is not known whether the order was created");
                Problem::new(Code::TryAgain)
            }
        };
        self.found_or(id, problem).await
    }

    async fn found_or(&self, id: &OrderId, problem: Problem) -> Result<Loaded, Problem> {
        match self.context.store.load(id).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) | Err(_) => Err(problem),
        }
    }
}

fn insufficient(keys: &[CounterKey]) -> Problem {
    let kinds: Vec<ResourceKind> = keys.iter().map(CounterKey::kind).collect();
    let code = if kinds.contains(&ResourceKind::Stock) {
        Code::InsufficientStock
    } else if kinds.contains(&ResourceKind::Points) {
        Code::InsufficientPoints
    } else {
        Code::QuotaExhausted
    };
    let names: Vec<String> = keys.iter().map(|key| format!("{} {key}", key.kind().name())).collect();
    Problem::with_detail(code, format!("There is not enough of: {}.", names.join(", ")))
}

fn idempotency_key(request: &Request) -> Result<Option<&str>, Problem> {
    let Some(key) = header(request, "idempotency-key")? else {
        return Ok(None);
    };
    let fits = (1..=expiry_core::limits::IDEMPOTENCY_KEY_BYTES).contains(&key.len());
    if fits && key.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        Ok(Some(key))
    } else {
        let detail = format!("has 1 to {} printable ASCII characters", expiry_core::limits::IDEMPOTENCY_KEY_BYTES);
        Err(Problem::invalid("Idempotency-Key", detail))
    }
}
