//! Whom the master takes the client for, and how the session logs in to servers as the same.

use crate::backend::{Identity, Socket, Wish};
use crate::clients::login::{Account, Client};
use crate::common::secret::Password;
use crate::protocol::capability;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

pub(super) struct User {
    pub name: String,
    /// Its account, as the master names it.
    account: Arc<str>,
    password: Arc<Password>,
    pub charset: u16,
    /// What the client says about itself, for the servers.
    pub attributes: Vec<u8>,
}

impl User {
    pub fn of(account: &mut Account) -> Self {
        Self {
            name: std::mem::take(&mut account.user),
            account: account.account.name.clone(),
            password: account.password.clone(),
            charset: account.charset,
            attributes: std::mem::take(&mut account.attributes),
        }
    }

    /// A connection for the session, with what was agreed on with the client.
    pub fn wish<'a>(
        &'a self,
        client: &Client,
        database: Option<&'a str>,
        tls: &'a TlsConnector,
    ) -> Wish<'a> {
        Wish {
            user: &self.name,
            password: &self.password,
            capabilities: capability::of_session(client.capabilities),
            charset: self.charset,
            database,
            attributes: &self.attributes,
            tls: client.secure.then_some(tls),
            socket: Socket::For(&self.account),
        }
    }

    /// A connection for a question of the gate's own.
    pub fn wish_for_questions<'a>(&'a self, client: &Client, tls: &'a TlsConnector) -> Wish<'a> {
        Wish {
            capabilities: capability::FOR_QUESTIONS,
            attributes: &[],
            socket: Socket::No,
            ..self.wish(client, None, tls)
        }
    }

    /// What a connection must have in common with this session to be taken over by it.
    pub fn identity(&self, client: &Client) -> Identity {
        Identity {
            user: self.name.clone(),
            account: self.account.clone(),
            password: self.password.clone(),
            capabilities: client.capabilities,
            charset: self.charset,
            secure: client.secure,
        }
    }
}
