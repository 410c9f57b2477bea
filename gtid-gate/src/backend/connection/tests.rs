//! A scripted server, byte by byte: each way to log in, and a server that is lost at every byte of it.

use super::super::times::DigestTimes;
use super::*;
use crate::net::tls::ExchangeKey;
use crate::ops::config::{Address, Limits, RunningLimit};
use crate::test_support::{
    FLAGS, Lost, NATIVE_PROOF, OK, PIPE, SHA2_PROOF, Step, WAIT, expects, greeting, greeting_with,
    login, nonce, one_row, packet, play, query, sends, total,
};
use tokio::io::duplex;

mod commands;
mod tls;

const DENIED: &[u8] = b"\xff\x15\x04#28000Access denied";
const WITH_DATABASE: u32 = 8;

fn server(role: Role) -> Arc<Server> {
    let address = Address {
        host: "server".into(),
        port: 3306,
    };
    let limits = Limits {
        running: RunningLimit::Fixed(1),
        connections: 1,
    };
    let (name, loss) = ("s".into(), Arc::default());
    let times = Arc::new(DigestTimes::new(Duration::ZERO));
    Arc::new(Server::new(1, name, role, address, limits, loss, times))
}

fn wish<'a>() -> Wish<'a> {
    Wish {
        user: "app",
        password: b"secret",
        capabilities: cap::FOR_QUESTIONS,
        charset: 255,
        database: None,
        attributes: &[],
        tls: None,
        socket: Socket::No,
    }
}

fn sha2_login() -> Vec<u8> {
    login(FLAGS, &SHA2_PROOF, b"caching_sha2_password\0")
}

fn begin() -> Vec<Step> {
    vec![
        sends(0, &greeting("caching_sha2_password")),
        expects(1, &sha2_login()),
    ]
}

fn with(mut steps: Vec<Step>, more: impl IntoIterator<Item = Step>) -> Vec<Step> {
    steps.extend(more);
    steps
}

/// 256 bytes that the server's key opens: the password with its zero byte, mixed with the nonce.
fn sealed(seq: u8, key: &Arc<ExchangeKey>) -> Step {
    let key = key.clone();
    let check = move |bytes: &[u8]| {
        assert_eq!(bytes[..4], [0, 1, 0, seq]);
        let mut clear = key.decrypt(&bytes[4..]).expect("the server's key opens it");
        auth::mix_with_nonce(&mut clear, &nonce());
        assert_eq!(clear.as_slice(), b"secret\0");
    };
    Step::Checks(4 + 256, Box::new(check))
}

fn with_key(key: &ExchangeKey) -> Vec<u8> {
    [b"\x01", &key.public_pem[..]].concat()
}

/// Logs in to a server that follows the script, and is lost after so many bytes of it.
async fn log_in_to(
    steps: &[Step],
    way: Way,
    server: &Arc<Server>,
    wish: Wish<'_>,
    lost_after: usize,
) -> Result<Box<Backend>, BackendError> {
    let (near, mut far) = duplex(PIPE);
    let conn = Conn::new(Lost::after(lost_after, near));
    let logging_in = Backend::log_in(conn, way, server, wish);
    let both = async { tokio::join!(logging_in, play(steps, &mut far)) };
    let (outcome, played) = tokio::time::timeout(WAIT, both).await.expect("an end");
    if lost_after >= total(steps) {
        played.expect("the whole script");
    }
    let backend = outcome?.0;
    let backend = backend.conn.is_between_messages().then_some(backend);
    Ok(backend.expect("nothing unread"))
}

/// The script works as a whole, and a server that is lost at any byte of it is found lost.
async fn whole_and_lost_at_every_byte(
    steps: &[Step],
    way: Way,
    role: Role,
    wish: Wish<'_>,
) -> Box<Backend> {
    let server = server(role);
    for lost_after in 0..total(steps) {
        let outcome = log_in_to(steps, way, &server, wish, lost_after).await;
        let error = outcome.err().map(|e| matches!(e, BackendError::Lost(_)));
        assert_eq!(error, Some(true), "lost after {lost_after}");
    }
    let whole = log_in_to(steps, way, &server, wish, usize::MAX).await;
    whole.unwrap_or_else(|e| panic!("{e}"))
}

async fn refused(steps: &[Step], way: Way, wish: Wish<'_>) -> BackendError {
    let outcome = log_in_to(steps, way, &server(Role::Master), wish, usize::MAX).await;
    outcome.err().expect("a refusal")
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_the_password_lets_in_by_its_proof() {
    let steps = with(begin(), [sends(2, &[1, 3]), sends(3, OK)]);
    let master = whole_and_lost_at_every_byte(&steps, Way::Network, Role::Master, wish()).await;
    assert_eq!((master.thread_id, master.version.as_str()), (7, "8.4.0"));
    assert_eq!(master.offered, cap::OFFERED);
    assert_eq!(master.capabilities, FLAGS);
    assert_eq!(
        &*master.incarnation, "",
        "of a master over TCP it is asked later"
    );
}

#[tokio::test(start_paused = true)]
async fn over_a_network_the_password_goes_under_the_server_s_key() {
    let key = Arc::new(ExchangeKey::generate().unwrap());
    let exchange = [
        sends(2, &[1, 4]),
        expects(3, &[2]),
        sends(4, &with_key(&key)),
        sealed(5, &key),
        sends(6, OK),
    ];
    let steps = with(begin(), exchange);
    whole_and_lost_at_every_byte(&steps, Way::Network, Role::Master, wish()).await;
}

#[tokio::test(start_paused = true)]
async fn over_a_socket_the_password_goes_as_it_is_and_the_server_says_who_it_is() {
    let asked = "SELECT @@global.report_host, @@global.server_uuid, CURRENT_USER(), @@global.max_connections";
    let exchange = [
        sends(2, &[1, 4]),
        expects(3, b"secret\0"),
        sends(4, OK),
        expects(0, &query(asked)),
        Step::Sends(one_row(&["boot-1", "uuid-1", "app@localhost"])),
    ];
    let steps = with(begin(), exchange);
    let backend = whole_and_lost_at_every_byte(&steps, Way::Socket, Role::Master, wish()).await;
    assert_eq!(&*backend.incarnation, "boot-1/uuid-1");
}

#[tokio::test(start_paused = true)]
async fn of_a_satellite_that_gives_no_nonce_the_start_is_asked() {
    let asked = "SELECT @@global.report_host, @@global.server_uuid, CURRENT_USER(), @@global.max_connections";
    let started = "SELECT UNIX_TIMESTAMP() - VARIABLE_VALUE FROM performance_schema.global_status \
                   WHERE VARIABLE_NAME = 'Uptime'";
    let identity = [
        sends(2, OK),
        expects(0, &query(asked)),
        Step::Sends(one_row(&["", "uuid-1", "app@%"])),
        expects(0, &query(started)),
        Step::Sends(one_row(&["1700000000"])),
    ];
    let steps = with(begin(), identity);
    let backend = whole_and_lost_at_every_byte(&steps, Way::Network, Role::Satellite, wish()).await;
    assert_eq!(&*backend.incarnation, "uuid-1@1700000000");
}

#[tokio::test(start_paused = true)]
async fn a_native_password_is_proven_at_once_or_after_a_switch() {
    let native = login(FLAGS, &NATIVE_PROOF, b"mysql_native_password\0");
    let at_once = [
        sends(0, &greeting("mysql_native_password")),
        expects(1, &native),
        sends(2, OK),
    ];
    whole_and_lost_at_every_byte(&at_once, Way::Network, Role::Master, wish()).await;
    let switch = handshake::auth_switch(NATIVE, &nonce());
    let switched = [sends(2, &switch), expects(3, &NATIVE_PROOF), sends(4, OK)];
    let steps = with(begin(), switched);
    whole_and_lost_at_every_byte(&steps, Way::Network, Role::Master, wish()).await;
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_unknown_in_the_greeting_is_answered_with_caching_sha2() {
    let steps = [
        sends(0, &greeting("auth_of_tomorrow")),
        expects(1, &sha2_login()),
        sends(2, &handshake::auth_switch(CACHING_SHA2, &nonce())),
        expects(3, &SHA2_PROOF),
        sends(4, &[1, 3]),
        sends(5, OK),
    ];
    whole_and_lost_at_every_byte(&steps, Way::Network, Role::Master, wish()).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_switch_the_new_nonce_counts_and_sha256_password_asks_for_the_key() {
    let key = Arc::new(ExchangeKey::generate().unwrap());
    let mut steps = begin();
    // The greeting's nonce is another one than what the key's exchange is mixed with.
    let mut other = greeting("caching_sha2_password");
    let at = other.windows(3).position(|w| w == [1, 2, 3]).unwrap();
    other[at] = 99;
    let mut other_nonce = nonce();
    other_nonce[0] = 99;
    let proof = auth::caching_sha2(b"secret", &other_nonce);
    steps[0] = sends(0, &other);
    steps[1] = expects(1, &login(FLAGS, &proof, b"caching_sha2_password\0"));
    let exchange = [
        sends(2, &handshake::auth_switch(SHA256, &nonce())),
        expects(3, &[1]),
        sends(4, &with_key(&key)),
        sealed(5, &key),
        sends(6, OK),
    ];
    let steps = with(steps, exchange);
    whole_and_lost_at_every_byte(&steps, Way::Network, Role::Master, wish()).await;
}

#[tokio::test(start_paused = true)]
async fn a_database_attributes_and_a_late_collation_are_told() {
    let flags = FLAGS | WITH_DATABASE | cap::CONNECT_ATTRS;
    let behind = b"shop\0caching_sha2_password\0\x06\x01a\x03bcd";
    let wish = Wish {
        charset: 309,
        database: Some("shop"),
        attributes: b"\x01a\x03bcd",
        ..wish()
    };
    let steps = [
        sends(0, &greeting("caching_sha2_password")),
        expects(1, &login(flags, &SHA2_PROOF, behind)),
        sends(2, OK),
        expects(0, &query(&set_charset(309))),
        sends(1, OK),
    ];
    let backend = whole_and_lost_at_every_byte(&steps, Way::Network, Role::Master, wish).await;
    assert_eq!(backend.database.as_deref(), Some("shop"));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_the_server_s_own_error() {
    let too_many = packet(0, b"\xff\x10\x04Too many connections");
    let at_once = [Step::Sends(too_many)];
    let late = with(begin(), [sends(2, DENIED)]);
    for (steps, code) in [(&at_once[..], 1040), (&late[..], 1045)] {
        let error = refused(steps, Way::Network, wish()).await;
        assert!(
            matches!(&error, BackendError::Sql(e) if e.code == code),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_of_an_unknown_plugin_is_named_and_gets_no_proof() {
    let switch = handshake::auth_switch("authentication_ldap", &nonce());
    let error = refused(&with(begin(), [sends(2, &switch)]), Way::Network, wish()).await;
    let said = |e: &SqlError| e.message.contains("authentication_ldap");
    assert!(matches!(&error, BackendError::Sql(e) if said(e)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_keep_to_the_protocol_is_lost() {
    let greeting = greeting("caching_sha2_password");
    let mut endless = begin();
    endless.extend((2..8).map(|seq| sends(seq, &[1, 3])));
    let cases = [
        vec![sends(0, b"\x09old")],
        vec![sends(0, &greeting[..20])],
        vec![sends(5, &greeting)],
        vec![sends(
            0,
            &greeting_with(cap::OFFERED & !cap::DEPRECATE_EOF, CACHING_SHA2),
        )],
        with(begin(), [sends(2, b"\x05what")]),
        with(begin(), [sends(2, b"\x01no key")]),
        endless,
    ];
    for (number, steps) in cases.iter().enumerate() {
        let error = refused(steps, Way::Network, wish()).await;
        assert!(
            matches!(error, BackendError::Lost(_)),
            "case {number}: {error}"
        );
    }
}
