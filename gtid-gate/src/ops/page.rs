//! The status page: a page, a script and a style that are part of the program, and the events that the script shows.
//! - GET /          the page
//! - GET /page.js, /page.css
//! - GET /events    server-sent events: a snapshot a second (see `look`), as JSON
//!
//! In: a feed of snapshots. Out: responses. Must never: let the page run or load anything that is not from here, or give a web page
//! of another site the events.

use super::feed::Feed;
use super::http::Progress;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::StreamExt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

struct File {
    kind: &'static str,
    text: &'static str,
}

const PAGE: File = File {
    kind: "text/html; charset=utf-8",
    text: include_str!("page/page.html"),
};
const SCRIPT: File = File {
    kind: "text/javascript; charset=utf-8",
    text: include_str!("page/page.js"),
};
const STYLE: File = File {
    kind: "text/css; charset=utf-8",
    text: include_str!("page/page.css"),
};

pub fn routes(feed: Arc<Feed>) -> Router {
    Router::new()
        .route(
            "/",
            get(|asked: HeaderMap| async move { PAGE.answer(&asked) }),
        )
        .route(
            "/page.js",
            get(|asked: HeaderMap| async move { SCRIPT.answer(&asked) }),
        )
        .route(
            "/page.css",
            get(|asked: HeaderMap| async move { STYLE.answer(&asked) }),
        )
        .route("/events", get(events))
        .with_state(feed)
}

/// On every answer here.
const GUARDED: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

impl File {
    /// A browser asks each time, and is told in a few bytes that nothing has changed.
    fn answer(&self, asked: &HeaderMap) -> Response {
        let tag = self.tag();
        let known = asked.get(header::IF_NONE_MATCH);
        let kept = [
            (header::CACHE_CONTROL, "no-cache".to_owned()),
            (header::ETAG, tag.clone()),
        ];
        if known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
            return (StatusCode::NOT_MODIFIED, GUARDED, kept).into_response();
        }
        let kind = [(header::CONTENT_TYPE, self.kind)];
        (GUARDED, kept, kind, self.text).into_response()
    }

    fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }
}

async fn events(
    State(feed): State<Arc<Feed>>,
    Extension(progress): Extension<Progress>,
    asked: HeaderMap,
) -> Response {
    if is_of_another_site(&asked) {
        return (
            StatusCode::FORBIDDEN,
            GUARDED,
            "this is not for other web pages\n",
        )
            .into_response();
    }
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Or nginx would keep them back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let told = feed.watch().inspect(move |_| progress.made());
    (GUARDED, kind, Body::from_stream(told)).into_response()
}

fn is_of_another_site(asked: &HeaderMap) -> bool {
    let Some(origin) = asked.get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.to_str().unwrap_or_default();
    let site = origin.split_once("://").map(|(_, site)| site.as_bytes());
    site.is_none() || site != asked.get(header::HOST).map(|host| host.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_BYTES: usize = 60 << 10;

    fn asked(headers: &[(HeaderName, &str)]) -> HeaderMap {
        let each = headers
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().unwrap()));
        each.collect()
    }

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let all = [PAGE.text, SCRIPT.text, STYLE.text];
        let size: usize = all.iter().map(|text| text.len()).sum();
        assert!(size <= MOST_BYTES, "{size}");
        let without_svg = all.concat().replace("http://www.w3.org/2000/svg", "");
        assert!(!without_svg.contains("http://") && !without_svg.contains("https://"));
    }

    #[test]
    fn nothing_that_the_policy_would_refuse_is_in_the_page() {
        let page = PAGE.text;
        assert!(
            page.matches("<script").count() == 1
                && page.contains("<script src=\"page.js\" defer></script>")
        );
        let inline = [" style=", "<style", " onclick=", " onload=", "javascript:"];
        assert!(inline.iter().all(|what| !page.contains(what)));
        let unsafe_ways = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ];
        assert!(
            unsafe_ways.iter().all(|way| !SCRIPT.text.contains(way)),
            "textContent only"
        );
    }

    #[test]
    fn each_file_has_a_policy_without_inline_scripts_and_is_told_unchanged_by_its_tag() {
        let answer = PAGE.answer(&asked(&[]));
        assert_eq!(answer.status(), StatusCode::OK);
        let policy = answer.headers()[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-cache");
        let tag = answer.headers()[header::ETAG].to_str().unwrap();
        let again = PAGE.answer(&asked(&[(header::IF_NONE_MATCH, tag)]));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_ne!(SCRIPT.answer(&asked(&[])).headers()[header::ETAG], tag);
    }

    #[tokio::test]
    async fn events_are_a_stream_that_nobody_keeps_and_not_for_other_sites() {
        let feed = Feed::start(|| || "{}".to_owned());
        let told = |asked| events(State(feed.clone()), Extension(Progress::new()), asked);
        let own = asked(&[(header::ORIGIN, "http://a:8080"), (header::HOST, "a:8080")]);
        for asked in [asked(&[]), own] {
            let answer = told(asked).await;
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
            assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-store");
        }
        for origin in ["http://evil", "null"] {
            let other = asked(&[(header::ORIGIN, origin), (header::HOST, "a:8080")]);
            assert_eq!(told(other).await.status(), StatusCode::FORBIDDEN);
        }
    }
}
