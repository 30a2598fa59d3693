//! From a request to its route, and to an answer in any case.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Admin;
use super::auth::{Bearer, Link, admit};
use super::problem::Problem;
use super::routes::ROUTES;

/// The longest body of a request.
const MOST_BODY: usize = 64 << 10;

/// How long a body may take to come, and an answer to be found.
const BODY_TIME: Duration = Duration::from_secs(10);
const ANSWER_TIME: Duration = Duration::from_secs(30);

/// A request that its route understands.
pub(crate) struct Call {
    pub(crate) admin: Arc<Admin>,
    pub(crate) bearer: Bearer,
    query: Vec<(String, String)>,
    body: Bytes,
}

/// The answer to a call.
pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// A good answer: JSON.
pub(crate) struct Reply(pub(crate) Bytes);

impl Reply {
    /// # Errors
    /// Never: nothing that is said here cannot be written.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, Problem> {
        match serde_json::to_vec(value) {
            Ok(bytes) => Ok(Self(bytes.into())),
            Err(error) => Err(Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "The answer cannot be written",
                error.to_string().into(),
            )),
        }
    }
}

/// A route.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Whether it changes something, so that not every bearer may take it.
    pub(crate) changes: bool,
    pub(crate) run: fn(Call) -> Answer,
}

impl Call {
    /// The body, whose fields are all known.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let what = without_value(&error.to_string());
            Problem::bad_request(format!("The body is not what belongs here: {what}"))
        })
    }

    /// The same, which may be left out.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn optional_body<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.body.is_empty() { Ok(T::default()) } else { self.body() }
    }

    /// # Errors
    /// There is a parameter that is not `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.query.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(Problem::bad_request(format!("There is no parameter `{name}` here; allowed: {known}.")))
            }
        }
    }

    /// A parameter of the query.
    ///
    /// # Errors
    /// It comes several times.
    pub(crate) fn parameter(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut found = self.query.iter().filter(|(own, _)| own == name);
        match (found.next(), found.next()) {
            (first, None) => Ok(first.map(|(_, value)| value.as_str())),
            _ => Err(Problem::bad_request(format!("The parameter `{name}` comes several times."))),
        }
    }

    /// A number in the query, from 1 to `most`.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, Problem> {
        let Some(text) = self.parameter(name)? else { return Ok(default) };
        let number = if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None };
        number.filter(|number| (1..=most).contains(number)).ok_or_else(|| {
            Problem::bad_request(format!("The parameter `{name}` is a whole number from 1 to {most}."))
        })
    }
}

/// The answer to any request.
pub(crate) async fn answer<B>(admin: Arc<Admin>, link: Link, request: Request<B>) -> Response<Bytes>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let is_head = head.method == Method::HEAD;
    let mut response = match find(admin, &link, &head, body).await {
        Ok(Reply(bytes)) => {
            let mut response = Response::new(bytes);
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(problem) => problem.response(),
    };
    if is_head {
        *response.body_mut() = Bytes::new();
    }
    response
}

async fn find<B>(admin: Arc<Admin>, link: &Link, head: &Parts, body: B) -> Result<Reply, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let bearer = admit(&admin.settings, head, link)?;
    let route = route(head)?;
    bearer.may(route.changes)?;
    let query = query(head.uri.query().unwrap_or_default())?;
    let body = if route.method == Method::POST { read(&head.headers, body).await? } else { Bytes::new() };
    let call = Call { admin, bearer, query, body };
    timeout(ANSWER_TIME, (route.run)(call)).await.unwrap_or_else(|_| {
        let detail = "It was not answered in time; whether it was done is unknown.";
        Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", "This took too long", detail.into()))
    })
}

fn route(head: &Parts) -> Result<&'static Route, Problem> {
    let path = head.uri.path();
    let mut here = ROUTES.iter().filter(|route| route.path == path).peekable();
    if here.peek().is_none() {
        return Err(Problem::not_found(
            "unknown-path",
            "There is no such path; GET /v1/openapi.json describes all.",
        ));
    }
    if let Some(found) = here.clone().find(|route| route.method == head.method) {
        return Ok(found);
    }
    let allow = here.map(|route| route.method.as_str()).collect::<Vec<_>>().join(", ");
    let detail = format!("This path knows {allow}.");
    let mut problem = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        "This path does not know the method",
        detail.into(),
    );
    problem.allow = HeaderValue::from_str(&allow).ok();
    Err(problem)
}

fn query(text: &str) -> Result<Vec<(String, String)>, Problem> {
    let decode = |part: &str| {
        let decoded = percent_encoding::percent_decode_str(part).decode_utf8();
        decoded.map(std::borrow::Cow::into_owned).map_err(|_| Problem::bad_request("The query is not UTF-8."))
    };
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        })
        .collect()
}

/// The body, which says that it is JSON: no form of a web page can say so.
async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let too_large = || {
        let detail = format!("A body has at most {MOST_BODY} bytes.");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail.into())
    };
    if body.size_hint().lower() > MOST_BODY as u64 {
        return Err(too_large());
    }
    let read = timeout(BODY_TIME, Limited::new(body, MOST_BODY).collect()).await;
    let Ok(read) = read else {
        let detail = "The body did not come in time.";
        return Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow",
            "The request is too slow",
            detail.into(),
        ));
    };
    let body = match read {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large()),
        Err(_) => return Err(Problem::bad_request("The body ended too early.")),
    };
    if body.is_empty() || is_json(headers) {
        return Ok(body);
    }
    let detail = "Say `Content-Type: application/json`.";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", "The body is not JSON", detail.into()))
}

/// What is wrong with a body, without the value that is in the wrong place: it may be a secret.
fn without_value(error: &str) -> String {
    let typed = |start: &str| error.starts_with(start);
    if !typed("invalid type: ") && !typed("invalid value: ") {
        return error.to_owned();
    }
    let value = error.find(['"', '`']);
    let split = value.and_then(|at| error.split_at_checked(at)).zip(error.rsplit_once(", expected "));
    let Some(((kind, _), (_, expected))) = split else { return error.to_owned() };
    format!("{}, expected {expected}", kind.trim_end())
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let essence = line.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}
