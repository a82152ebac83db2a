//! What people of the shop see and do (DESIGN §8): every route needs a role, every action leaves who, when, why, before and after,
//! and none of them sets a status by hand.

mod actions;
mod case_file;
mod lists;
mod overview;
mod resources;

use std::sync::Arc;

use expiry_adjudication::Context;
use expiry_core::ids::{OperatorId, OrderId};
use expiry_runtime::http::{Caller, Request, Response, Role, method, problem_response, segments};
use expiry_runtime::problem::{Code, Problem};

/// The function.
#[derive(Debug)]
pub struct AdminApi {
    context: Arc<Context>,
}

impl AdminApi {
    /// The function.
    #[must_use]
    pub fn new(context: Arc<Context>) -> AdminApi {
        AdminApi { context }
    }

    /// Any route under `/admin`.
    pub async fn handle(&self, request: &Request) -> Response {
        self.answer(request).await.unwrap_or_else(|problem| problem_response(&problem))
    }

    async fn answer(&self, request: &Request) -> Result<Response, Problem> {
        let caller = Caller::of(request)?;
        // A stranger learns nothing, not even which routes there are.
        caller.require(Role::Viewer)?;
        let segments = segments(request);
        let Some(("admin", path)) = segments.split_first().map(|(first, rest)| (*first, rest)) else {
            return Err(Problem::new(Code::NotFound));
        };
        match (method(request), path) {
            ("GET", ["overview"]) => self.overview().await,
            ("GET", ["findings"]) => self.findings(request).await,
            ("GET", ["orders"]) => self.orders(request).await,
            ("GET", ["refunds"]) => self.refunds(request).await,
            ("GET", ["orders", id]) => self.case_file(id).await,
            ("POST", ["orders", id, "check"]) => self.check(id, request, operator(&caller)?).await,
            ("POST", ["orders", id, "resettle"]) => self.resettle(id, request, operator(&caller)?).await,
            ("POST", ["orders", id, "extend"]) => self.extend(id, request, operator(&caller)?).await,
            ("POST", ["refunds", no, "retry"]) => self.retry_refund(no, request, operator(&caller)?).await,
            ("GET", ["stock" | "coupons" | "points" | "quotas", key @ ..]) => self.resource(path[0], key).await,
            ("PUT", ["stock" | "coupons" | "points" | "quotas", key @ ..]) => {
                self.edit_resource(path[0], key, request, operator(&caller)?).await
            }
            (_, ["overview" | "findings" | "orders" | "refunds"] | ["orders", _]) => {
                Err(Problem::method_not_allowed("GET"))
            }
            (_, ["orders", _, "check" | "resettle" | "extend"] | ["refunds", _, "retry"]) => {
                Err(Problem::method_not_allowed("POST"))
            }
            (_, ["stock", _, _, _] | ["coupons" | "points" | "quotas", _]) => {
                Err(Problem::method_not_allowed("GET, PUT"))
            }
            _ => Err(Problem::new(Code::NotFound)),
        }
    }
}

fn operator(caller: &Caller) -> Result<&OperatorId, Problem> {
    caller.require(Role::Operator)
}

fn order_id(text: &str) -> Result<OrderId, Problem> {
    OrderId::parse(text).map_err(|_| Problem::new(Code::OrderNotFound))
}
