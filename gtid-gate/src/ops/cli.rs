//! The commands of an operator on the gate's own host: they ask the HTTP side of the running gate.
//!
//! In: the command line, and the token in GATE_ADMIN_TOKEN(_FILE), as the gate itself has it. Out: its answer on stdout, an exit status: 0 done, 1 refused or no answer, 64 usage.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

pub const USAGE: &str =
    "usage: gtid-gate                  serve; settings come from the environment
       gtid-gate hold-port        in the host's network: bind what a gate in a container's network accepts on
       gtid-gate classify         statements on stdin, one a line: which of them satellites may answer; asks no server
       gtid-gate health           is the running gate ready?
       gtid-gate servers          the servers as the gate sees them
       gtid-gate statements       all statements that are known: class, times, where they ran and why, what to change; as JSON
       gtid-gate add HOST:PORT    a satellite more
       gtid-gate drain NAME       nothing new for it; what is open there may end
       gtid-gate undrain NAME     as before
       gtid-gate limit NAME running=N connections=N
                                  what it gets at most: statements at a time, connections (one of both or both);
                                  running=auto: the gate finds it again; default: as the settings say
       gtid-gate remove NAME      forget a satellite that is down, or drained and no longer used";
const WITHIN: Duration = Duration::from_secs(3);

/// Runs one command; nothing if it is none.
pub fn run(arguments: &[&str]) -> Option<ExitCode> {
    let token = token(&|name| std::env::var(name).ok());
    let request = |method, path: &str, body| request(method, path, token.as_deref(), body);
    let request = match arguments {
        ["health"] => request("GET", "/ready", ""),
        ["servers"] => request("GET", "/servers", ""),
        ["statements"] => request("GET", "/statements?all", ""),
        ["add", address] => {
            let body = serde_json::json!({ "address": address }).to_string();
            request("POST", "/servers", &body)
        }
        [action @ ("drain" | "undrain"), name] => {
            request("POST", &format!("/servers/{}/{action}", escaped(name)), "")
        }
        ["limit", name, limits @ ..] => {
            let body = limits_of(limits)?;
            request("PUT", &format!("/servers/{}/limits", escaped(name)), &body)
        }
        ["remove", name] => request("DELETE", &format!("/servers/{}", escaped(name)), ""),
        _ => return None,
    };
    Some(match ask(&request) {
        Ok((status, body)) if (200..300).contains(&status) => {
            print!("{body}");
            if let Some(warning) = warning(&body) {
                eprintln!("gtid-gate: warning: {warning}");
            }
            ExitCode::SUCCESS
        }
        Ok((_, body)) => {
            eprint!("gtid-gate: {body}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("gtid-gate: no answer: {error}");
            ExitCode::FAILURE
        }
    })
}

/// What was done does not hold for ever.
fn warning(body: &str) -> Option<String> {
    let answer: serde_json::Value = serde_json::from_str(body).ok()?;
    answer["warning"].as_str().map(str::to_owned)
}

/// `running=N connections=N` as JSON, with `default` as a number, and `auto` as one of statements; nothing if it is anything else.
fn limits_of(words: &[&str]) -> Option<String> {
    let mut limits = serde_json::Map::new();
    for word in words {
        let (name, value) = word.split_once('=')?;
        let value = match (name, value) {
            ("running", "auto") | (_, "default") => value.into(),
            _ => value.parse::<usize>().ok()?.into(),
        };
        limits.insert(name.to_owned(), value);
    }
    (!limits.is_empty()).then(|| serde_json::Value::Object(limits).to_string())
}

fn request(method: &str, path: &str, token: Option<&str>, body: &str) -> String {
    let length = body.len();
    let token = token.map_or(String::new(), |t| format!("Authorization: Bearer {t}\r\n"));
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}Content-Length: {length}\r\n\r\n{body}"
    )
}

/// Nothing where there is none: the gate says what it is needed for.
fn token(get: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let file = || std::fs::read_to_string(get("GATE_ADMIN_TOKEN_FILE")?).ok();
    let given = get("GATE_ADMIN_TOKEN").filter(|token| !token.is_empty());
    let token = given.or_else(file)?;
    let token = token.trim_end_matches(['\r', '\n']);
    (!token.contains(char::is_control)).then(|| token.to_owned())
}

/// A name as part of a path.
fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
    let escape = |b: u8| match plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    };
    name.bytes().map(escape).collect()
}

fn ask(request: &str) -> std::io::Result<(u16, String)> {
    let listen = std::env::var("GATE_STATUS_LISTEN").unwrap_or_default();
    let port = listen.rsplit(':').next().and_then(|p| p.parse().ok());
    let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(8080)));
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    parse(&answer).ok_or_else(|| std::io::Error::other("not an HTTP answer"))
}

fn parse(answer: &str) -> Option<(u16, String)> {
    let status = answer.split_whitespace().nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_status_and_body() {
        let answer = "HTTP/1.1 409 Conflict\r\nA: b\r\n\r\nin use\n";
        assert_eq!(parse(answer), Some((409, "in use\n".to_owned())));
        assert_eq!(parse("garbage"), None);
    }

    #[test]
    fn the_token_of_the_gate_is_sent_and_nothing_else_with_it() {
        let set = |token: &'static str| {
            move |name: &str| (name == "GATE_ADMIN_TOKEN").then(|| token.to_owned())
        };
        let token = token(&set("a b\n"));
        let sent = request("GET", "/", token.as_deref(), "");
        assert!(sent.contains("\r\nAuthorization: Bearer a b\r\n"), "{sent}");
        assert_eq!(super::token(&set("a\r\nHost: b")), None);
        assert!(!request("GET", "/", None, "").contains("Authorization"));
    }

    #[test]
    fn a_name_can_not_leave_its_place_in_the_path() {
        assert_eq!(escaped("a/../b?x"), "a%2F..%2Fb%3Fx");
        assert_eq!(escaped("satellite-1:3306"), "satellite-1:3306");
    }

    #[test]
    fn a_limit_is_a_number_or_found() {
        let limits = |words: &[&str]| limits_of(words);
        assert_eq!(
            limits(&["running=auto"]).as_deref(),
            Some(r#"{"running":"auto"}"#)
        );
        assert_eq!(limits(&["running=3"]).as_deref(), Some(r#"{"running":3}"#));
        assert_eq!(
            limits(&["connections=default"]).as_deref(),
            Some(r#"{"connections":"default"}"#)
        );
        assert_eq!(limits(&["connections=auto"]), None);
    }

    #[test]
    fn what_is_no_command_is_left_to_the_caller() {
        assert!(run(&["help"]).is_none() && run(&["drain"]).is_none());
        assert!(run(&["limit", "a"]).is_none() && run(&["limit", "a", "running=x"]).is_none());
    }
}
