//! EXPLAIN MULTIMED: where a statement would run now, in this session, and why.
//!
//! In: a statement's text. Out: rows of an item and its value. A read asks for leave as it would to run, and gives it back.
//! Must never: run the statement, or change anything of the session; show what the text and the current schema do not say.

use super::execute::BEGIN_READ_ONLY;
use super::fault::Fault;
use super::parts::Session;
use super::plan::{Begin, InReadOnly, Outside, Plan, Refusal, plan};
use super::reasons;
use super::settings::{SetPlan, set_plan};
use super::statement::Known;
use super::turns::patiently;
use super::work::{Request as Command, Work};
use crate::backend::COM_QUERY;
use crate::common::consistency::Choice;
use crate::common::why::Why;
use crate::freshness::{Holds, Leave, Patience, Request, Standing};
use crate::protocol::error::SqlError;
use crate::protocol::result_set::{Column, Value};
use crate::sql::{Class, SetItem, named_tables, understand};
use bytes::BytesMut;
use std::time::Instant;

pub(super) const EXPLAIN: &[Column] = &[Column::text("Item"), Column::text("Value")];

const THE_GATE: &str = "gate";
const NOWHERE: &str = "nowhere: refused";

/// Where a statement would run, and why; or why nowhere.
struct Place {
    runs_on: String,
    reason: String,
    advice: &'static str,
}

impl Place {
    fn new(runs_on: impl Into<String>, why: Why) -> Self {
        Self {
            runs_on: runs_on.into(),
            reason: why.to_string(),
            advice: why.advice(),
        }
    }

    fn nowhere(reason: impl Into<String>) -> Self {
        Self {
            runs_on: NOWHERE.to_owned(),
            reason: reason.into(),
            advice: "",
        }
    }
}

/// What a plan has to do with satellites.
enum Way<'a> {
    Known(Place),
    /// A satellite is to be found, for a read that begins with this.
    Read(&'a [String]),
}

/// What is found out.
struct Explanation {
    place: Place,
    standings: Vec<Standing>,
    level: Option<String>,
    read_class: Option<String>,
}

impl Session {
    /// `hint`: what the comments of the whole text choose.
    pub(super) async fn explain(
        &mut self,
        statement: &str,
        hint: Choice,
    ) -> Result<Vec<Vec<Value>>, Fault> {
        let known = Known::of(understand(statement))?;
        let known = Known { hint, ..known }.checked(&self.shared.config.classes)?;
        let kept = (self.promise.clone(), self.names.take());
        self.promise = self.would_promise(hint);
        self.names = known.names.clone();
        let work = as_query(statement);
        let asks = self.asks(&known, &work);
        let judged = self.judged(&known, &work);
        let known = judged.as_ref().unwrap_or(&known);
        let explanation = self.explanation(known, &work).await;
        (self.promise, self.names) = kept;
        Ok(self.items(
            known,
            (statement, asks.as_ref().map(|a| &*a.what)),
            explanation?,
        ))
    }

    async fn explanation(&mut self, known: &Known, work: &Work) -> Result<Explanation, Fault> {
        let opening = [BEGIN_READ_ONLY.to_owned()];
        let way = match self.check_tables(known, work) {
            Ok(()) => self.way(known, work, &opening),
            Err(refusal) => Way::Known(Place::nowhere(refusal.message)),
        };
        match way {
            Way::Known(place) => Ok(Explanation {
                place,
                standings: Vec::new(),
                level: None,
                read_class: None,
            }),
            Way::Read(opening) => self.foreseen(work, opening).await,
        }
    }

    fn way<'a>(&self, known: &Known, work: &Work, opening: &'a [String]) -> Way<'a> {
        if matches!(known.class, Class::Multimed(_)) {
            return Way::Known(Place::new(THE_GATE, Why::Gate));
        }
        let plan = plan(&self.state, known, work);
        let why = reasons::why(&self.state, known, &plan, self.leave.is_some());
        match &plan {
            Plan::Outside(Outside::Read)
            | Plan::EndThen(Outside::Read)
            | Plan::Begin(Begin::Snapshot) => Way::Read(&[]),
            Plan::InReadOnly(InReadOnly::ReadFirst | InReadOnly::SavepointFirst) => {
                Way::Read(opening)
            }
            Plan::Refuse(refusal) => Way::Known(Place::nowhere(refused(refusal))),
            plan => Way::Known(Place::new(self.runs_on(plan, known), why)),
        }
    }

    /// Of a plan that looks for no satellite.
    fn runs_on(&self, plan: &Plan, known: &Known) -> String {
        match plan {
            Plan::InReadOnly(InReadOnly::Read(id) | InReadOnly::Savepoint(id)) => self.name_of(*id),
            Plan::AskLastServer => {
                let who = self.state.diagnostics.who_knows(known.ties);
                self.name_of(who.unwrap_or_default())
            }
            Plan::Kill { .. }
            | Plan::End { .. }
            | Plan::Begin(Begin::Later)
            | Plan::Outside(Outside::End(_))
            | Plan::EndThen(Outside::End(_)) => THE_GATE.to_owned(),
            Plan::Set(items) if self.keeps_for_itself(items) => THE_GATE.to_owned(),
            _ => self.name_of(0),
        }
    }

    /// Asks for leave and gives it back.
    async fn foreseen(&self, work: &Work, opening: &[String]) -> Result<Explanation, Fault> {
        let gate = &self.shared.gate;
        let class = self.class(work);
        let request = Request {
            arrived: Instant::now(),
            policy: self.promise.policy,
            seen: &self.state.seen,
            tables: self.tables(self.names.as_deref(), work, opening),
            digest: self.query_digest(work),
            heavy: self.is_heavy(work),
            class,
            excluded: &[],
        };
        let leave = patiently(&self.entry, gate.would_admit(request)).await?;
        let unproven = match &leave {
            Ok(Leave::Satellite { server, .. }) => {
                self.proves(server, work, Patience::MasterCan).await.err()
            }
            _ => None,
        };
        let place = match unproven {
            Some(unproven) => Place::new(self.name_of(0), Why::Statement(unproven.reason())),
            None => self.place_of(leave),
        };
        let class = class.and_then(|c| self.shared.config.classes.list.get(usize::from(c.index)));
        Ok(Explanation {
            place,
            standings: gate.standings(request),
            level: Some(self.promise.policy.level.to_string()),
            read_class: class.map(|c| c.name.clone()),
        })
    }

    /// The leave ends here.
    fn place_of(&self, leave: Result<Leave, SqlError>) -> Place {
        match leave {
            Ok(Leave::Satellite { server, why, .. }) => Place::new(server.name.clone(), why),
            Ok(Leave::Master(place)) => Place::new(self.name_of(0), place.why()),
            Err(refusal) => Place::nowhere(refusal.message),
        }
    }

    /// `asks`: what of a view in the statement may ask about the session.
    fn items(
        &self,
        known: &Known,
        (statement, asks): (&str, Option<&str>),
        found: Explanation,
    ) -> Vec<Vec<Value>> {
        let Explanation {
            place,
            standings,
            level,
            read_class,
        } = found;
        let fixed: [(&str, Value); 9] = [
            ("Statement", kind(&known.class).into()),
            ("Tables", some(&named_tables(statement).join(", "))),
            ("Schema", self.state.database.clone().into()),
            ("Runs_on", place.runs_on.into()),
            ("Reason", place.reason.into()),
            ("Advice", some(place.advice)),
            ("Asks", some(asks.unwrap_or_default())),
            ("Consistency", level.into()),
            ("Class", read_class.into()),
        ];
        let fixed = fixed.map(|(item, value)| vec![item.into(), value]);
        let standings = standings.iter().map(|standing| {
            let item = format!("Server {}", standing.server.name);
            vec![item.into(), described(standing).into()]
        });
        fixed.into_iter().chain(standings).collect()
    }

    /// A SET of which no server is told, or only when it is used.
    fn keeps_for_itself(&self, items: &[SetItem]) -> bool {
        let not_own = self.promise.shared_by_clients || self.trackers.state;
        set_plan(items, &self.state, not_own) != SetPlan::OnMaster
    }

    fn name_of(&self, id: usize) -> String {
        let server = self.shared.gate.servers.find(id);
        server.map_or_else(|| "a satellite that is gone".to_owned(), |s| s.name.clone())
    }
}

/// NULL for nothing.
pub(super) fn some(text: &str) -> Value {
    Some(text).filter(|text| !text.is_empty()).into()
}

fn as_query(statement: &str) -> Work {
    let mut payload = BytesMut::from(&[COM_QUERY][..]);
    payload.extend_from_slice(statement.as_bytes());
    Work::Query {
        request: Command {
            payload,
            continued: false,
        },
        text_at: 1,
    }
}

fn kind(class: &Class) -> String {
    match class {
        Class::Read => "read".to_owned(),
        Class::Write(reason) => format!("for the master: {reason}"),
        Class::Pin(reason) => format!("for the master, and so is all after it: {reason}"),
        Class::Begin { .. } | Class::Commit { .. } | Class::Rollback { .. } => {
            "transaction control".to_owned()
        }
        Class::InTransaction => "savepoint".to_owned(),
        Class::Use(_) => "USE".to_owned(),
        Class::Set(_) => "SET".to_owned(),
        Class::Kill { .. } => "KILL".to_owned(),
        Class::ShowWarnings => "question about the statement before".to_owned(),
        Class::Multimed(_) => "question about the gate".to_owned(),
    }
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Change => "a change inside a read-only transaction".to_owned(),
        Refusal::Inside(reason) => {
            format!("not possible in a read-only transaction on a satellite: {reason}")
        }
        Refusal::Lost => "the satellite of this read-only transaction is gone".to_owned(),
    }
}

fn described(standing: &Standing) -> String {
    let soon = format!("would answer in {:.3} ms", standing.seconds * 1e3);
    match standing.holds {
        Holds::All => format!("fresh, {soon}"),
        Holds::AllBut(1) => format!("not fresh: lacks 1 transaction; fresh, it {soon}"),
        Holds::AllBut(lacking) => {
            format!("not fresh: lacks {lacking} transactions; fresh, it {soon}")
        }
        Holds::Unsure => "not known to be fresh: not asked since what the session saw".to_owned(),
        Holds::Unknown => "down".to_owned(),
        Holds::NotForIt => "takes no such reads: drained, or bound to a class".to_owned(),
    }
}
