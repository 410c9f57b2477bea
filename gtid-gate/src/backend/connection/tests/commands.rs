//! What a connection says after its login: reset, settings, statements that are closed.

use super::*;
use crate::test_support::rest;

/// A connection that is logged in, to a server that is lost after so many bytes.
fn connected(role: Role, lost_after: usize) -> (Box<Backend>, tokio::io::DuplexStream) {
    let (near, far) = duplex(PIPE);
    let stream = Lost::after(lost_after, near);
    (Backend::scripted(&server(role), stream), far)
}

#[tokio::test(start_paused = true)]
async fn a_reset_and_its_settings_are_one_exchange_and_a_lost_server_completes_none() {
    let commands = [
        packet(0, &[COM_RESET_CONNECTION]),
        packet(0, &query(READ_ONLY)),
        packet(0, &query("SET a = 1")),
    ];
    let steps = [
        Step::Expects(commands.concat()),
        Step::Sends(packet(1, OK).repeat(3)),
    ];
    for lost_after in 0..=total(&steps) {
        let (mut backend, mut far) = connected(Role::Satellite, lost_after);
        backend.add_statement(StatementKey([1; 32]), 1);
        (backend.autocommit, backend.replayed) = (false, 9);
        let settings = ["SET a = 1".to_owned()];
        let resetting = async {
            let outcome = tokio::time::timeout(WAIT, backend.reset_to(&settings)).await;
            (outcome.expect("an end"), backend)
        };
        let playing = play(&steps, &mut far);
        tokio::pin!(playing);
        let (outcome, backend) = tokio::select! {
            done = resetting => done,
            Err(error) = &mut playing => panic!("the gate left: {error}"),
        };
        if lost_after < total(&steps) {
            assert!(
                matches!(outcome, Err(BackendError::Lost(_))),
                "{lost_after}"
            );
            continue;
        }
        outcome.unwrap();
        assert!(backend.autocommit && backend.replayed == 0 && backend.statements.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_master_is_reset_without_the_rules_of_satellites() {
    let (mut master, mut far) = connected(Role::Master, usize::MAX);
    let steps = [expects(0, &[COM_RESET_CONNECTION]), sends(1, OK)];
    let (outcome, played) = tokio::join!(master.reset(), play(&steps, &mut far));
    assert!(outcome.is_ok() && played.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_a_server_refuses_fails_the_reset() {
    let (mut master, mut far) = connected(Role::Master, usize::MAX);
    let commands = [
        packet(0, &[COM_RESET_CONNECTION]),
        packet(0, &query("SET a = 1")),
    ];
    let steps = [
        Step::Expects(commands.concat()),
        sends(1, OK),
        sends(1, b"\xff\xa9\x04#HY000Unknown system variable 'a'"),
    ];
    let settings = ["SET a = 1".to_owned()];
    let (outcome, played) = tokio::join!(master.reset_to(&settings), play(&steps, &mut far));
    assert!(matches!(outcome, Err(BackendError::Sql(e)) if e.code == 1193));
    played.unwrap();
}

#[tokio::test(start_paused = true)]
async fn statements_are_closed_along_with_the_next_command() {
    let (mut backend, mut far) = connected(Role::Master, usize::MAX);
    let [one, two, three] = [1, 2, 3].map(|n| StatementKey([n; 32]));
    backend.add_statement(one, 0x0102);
    backend.add_statement(one, 0x0304);
    backend.add_statement(two, 0x0506);
    backend.forget_statement(&two);
    backend.forget_statement(&three);
    let steps = [
        expects(0, &[COM_STMT_CLOSE, 2, 1, 0, 0]),
        expects(0, &[COM_STMT_CLOSE, 6, 5, 0, 0]),
        expects(0, b"\x02shop"),
        sends(1, OK),
    ];
    let (outcome, played) = tokio::join!(backend.select_database("shop"), play(&steps, &mut far));
    assert!(outcome.is_ok() && played.is_ok());
    assert_eq!(backend.database.as_deref(), Some("shop"));
    assert_eq!(backend.statements[&one].id, 0x0304);
    backend.add_statement(two, 7);
    backend.trim_statements(1);
    assert_eq!(backend.statements.len(), 1);
    backend.trim_statements(0);
    backend.quit().await;
    let said = rest(&mut far).await;
    let closed = |id: u32| {
        let close = [&[COM_STMT_CLOSE][..], &id.to_le_bytes()].concat();
        let close = packet(0, &close);
        said.windows(close.len()).any(|w| w == close)
    };
    assert!(closed(0x0304) && closed(7));
    assert_eq!(said.len(), 9 + 9 + 5);
    assert!(said.ends_with(&packet(0, &[COM_QUIT])));
}
