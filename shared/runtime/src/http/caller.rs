//! Who asks: the claims of the token that API Gateway's JWT authorizer verified.

use expiry_core::ids::{OperatorId, UserId};

use super::Request;
use crate::problem::{Code, Problem};

/// What a person may do on the admin routes. A later role may do all that an earlier one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Look.
    Viewer,
    /// Look and act.
    Operator,
}

/// Whoever holds the token. Without claims — a route without authorizer, such as the local storefront — it is
/// [`Caller::default`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The claim `user_id`: the only user whose orders this token may read, pay and cancel. `None`: the shop's backend.
    pub user_id: Option<UserId>,
    /// The claim `role`; any other text than `viewer` and `operator` is no role.
    pub role: Option<Role>,
    /// The claim `sub`, under which a person's actions are recorded.
    pub name: Option<OperatorId>,
    /// Whether there was a token at all.
    pub authenticated: bool,
}

impl Caller {
    /// Reads the claims of `request`.
    ///
    /// # Errors
    /// `forbidden` when `user_id` is there and no user id: to take it for absent would let the token act for every user.
    pub fn of(request: &Request) -> Result<Caller, Problem> {
        let jwt = request.request_context.authorizer.as_ref().and_then(|authorizer| authorizer.jwt.as_ref());
        let Some(jwt) = jwt else { return Ok(Caller::default()) };
        let claim = |name: &str| jwt.claims.get(name).map(String::as_str);
        let user_id = claim("user_id")
            .map(UserId::new)
            .transpose()
            .map_err(|error| Problem::with_detail(Code::Forbidden, format!("the claim user_id {error}")))?;
        let role = match claim("role") {
            Some("operator") => Some(Role::Operator),
            Some("viewer") => Some(Role::Viewer),
            Some(_) | None => None,
        };
        let name = claim("sub").and_then(|name| OperatorId::new(name).ok());
        Ok(Caller { user_id, role, name, authenticated: true })
    }

    /// Whether this caller may read, pay and cancel orders of `user`.
    #[must_use]
    pub fn may_act_for(&self, user: &UserId) -> bool {
        self.user_id.as_ref().is_none_or(|own| own == user)
    }

    /// The name of a caller who has at least `role`.
    ///
    /// # Errors
    /// `unauthorized` without a token; `forbidden` when the token has a lesser role, or no name to record.
    pub fn require(&self, role: Role) -> Result<&OperatorId, Problem> {
        if !self.authenticated {
            return Err(Problem::new(Code::Unauthorized));
        }
        match &self.name {
            Some(name) if self.role >= Some(role) => Ok(name),
            Some(_) | None => Err(Problem::new(Code::Forbidden)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::body::fixture::request;

    fn caller(claims: Value) -> Result<Caller, Problem> {
        Caller::of(&request(json!({
            "requestContext": {"http": {"method": "GET"}, "authorizer": {"jwt": {"claims": claims, "scopes": null}}},
        })))
    }

    fn code(outcome: Result<&OperatorId, Problem>) -> Result<String, Code> {
        outcome.map(ToString::to_string).map_err(|problem| problem.code)
    }

    #[test]
    fn a_token_with_a_user_acts_for_that_user_alone_and_one_without_for_all() {
        let (a, b) = (UserId::new("a").expect("an id"), UserId::new("b").expect("an id"));
        let shopper = caller(json!({"user_id": "a"})).expect("claims");
        assert!(shopper.may_act_for(&a) && !shopper.may_act_for(&b));
        assert!(caller(json!({"sub": "shop"})).expect("claims").may_act_for(&b));
        for bad in ["", "a b", "a/b"] {
            let refused = caller(json!({"user_id": bad})).expect_err("not everybody's token");
            assert_eq!(refused.code, Code::Forbidden);
        }
    }

    #[test]
    fn the_admin_routes_need_a_role_and_a_name() {
        let operator = caller(json!({"sub": "jane", "role": "operator"})).expect("claims");
        assert_eq!(code(operator.require(Role::Operator)), Ok("jane".to_owned()));
        assert_eq!(code(operator.require(Role::Viewer)), Ok("jane".to_owned()));
        let viewer = caller(json!({"sub": "joe", "role": "viewer"})).expect("claims");
        assert_eq!(code(viewer.require(Role::Viewer)), Ok("joe".to_owned()));
        assert_eq!(code(viewer.require(Role::Operator)), Err(Code::Forbidden));
        for claims in [json!({"sub": "x"}), json!({"sub": "x", "role": "Operator"}), json!({"role": "operator"})] {
            assert_eq!(code(caller(claims).expect("claims").require(Role::Viewer)), Err(Code::Forbidden));
        }
        let nobody = Caller::of(&request(json!({"requestContext": {"http": {"method": "GET"}}}))).expect("no claims");
        assert_eq!(code(nobody.require(Role::Viewer)), Err(Code::Unauthorized));
    }
}
