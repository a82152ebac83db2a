//! `openapi.yaml` and the system say the same: every route, every refusal, every field of real answers, every bound of a request.

mod answers;
mod openapi;
mod requests;
mod routes;
