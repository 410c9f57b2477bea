//! Login over TLS, and a server that is lost during it.

use super::*;
use crate::net::tls::{acceptor, connector};
use crate::test_support::rest;

const WITH_TLS: u32 = 0x0800;

#[tokio::test(start_paused = true)]
async fn over_tls_only_flags_are_said_before_and_the_password_goes_as_it_is() {
    let (to_server, at_server) = (connector().unwrap(), acceptor(None).unwrap().0);
    let wish = Wish {
        tls: Some(&to_server),
        ..wish()
    };
    let flags = FLAGS | WITH_TLS;
    let request = [&flags.to_le_bytes()[..], &[0, 0, 0, 0x40, 255], &[0; 23]].concat();
    let open = [
        sends(0, &greeting("caching_sha2_password")),
        expects(1, &request),
    ];
    let encrypted = [
        expects(2, &login(flags, &SHA2_PROOF, b"caching_sha2_password\0")),
        sends(3, &[1, 4]),
        expects(4, b"secret\0"),
        sends(5, OK),
    ];
    let server = server(Role::Master);
    // How long the handshake of TLS is differs: lost ever later, until the login works.
    for lost_after in (0..1 << 16).step_by(7) {
        let (near, mut far) = duplex(PIPE);
        let conn = Conn::new(Lost::after(lost_after, near));
        let logging_in = Backend::log_in(conn, Way::Network, &server, wish);
        let serving = async {
            play(&open, &mut far).await?;
            let mut tls = at_server.accept(far).await?;
            play(&encrypted, &mut tls).await
        };
        let both = async { tokio::join!(logging_in, serving) };
        let (outcome, played) = tokio::time::timeout(WAIT, both).await.expect("an end");
        match outcome {
            Err(BackendError::Lost(_)) => {}
            Err(error) => panic!("lost after {lost_after}: {error}"),
            Ok(_) => {
                played.unwrap();
                assert!(lost_after > total(&open) + total(&encrypted));
                return;
            }
        }
    }
    panic!("no login works");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_tls_gets_no_login_that_wants_it() {
    let connector = connector().unwrap();
    let wish = Wish {
        tls: Some(&connector),
        ..wish()
    };
    let (near, mut far) = duplex(PIPE);
    let greeting = greeting_with(cap::OFFERED & !cap::SSL, CACHING_SHA2);
    play(&[sends(0, &greeting)], &mut far).await.unwrap();
    let server = server(Role::Master);
    let logging_in = Backend::log_in(Conn::new(near), Way::Network, &server, wish);
    let outcome = tokio::time::timeout(WAIT, logging_in).await;
    let outcome = outcome.expect("an end");
    assert!(matches!(outcome.err(), Some(BackendError::Lost(_))));
    assert!(rest(&mut far).await.is_empty(), "nothing was said");
}
