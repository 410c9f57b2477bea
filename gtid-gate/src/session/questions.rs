//! Questions about the gate itself, which it answers: SHOW MULTIMED ….
//!
//! In: a question. Out: its result, in the protocol of the command. Must never: change anything of the session but what SHOW
//! WARNINGS says after it, or need a server where the answer does not.

use super::explain::{EXPLAIN, some};
use super::fault::Fault;
use super::parts::Session;
use super::trace::LastRead;
use super::work::Work;
use crate::backend::Role;
use crate::common::consistency::Choice;
use crate::protocol::capability::DEPRECATE_EOF;
use crate::protocol::charset::Encoding;
use crate::protocol::error::SqlError;
use crate::protocol::result_set::{Column, Form, ResultSet, Value, prepared};
use crate::sql::{BadQuestion, Question};
use crate::views::{self, Promised};

const LAST_READ: &[Column] = &[
    Column::text("Server"),
    Column::text("Role"),
    Column::text("Incarnation"),
    Column::text("Consistency"),
    Column::real("Waited_ms"),
    Column::text("Reason"),
    Column::text("Advice"),
    Column::text("Gtid_set"),
];

type Asked = Result<Question, BadQuestion>;

impl Session {
    /// `hint`: what the comments of the whole statement choose.
    pub(super) async fn answer_question(
        &mut self,
        asked: &Asked,
        hint: Choice,
        work: &Work,
    ) -> Result<(), Fault> {
        let question = understood(asked)?;
        let result = ResultSet {
            columns: columns(question),
            rows: self.rows(question, hint).await?,
        };
        let form = self.form(matches!(work, Work::Execute(_)));
        self.say(&result.packets(form)).await?;
        self.last_status = form.status;
        Ok(())
    }

    /// COM_STMT_PREPARE; returns how many parameters there are.
    pub(super) async fn prepare_question(&mut self, asked: &Asked, id: u32) -> Result<u16, Fault> {
        let question = understood(asked)?;
        let params = match question {
            Question::Explain(explained) => explained.params,
            _ => 0,
        };
        let form = self.form(true);
        let packets = prepared(id, params, columns(question), form);
        self.say(&packets).await?;
        Ok(params)
    }

    async fn rows(&mut self, question: &Question, hint: Choice) -> Result<Vec<Vec<Value>>, Fault> {
        let shared = self.shared.clone();
        Ok(match question {
            Question::Status { like } => views::status(&shared, like.as_deref()),
            Question::Servers => views::servers(&shared),
            Question::Variables { like } => {
                let promise = self.would_promise(hint);
                let promised = Promised {
                    policy: promise.policy,
                    class: promise.class.as_ref().map(|class| class.as_str()),
                };
                views::variables(&shared.config, &promised, like.as_deref())
            }
            Question::Explain(explained) => self.explain(&explained.statement, hint).await?,
            Question::Statements { limit } => {
                self.may_see_statements().await?;
                views::statements(&shared, *limit)
            }
            Question::LastRead => self.trace.last_read.iter().map(last_read).collect(),
        })
    }

    fn form(&self, binary: bool) -> Form {
        Form {
            binary,
            deprecate_eof: self.client.capabilities & DEPRECATE_EOF != 0,
            utf8: self.state.encoding == Some(Encoding::Utf8),
            status: self.state.status(),
        }
    }

    async fn say(&mut self, packets: &[Vec<u8>]) -> Result<(), Fault> {
        for packet in packets {
            self.client.conn.queue(packet);
        }
        self.client.conn.flush().await?;
        self.state.diagnostics.answered();
        Ok(())
    }
}

fn understood(asked: &Asked) -> Result<&Question, SqlError> {
    let refused = |bad: &BadQuestion| SqlError::new(1064, "42000", format!("gtid-gate: {bad}"));
    asked.as_ref().map_err(refused)
}

fn columns(question: &Question) -> &'static [Column] {
    match question {
        Question::Status { .. } => views::STATUS,
        Question::Servers => views::SERVERS,
        Question::Variables { .. } => views::VARIABLES,
        Question::Explain(_) => EXPLAIN,
        Question::Statements { .. } => views::STATEMENTS,
        Question::LastRead => LAST_READ,
    }
}

fn last_read(read: &LastRead) -> Vec<Value> {
    let role = match read.server.role {
        Role::Master => "master",
        Role::Satellite => "satellite",
    };
    let contained = read.position.as_ref().map(|p| p.executed.to_string());
    vec![
        read.server.name.clone().into(),
        role.into(),
        Some(read.incarnation.to_string())
            .filter(|i| !i.is_empty())
            .into(),
        read.level.to_string().into(),
        (read.waited.as_secs_f64() * 1e3).into(),
        read.why.to_string().into(),
        some(read.why.advice()),
        contained.into(),
    ]
}
