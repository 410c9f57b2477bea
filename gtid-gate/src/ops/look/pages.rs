//! The metrics that capture and the appliers show over HTTP, asked for once a second.
//!
//! In: an address. Out: samples by name. Must never: take more than a bound from a page, or wait longer for it.

use super::polled::{EVERY, Polled, Teller};
use crate::ops::config::Address;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

const WITHIN: Duration = Duration::from_secs(2);
const MOST_BYTES: u64 = 1 << 20;

/// `name{label="value"} number`, the labels as they stand there.
#[derive(Debug, Default, PartialEq)]
pub struct Samples(Vec<(String, String, f64)>);

pub fn ask(address: Address) -> Polled<Samples> {
    Polled::start(|teller| asking(address, teller))
}

async fn asking(address: Address, teller: Teller<Samples>) {
    loop {
        if let Ok(Ok(text)) = timeout(WITHIN, page(&address)).await {
            teller.tell(Samples::parse(&text));
        }
        sleep(EVERY).await;
    }
}

async fn page(address: &Address) -> io::Result<String> {
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut answer).await?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.split(' ').nth(1) == Some("200") => Ok(body.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

impl Samples {
    pub fn parse(text: &str) -> Self {
        let sample = |line: &str| {
            let (what, number) = line.rsplit_once(' ')?;
            let (name, labels) = what.split_once('{').unwrap_or((what, ""));
            let labels = labels.strip_suffix('}').unwrap_or(labels);
            Some((name.to_owned(), labels.to_owned(), number.parse().ok()?))
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.filter_map(sample).collect())
    }

    fn of<'a>(&'a self, name: &str) -> impl Iterator<Item = (&'a str, f64)> {
        let named = self.0.iter().filter(move |(n, _, _)| n == name);
        named.map(|(_, labels, number)| (labels.as_str(), *number))
    }

    /// Over all labels; nothing if there is no such sample.
    pub fn sum(&self, name: &str) -> Option<f64> {
        self.of(name).map(|(_, number)| number).reduce(|a, b| a + b)
    }

    /// By the value of the only label.
    pub fn by_label<'a>(&'a self, name: &str) -> BTreeMap<&'a str, f64> {
        let value = |labels| str::split(labels, '"').nth(1);
        self.of(name)
            .filter_map(|(labels, number)| Some((value(labels)?, number)))
            .collect()
    }

    /// Of a histogram: upper bounds and how many were below each.
    pub fn buckets(&self, name: &str) -> Vec<(f64, u64)> {
        let named = format!("{name}_bucket");
        let bound = |labels: &str| {
            labels
                .split("le=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        let buckets = self
            .of(&named)
            .filter_map(|(labels, count)| Some((bound(labels)?, count as u64)));
        buckets.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    const TEXT: &str = "# HELP a b\na_total{kind=\"x\"} 3\na_total{kind=\"y\"} 4\nb 0.5\n\
        h_bucket{le=\"0.1\"} 1\nh_bucket{le=\"+Inf\"} 2\nbroken\nno_number x\n";

    #[test]
    fn samples_are_summed_and_told_apart_by_their_label() {
        let samples = Samples::parse(TEXT);
        assert_eq!(
            (samples.sum("a_total"), samples.sum("b"), samples.sum("c")),
            (Some(7.0), Some(0.5), None)
        );
        assert_eq!(
            samples.by_label("a_total"),
            BTreeMap::from([("x", 3.0), ("y", 4.0)])
        );
        assert_eq!(samples.buckets("h"), [(0.1, 1), (f64::INFINITY, 2)]);
    }

    #[tokio::test]
    async fn a_page_is_read_and_an_error_is_not_taken_for_one() {
        for (status, told) in [("200 OK", true), ("503 Busy", false)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let address = Address {
                host: "127.0.0.1".into(),
                port,
            };
            let answering = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    stream.read_buf(&mut asked).await.unwrap();
                }
                assert!(asked.starts_with(b"GET /metrics "));
                let answer = format!("HTTP/1.1 {status}\r\nX: y\r\n\r\n{TEXT}");
                stream.write_all(answer.as_bytes()).await.unwrap();
            };
            let (read, ()) = tokio::join!(page(&address), answering);
            assert_eq!(read.ok(), told.then(|| TEXT.to_owned()));
        }
    }
}
