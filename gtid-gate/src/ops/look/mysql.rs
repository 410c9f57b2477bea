//! What a server says about itself: connections, uptime, transactions, disk. On a connection of its own, so that no read waits for it.
//!
//! In: a server. Out: numbers by name. Must never: ask for what costs the server more than a look at counters.

use super::polled::{EVERY, Polled, Teller};
use crate::backend::{Monitor, TextResult};
use crate::gtid::GtidSet;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::sleep;

/// Also how many transactions the server has executed.
const QUESTION: &str = "SELECT LOWER(VARIABLE_NAME), VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME IN (\
    'Uptime','Threads_connected','Threads_running','Questions','Innodb_buffer_pool_bytes_data','Innodb_buffer_pool_reads',\
    'Innodb_buffer_pool_read_requests','Innodb_data_written','Innodb_data_fsyncs','Innodb_row_lock_current_waits') \
    UNION ALL SELECT 'buffer_pool', @@global.innodb_buffer_pool_size \
    UNION ALL SELECT 'transactions', @@global.gtid_executed";

pub type Numbers = BTreeMap<String, u64>;

pub fn ask(monitor: Monitor) -> Polled<Numbers> {
    Polled::start(|teller| asking(monitor, teller))
}

async fn asking(monitor: Monitor, teller: Teller<Numbers>) {
    loop {
        if let Ok(mut backend) = monitor.connect().await {
            while let Ok(answer) = monitor
                .bounded(backend.query(QUESTION), Duration::ZERO)
                .await
            {
                teller.tell(numbers(&answer));
                sleep(EVERY).await;
            }
        }
        sleep(EVERY).await;
    }
}

/// What is no number is left out.
fn numbers(answer: &TextResult) -> Numbers {
    let row = |at| {
        let (name, value) = (answer.text(at, 0)?, answer.text(at, 1)?);
        let number = match name {
            "transactions" => GtidSet::parse(value).ok()?.count(),
            _ => value.parse().ok()?,
        };
        Some((name.to_owned(), number))
    };
    (0..answer.rows.len()).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_counted_and_what_is_no_number_is_left_out() {
        let rows = [
            ("uptime", "17"),
            (
                "transactions",
                "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9:11",
            ),
            ("odd", "x"),
        ];
        let cell = |text: &str| Some(text.as_bytes().to_vec());
        let answer = TextResult {
            report: Default::default(),
            types: vec![],
            rows: rows.iter().map(|(n, v)| vec![cell(n), cell(v)]).collect(),
        };
        let numbers = numbers(&answer);
        assert_eq!(
            (numbers["uptime"], numbers["transactions"], numbers.len()),
            (17, 10, 2)
        );
    }
}
