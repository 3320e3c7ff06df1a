//! Access to the page and the API: from this machine, or with the token.

use std::net::IpAddr;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::watch;

use super::keys::Keys;

/// Protects from DNS rebinding: another site's page, whose name leads here, gets no answer.
const ELSEWHERE: (StatusCode, &str) = (
    StatusCode::MISDIRECTED_REQUEST,
    "this page is served as localhost or by IP address only, to protect private data from DNS rebinding\n",
);

/// Lets a request for metrics through, unless they are private and the request names another host
/// (DNS rebinding). Every browser sends the name.
pub(super) async fn host(State(private): State<bool>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    if private && headers.contains_key(header::HOST) && !is_local(headers) {
        return ELSEWHERE.into_response();
    }
    next.run(request).await
}

/// Ends connections when another process serves, so that their clients reconnect to it.
pub(super) async fn send_on(
    State(retired): State<watch::Receiver<bool>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    if *retired.borrow() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Lets a request through or refuses it, and sets the security headers of each answer. Without a
/// token the page is served to this machine alone.
pub(super) async fn watch(State(keys): State<Keys>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let refusal = match &keys.token() {
        Some(token) if !knows(headers, token) => Some((
            StatusCode::UNAUTHORIZED,
            "a token is required: as a bearer token, or as the password of any user\n",
        )),
        None if !is_local(headers) => Some(ELSEWHERE),
        _ => None,
    };
    let mut response = match refusal {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        let basic = HeaderValue::from_static("Basic realm=\"Lockstead\", charset=\"UTF-8\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, basic);
    }
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn knows(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((scheme, rest)) = given.and_then(|given| given.split_once(' ')) else {
        return false;
    };
    let word = if scheme.eq_ignore_ascii_case("bearer") {
        rest.as_bytes().to_vec()
    } else if scheme.eq_ignore_ascii_case("basic") {
        let pair = STANDARD.decode(rest.trim()).unwrap_or_default();
        let at = pair.iter().position(|b| *b == b':').map_or(pair.len(), |at| at + 1);
        pair[at..].to_vec()
    } else {
        return false;
    };
    verify_slices_are_equal(&word, token.as_bytes()).is_ok()
}

/// Whether the request names `localhost` or an address, not a name that others control.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if port.is_empty() || port.starts_with(':') => name,
            _ => return false,
        },
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).expect("a header"))])
    }

    #[test]
    fn names_of_others_do_not_lead_here() {
        for (host, local) in [
            ("localhost:6080", true),
            ("LOCALHOST", true),
            ("127.0.0.1:6080", true),
            ("[::1]:6080", true),
            ("10.1.2.3", true),
            ("attacker.example:6080", false),
            ("localhost.attacker.example", false),
            ("127.0.0.1.attacker.example", false),
            ("[::1].attacker.example", false),
            ("", false),
        ] {
            assert_eq!(is_local(&headers(header::HOST, host)), local, "{host}");
        }
        assert!(!is_local(&HeaderMap::new()));
    }

    #[test]
    fn the_token_is_a_bearer_or_a_password() {
        for (given, good) in [
            ("Bearer tulip", true),
            ("bearer tulip", true),
            ("Basic YW55Ym9keTp0dWxpcA==", true), // `anybody:tulip`
            ("Basic OnR1bGlw", true),             // :tulip
            ("Basic dHVsaXA=", false),            // tulip
            ("Bearer tulip2", false),
            ("Bearer ", false),
            ("Basic !", false),
            ("Digest tulip", false),
            ("tulip", false),
        ] {
            assert_eq!(knows(&headers(header::AUTHORIZATION, given), "tulip"), good, "{given}");
        }
        assert!(!knows(&HeaderMap::new(), "tulip"));
    }
}
