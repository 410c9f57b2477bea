//! The packets of the connection phase, from either peer.
//!
//! In: a payload. Checked: no panic; what was understood says the same when it is written and read again.
#![no_main]

use gtid_gate::protocol::error::SqlError;
use gtid_gate::protocol::handshake::{
    ChangeUser, FirstAnswer, Greeting, Login, auth_switch, parse_auth_switch,
};
use gtid_gate::protocol::{capability as cap, wire};

libfuzzer_sys::fuzz_target!(|payload: &[u8]| {
    if let Ok(FirstAnswer::Login(login)) = FirstAnswer::parse(payload) {
        check_login(login);
    }
    if let Ok(greeting) = Greeting::parse(payload) {
        assert_eq!(Greeting::parse(&greeting.encode()).ok(), Some(greeting));
    }
    if let Ok((plugin, nonce)) = parse_auth_switch(payload) {
        assert_eq!(
            parse_auth_switch(&auth_switch(&plugin, &nonce)).ok(),
            Some((plugin, nonce))
        );
    }
    if let Ok(change) = ChangeUser::parse(payload) {
        assert!(
            !change.user.contains(&0)
                && change
                    .database
                    .is_none_or(|d| !d.is_empty() && !d.contains(&0))
        );
    }
    check_error(wire::parse_err(payload));
    if let Ok(offset) = wire::ok_status_offset(payload) {
        assert!(offset + 2 <= payload.len());
    }
});

/// A login is written in one form only: with a length before the proof, and without the flag where there is no database.
fn check_login(mut login: Login) {
    assert_eq!(
        login.plugin.is_some(),
        login.capabilities & cap::PLUGIN_AUTH != 0
    );
    login.capabilities |= cap::PLUGIN_AUTH_LENENC;
    if login.database.is_none() {
        login.capabilities &= !cap::CONNECT_WITH_DB;
    }
    assert_eq!(
        FirstAnswer::parse(&login.encode()).ok(),
        Some(FirstAnswer::Login(login))
    );
}

fn check_error(error: SqlError) {
    // what was not UTF-8 in a state has grown
    if error.state.len() == 5 {
        assert_eq!(wire::parse_err(&wire::err_packet(&error)), error);
    }
}
