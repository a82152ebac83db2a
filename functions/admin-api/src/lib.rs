//! What people of the shop see and do (DESIGN §8): every route needs a role, every action leaves who, when, why, before and after,
//! and none of them sets a status by hand.

mod orders;
mod resources;

use std::sync::Arc;

use expiry_adjudication::Context;
use expiry_core::ids::OperatorId;
use expiry_core::limits;
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
            ("GET", ["orders", id]) => self.case_file(id).await,
            ("POST", ["orders", id, "check"]) => self.check(id, request, operator(&caller)?).await,
            ("GET", ["stock" | "coupons" | "points" | "quotas", key @ ..]) => self.resource(path[0], key).await,
            ("PUT", ["stock" | "coupons" | "points" | "quotas", key @ ..]) => {
                self.edit_resource(path[0], key, request, operator(&caller)?).await
            }
            (_, ["orders", _]) => Err(Problem::method_not_allowed("GET")),
            (_, ["orders", _, "check"]) => Err(Problem::method_not_allowed("POST")),
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

/// A person's reason: required where something is done to an order.
fn checked_reason(reason: &str) -> Result<(), Problem> {
    let fits = !reason.trim().is_empty() && reason.len() <= limits::REASON_BYTES;
    if fits && !reason.chars().any(char::is_control) {
        Ok(())
    } else {
        let detail = format!("has 1 to {} bytes without control characters", limits::REASON_BYTES);
        Err(Problem::invalid("/reason", detail))
    }
}
