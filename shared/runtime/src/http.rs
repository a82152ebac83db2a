//! HTTP as API Gateway's HTTP API hands it to a function (payload format 2.0), and the answers it takes.
//!
//! A handler reads a request with these functions, each of which answers a [`Problem`](crate::problem::Problem) that
//! [`problem_response`] turns into the refusal, and never looks at the event itself.

mod body;
mod caller;
mod reason;
mod request;
mod response;

pub use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest as Request, ApiGatewayV2httpResponse as Response};

pub use self::body::{ORDER_BODY_BYTES, Object, WEBHOOK_BODY_BYTES, body_bytes, json_body, parse_json};
pub use self::caller::{Caller, Role};
pub use self::reason::checked_reason;
pub use self::request::{header, method, path_parameter, query_parameter, segments};
pub use self::response::{json_response, problem_response, response};
