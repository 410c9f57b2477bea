//! Where a satellite is, as it says so itself.

use super::*;
use crate::backend::Waiter;

/// Follows the satellite over a connection in memory that is lost after so many bytes, to its end.
async fn follow(shared: &Shared, index: &ReadIndex, lost_after: usize, steps: &[Step]) -> bool {
    let (server, (near, mut far)) = (satellite(shared), duplex(PIPE));
    let backend = Backend::scripted(&server, Lost::after(lost_after, near));
    let monitor = monitor(shared, &server);
    let following = serve_until_lost(&monitor, Ok(backend), index, &shared.gate.servers.master);
    let playing = async {
        let played = play(steps, &mut far).await;
        assert!(played.is_ok() || lost_after < total(steps));
        drop(far);
    };
    let both = async { tokio::join!(following, playing) };
    tokio::time::timeout(WAIT, both).await.expect("an end").0
}

#[tokio::test]
async fn a_satellite_that_is_lost_at_any_byte_of_an_answer_has_no_position() {
    let shared = servers();
    let index = master_that_has(&shared, 9);
    let server = satellite(&shared);
    let steps = [expects(0, &query(ASKED)), answer(5)];
    for lost_after in 0..=total(&steps) {
        publish(&server, 3);
        let losses = server.losses();
        let served = follow(&shared, &index, lost_after, &steps).await;
        assert_eq!(
            served,
            lost_after == total(&steps),
            "lost after {lost_after}"
        );
        assert_eq!(has(&server), None, "lost after {lost_after}");
        assert!(server.losses() > losses);
    }
}

#[tokio::test]
async fn a_satellite_is_asked_to_wait_for_what_a_read_lacks_and_the_read_is_woken() {
    let shared = servers();
    let index = master_that_has(&shared, 9);
    let (server, (near, mut far)) = (satellite(&shared), duplex(PIPE));
    let monitor = monitor(&shared, &server);
    let backend = Backend::scripted(&server, near);
    let woken = Arc::new(tokio::sync::Notify::new());
    let waiting = server.wait_for(Waiter {
        required: set(7),
        woken: woken.clone(),
    });
    let after = format!(
        "SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', {:.3}), @@global.gtid_owned, @@global.gtid_executed",
        text(7),
        monitor.wait.as_secs_f64()
    );
    let late = Step::Sends(one_row(&["1", "", &text(6)]));
    let there = Step::Sends(one_row(&["0", "", &text(8)]));
    let steps = [
        expects(0, &query(ASKED)),
        answer(5),
        expects(0, &query(&after)),
        late,
        expects(0, &query(&after)),
        there,
    ];
    let following = serve_until_lost(&monitor, Ok(backend), &index, &shared.gate.servers.master);
    let reading = async {
        play(&steps, &mut far).await.unwrap();
        woken.notified().await;
        assert_eq!(has(&server), Some(set(8)));
    };
    tokio::select! {
        _ = following => panic!("lost"),
        read = tokio::time::timeout(WAIT, reading) => read.expect("woken"),
    }
    drop(waiting);
}

#[tokio::test]
async fn a_satellite_that_has_what_the_master_lacks_is_lost_before_anybody_reads_from_it() {
    let shared = servers();
    let index = master_that_has(&shared, 9);
    let steps = [expects(0, &query(ASKED)), answer(10)];
    assert!(
        !follow(&shared, &index, usize::MAX, &steps).await,
        "never served"
    );
    assert_eq!(has(&satellite(&shared)), None);
}

#[tokio::test]
async fn an_answer_that_is_no_set_is_a_loss() {
    let shared = servers();
    let index = master_that_has(&shared, 9);
    for cells in [&["", "what"][..], &["what", ""], &[""]] {
        let steps = [expects(0, &query(ASKED)), Step::Sends(one_row(cells))];
        assert!(
            !follow(&shared, &index, usize::MAX, &steps).await,
            "{cells:?}"
        );
    }
    let refusal = sends(1, b"\xff\x19\x04#42000no");
    assert!(
        !follow(
            &shared,
            &index,
            usize::MAX,
            &[expects(0, &query(ASKED)), refusal]
        )
        .await
    );
}

/// Nobody waits for what it lacks: it would not be asked for a long time.
#[tokio::test]
async fn a_satellite_that_is_short_of_turns_is_asked_how_far_it_is_behind() {
    let shared = servers();
    let index = master_that_has(&shared, 9);
    let (server, master) = (satellite(&shared), &shared.gate.servers.master);
    let (near, mut far) = duplex(PIPE);
    let monitor = monitor(&shared, &server);
    let backend = Backend::scripted(&server, near);
    let following = serve_until_lost(&monitor, Ok(backend), &index, master);
    let looking = async {
        let question = [expects(0, &query(ASKED)), answer(9)];
        play(&question, &mut far).await.unwrap();
        while server.position().is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.found.lag(), Duration::ZERO);
        publish(master, 10);
        let since = Instant::now();
        shared.gate.look(&server);
        play(&question, &mut far).await.unwrap();
        while server.found.lag() == Duration::ZERO {
            assert!(since.elapsed() < WAIT, "no lag");
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = following => panic!("lost"),
        looked = tokio::time::timeout(WAIT, looking) => looked.expect("a question"),
    }
}
