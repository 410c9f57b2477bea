//! One question to the master for many reads.

use super::*;
use crate::test_support::{OK, greeting};
use tokio::net::TcpListener;

#[tokio::test]
async fn a_question_answers_what_arrived_before_it_was_sent_and_nothing_that_arrived_later() {
    let shared = servers();
    let (index, mut far) = ask_master(&shared, usize::MAX);
    let mut first = Box::pin(index.ask(WAIT));
    begun(&mut first).await;
    played(&[expects(0, &query(ASKED))], &mut far).await;
    let (mut second, mut third) = (Box::pin(index.ask(WAIT)), Box::pin(index.ask(WAIT)));
    let arrived = Instant::now();
    begun(&mut second).await;
    begun(&mut third).await;
    played(&[answer(5)], &mut far).await;
    assert_eq!(first.await.unwrap().executed, set(5));
    assert_eq!(has(&shared.gate.servers.master), Some(set(5)));
    played(&[expects(0, &query(ASKED))], &mut far).await;
    begun(&mut second).await;
    begun(&mut third).await;
    played(&[answer(9)], &mut far).await;
    let (second, third) = (second.await.unwrap(), third.await.unwrap());
    assert!(Arc::ptr_eq(&second, &third) && second.executed == set(9));
    assert!(second.asked >= arrived);
    assert_eq!(shared.metrics.master_questions.get(), 2);
}

#[tokio::test]
async fn a_master_that_is_lost_at_any_byte_fails_all_that_wait_and_has_no_position() {
    let shared = servers();
    let master = &shared.gate.servers.master;
    let steps = [expects(0, &query(ASKED)), answer(5)];
    for lost_after in 0..total(&steps) {
        publish(master, 3);
        let losses = master.losses();
        let (index, mut far) = ask_master(&shared, lost_after);
        let both = async { tokio::join!(index.ask(WAIT), index.ask(WAIT), play(&steps, &mut far)) };
        let (first, second, _) = tokio::time::timeout(WAIT, both).await.expect("answers");
        assert_eq!(first.err(), Some(Unanswered), "lost after {lost_after}");
        assert_eq!(second.err(), Some(Unanswered), "lost after {lost_after}");
        assert_eq!(has(master), None, "lost after {lost_after}");
        assert!(master.losses() > losses);
    }
}

#[tokio::test(start_paused = true)]
async fn a_master_that_hangs_is_given_up_and_has_no_position() {
    let shared = servers();
    let master = &shared.gate.servers.master;
    publish(master, 3);
    let (index, _far) = ask_master(&shared, usize::MAX);
    let asked = tokio::time::Instant::now();
    assert!(index.ask(2 * WAIT).await.is_err());
    assert_eq!(asked.elapsed(), shared.config.server_timeout);
    assert_eq!(has(master), None);
}

#[tokio::test]
async fn nudges_while_a_question_is_under_way_are_one() {
    let shared = servers();
    let (index, mut far) = ask_master(&shared, usize::MAX);
    index.nudge();
    index.nudge();
    played(&[expects(0, &query(ASKED)), answer(5)], &mut far).await;
    let ask = index.ask(WAIT);
    let answers = [expects(0, &query(ASKED)), answer(6)];
    let (asked, _) = tokio::join!(ask, played(&answers, &mut far));
    assert_eq!(asked.unwrap().executed, set(6));
    assert_eq!(shared.metrics.master_questions.get(), 2);
}

#[tokio::test]
async fn a_connection_that_went_stale_while_idle_costs_its_read_no_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let shared = shared(&[
        ("GATE_KEEPALIVE_MS", "600000"),
        ("GATE_MASTER", &address),
        ("GATE_USER", "gate"),
    ]);
    let (index, far) = ask_master(&shared, usize::MAX);
    drop(far);
    let identity = "SELECT @@global.report_host, @@global.server_uuid, CURRENT_USER(), @@global.max_connections";
    let steps = [
        sends(0, &greeting("caching_sha2_password")),
        Step::Checks(
            4 + 92,
            Box::new(|login| assert_eq!(login[4 + 32..][..5], *b"gate\0")),
        ),
        sends(2, OK),
        expects(0, &query(identity)),
        Step::Sends(one_row(&["boot-2", "uuid-1", "gate@%"])),
        expects(0, &query(ASKED)),
        answer(7),
    ];
    let serving = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        play(&steps, &mut stream).await.unwrap();
        stream
    };
    let both = async { tokio::join!(index.ask(WAIT), serving) };
    let (asked, _stream) = tokio::time::timeout(WAIT, both).await.expect("an answer");
    let asked = asked.unwrap();
    assert_eq!(
        (&*asked.incarnation, &asked.executed),
        ("boot-2/uuid-1", &set(7))
    );
}
