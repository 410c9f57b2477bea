//! The frames of capture's table stream (`cdc-applier/TABLE_STREAM.md`), from bytes to their meaning. Pure.
//!
//! Must never: trust a length, or take half a frame for a whole one.

use super::catalog::{Cascade, Sample, View};
use super::definitions::Definition;
use super::redefined::Redefines;
use super::table::Table;
use super::table_writes::Written;
use crate::gtid::{Gtid, GtidSet};
use crate::sql::{Uses, folded};

/// A catalog of a million tables takes less.
pub const MOST: usize = 256 << 20;
const VERSION: u16 = 1;
/// A transaction counts as having written everything, and views and functions may be others after it.
const ALL: u8 = 1;
const FUNCTION: u8 = 2;
const MARK: u8 = 5;

#[derive(Debug)]
pub enum Frame {
    /// First on every connection: whose binlog it is, and what it does not tell of.
    Hello {
        master: String,
        before: GtidSet,
        /// It sends marks to who acknowledges them.
        marks: bool,
    },
    Transaction {
        written: Written,
        /// When it was committed on the master, in microseconds since 1970; 0 if that is not known.
        committed: i64,
    },
    Heartbeat,
    Catalog(Box<Sample>),
    /// All before `number` has come, and all that was published when the gate sent `time`.
    Mark {
        number: u64,
        time: u64,
    },
    /// Of a later capture.
    Unknown,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("frame of {0} bytes")]
    TooLong(usize),
    #[error("frame that ends early")]
    Short,
    #[error("version {0} of the table stream")]
    Version(u16),
    #[error("not UTF-8")]
    Text,
    #[error("{0}")]
    Gtid(String),
}

struct Body<'a>(&'a [u8]);

/// Reads one frame's content, without its length.
pub fn frame(bytes: &[u8]) -> Result<Frame, FrameError> {
    let mut body = Body(bytes);
    Ok(match body.u8()? {
        1 => hello(body)?,
        2 => transaction(body)?,
        3 => Frame::Heartbeat,
        4 => Frame::Catalog(Box::new(catalog(body)?)),
        MARK => Frame::Mark {
            number: u64::from_be_bytes(body.array()?),
            time: u64::from_be_bytes(body.array()?),
        },
        _ => Frame::Unknown,
    })
}

fn hello(mut body: Body<'_>) -> Result<Frame, FrameError> {
    match body.u16()? {
        VERSION => Ok(Frame::Hello {
            master: body.text()?.to_owned(),
            before: body.set()?,
            marks: body.0.first() == Some(&MARK),
        }),
        other => Err(FrameError::Version(other)),
    }
}

fn transaction(mut body: Body<'_>) -> Result<Frame, FrameError> {
    let gtid = gtid(body.text()?)?;
    let committed = i64::from_be_bytes(body.array()?);
    let all = body.u8()?;
    let redefines = match all {
        ALL => redefined(&mut body)?,
        _ => Redefines::Nothing,
    };
    let tables = match all {
        0 => Some(body.several(|b| Ok((b.text()?.to_owned(), b.text()?.to_owned())))?),
        _ => None,
    };
    let written = Written {
        gtid,
        tables,
        redefines,
    };
    Ok(Frame::Transaction { written, committed })
}

/// A capture of an earlier release names none.
fn redefined(body: &mut Body<'_>) -> Result<Redefines, FrameError> {
    let names = match body.0.is_empty() {
        true => Vec::new(),
        false => body.several(Body::table)?,
    };
    Ok(match names.is_empty() {
        true => Redefines::Anything,
        false => Redefines::These(names),
    })
}

fn gtid(text: &str) -> Result<Gtid, FrameError> {
    let set = GtidSet::parse(text).map_err(|e| FrameError::Gtid(e.to_string()))?;
    set.only()
        .ok_or_else(|| FrameError::Gtid(format!("{text:?} is not one gtid")))
}

fn catalog(mut body: Body<'_>) -> Result<Sample, FrameError> {
    Ok(Sample {
        before: body.set()?,
        after: body.set()?,
        lower_case: body.u8()? != 0,
        views: body.several(|b| {
            let view = b.table()?;
            let opaque = b.u8()? != 0;
            let reads = b.several(Body::table)?;
            let reads = (!opaque).then_some(reads);
            Ok(View { view, reads })
        })?,
        cascades: body.several(|b| {
            let (child, parent) = (b.table()?, b.table()?);
            Ok(Cascade { child, parent })
        })?,
        tables: body.several(Body::table)?,
        definitions: definitions(body)?,
    })
}

/// A capture of an earlier release sends none.
fn definitions(mut body: Body<'_>) -> Result<Vec<Definition>, FrameError> {
    match body.0.is_empty() {
        true => Ok(Vec::new()),
        false => body.several(Body::definition),
    }
}

impl<'a> Body<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], FrameError> {
        let (taken, rest) = self.0.split_at_checked(size).ok_or(FrameError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| FrameError::Short)
    }

    fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, FrameError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<usize, FrameError> {
        Ok(u32::from_be_bytes(self.array()?) as usize)
    }

    fn utf8(&mut self, size: usize) -> Result<&'a str, FrameError> {
        std::str::from_utf8(self.take(size)?).map_err(|_| FrameError::Text)
    }

    fn text(&mut self) -> Result<&'a str, FrameError> {
        let size = self.u16()?;
        self.utf8(usize::from(size))
    }

    fn set(&mut self) -> Result<GtidSet, FrameError> {
        let size = self.u32()?;
        let text = self.utf8(size)?;
        GtidSet::parse(text).map_err(|e| FrameError::Gtid(e.to_string()))
    }

    fn table(&mut self) -> Result<Table, FrameError> {
        let (schema, name) = (folded(self.text()?).into(), folded(self.text()?).into());
        Ok(Table { schema, name })
    }

    fn definition(&mut self) -> Result<Definition, FrameError> {
        let is_function = self.u8()? == FUNCTION;
        let name = self.table()?;
        let parameters = self.several(Body::text)?;
        let size = self.u32()?;
        let text = self.utf8(size)?;
        let uses = match is_function {
            true => Uses::of_function(text, &parameters),
            false => Uses::of_view(text),
        };
        Ok(Definition {
            name,
            is_function,
            uses,
        })
    }

    /// Takes no memory for more than there is.
    fn several<T>(
        &mut self,
        one: impl Fn(&mut Self) -> Result<T, FrameError>,
    ) -> Result<Vec<T>, FrameError> {
        let count = self.u32()?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(one(self)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    /// Frames as capture writes them.
    struct Writer(Vec<u8>);

    impl Writer {
        fn new(kind: u8) -> Self {
            Self(vec![kind])
        }

        fn u32(mut self, value: usize) -> Self {
            self.0.extend((value as u32).to_be_bytes());
            self
        }

        fn bytes(mut self, bytes: &[u8]) -> Self {
            self.0.extend(bytes);
            self
        }

        fn text(self, text: &str) -> Self {
            self.bytes(&(text.len() as u16).to_be_bytes())
                .bytes(text.as_bytes())
        }

        fn long(self, text: &str) -> Self {
            self.u32(text.len()).bytes(text.as_bytes())
        }
    }

    #[test]
    fn frames_are_read_as_capture_writes_them() {
        let hello = Writer::new(1)
            .bytes(&[0, 1])
            .text(UUID)
            .long(&format!("{UUID}:1-5"))
            .0;
        let Frame::Hello {
            master,
            before,
            marks: false,
        } = frame(&hello).unwrap()
        else {
            panic!("no hello");
        };
        assert_eq!((master.as_str(), before.count()), (UUID, 5));

        let tables = Writer::new(2)
            .text(&format!("{UUID}:6"))
            .bytes(&9i64.to_be_bytes());
        let tables = tables.bytes(&[0]).u32(1).text("Db").text("T").0;
        let Frame::Transaction { written, committed } = frame(&tables).unwrap() else {
            panic!("no transaction");
        };
        assert_eq!((written.gtid.number, committed), (6, 9));
        assert_eq!(written.tables, Some(vec![("Db".into(), "T".into())]));

        let all = Writer::new(2)
            .text(&format!("{UUID}:tag:7"))
            .bytes(&[0; 8])
            .bytes(&[1])
            .0;
        assert!(matches!(
            frame(&all).unwrap(),
            Frame::Transaction {
                written: Written { tables: None, .. },
                ..
            }
        ));

        let catalog = Writer::new(4)
            .long("")
            .long(&format!("{UUID}:1"))
            .bytes(&[1]);
        let catalog = catalog
            .u32(2)
            .text("d")
            .text("V")
            .bytes(&[0])
            .u32(1)
            .text("d")
            .text("t");
        let catalog = catalog.text("d").text("w").bytes(&[1]).u32(0);
        let catalog = catalog
            .u32(1)
            .text("d")
            .text("c")
            .text("d")
            .text("p")
            .u32(0)
            .0;
        let Frame::Catalog(sample) = frame(&catalog).unwrap() else {
            panic!("no catalog");
        };
        assert!(
            sample.lower_case
                && &*sample.views[0].view.name == "v"
                && sample.views[1].reads.is_none()
        );
        assert_eq!(sample.cascades.len(), 1);
        assert!(sample.definitions.is_empty(), "of an earlier capture");
        for short in 1..catalog.len() {
            assert!(frame(&catalog[..short]).is_err(), "{short}");
        }
    }

    #[test]
    fn definitions_are_read_as_capture_writes_them() {
        let catalog = Writer::new(4).long("").long("").bytes(&[0]);
        let catalog = catalog.u32(0).u32(0).u32(0).u32(2);
        let view = catalog.bytes(&[1]).text("d").text("V").u32(0);
        let view = view.long("select `F`(1) AS `x`").bytes(&[2]);
        let function = view.text("d").text("f").u32(1).text("a");
        let bytes = function.long("begin set a = 1; return @x; end").0;
        let Frame::Catalog(sample) = frame(&bytes).unwrap() else {
            panic!("no catalog");
        };
        let [view, function] = &sample.definitions[..] else {
            panic!("{sample:?}");
        };
        assert_eq!((&*view.name.name, view.is_function), ("v", false));
        assert_eq!(&*view.uses.calls[0].table, "f");
        assert_eq!(function.uses.asks.as_deref(), Some("user variable"));
        let all = |all: u8, names: &[u8]| {
            let bytes = Writer::new(2).text(&format!("{UUID}:7")).bytes(&[0; 8]);
            match frame(&bytes.bytes(&[all]).bytes(names).0).unwrap() {
                Frame::Transaction { written, .. } => (written.tables, written.redefines),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(all(2, &[]), (None, Redefines::Nothing));
        assert_eq!(all(1, &[]), (None, Redefines::Anything));
        assert_eq!(all(1, &[0; 4]), (None, Redefines::Anything));
        let named = Redefines::These(vec![view.name.clone()]);
        assert_eq!(all(1, b"\0\0\0\x01\0\x01d\0\x01V"), (None, named));
    }

    #[test]
    fn marks_are_read_as_capture_writes_them() {
        let hello = Writer::new(1).bytes(&[0, 1]).text(UUID).long("");
        let hello = frame(&hello.bytes(&[5]).0).unwrap();
        assert!(matches!(hello, Frame::Hello { marks: true, .. }));
        let mark = Writer::new(5).bytes(&[0, 0, 0, 0, 0, 0, 1, 2]);
        let mark = frame(&mark.bytes(&[0, 0, 0, 0, 0, 0, 0, 7]).0);
        let (number, time) = (258, 7);
        assert!(matches!(mark, Ok(Frame::Mark { number: n, time: t }) if (n, t) == (number, time)));
    }

    #[test]
    fn another_version_is_refused_and_another_kind_is_not() {
        let hello = Writer::new(1).bytes(&[0, 2]).text(UUID).long("").0;
        assert_eq!(frame(&hello).err(), Some(FrameError::Version(2)));
        assert!(matches!(frame(&[77, 1, 2]), Ok(Frame::Unknown)));
        let two = Writer::new(2)
            .text(&format!("{UUID}:1-2"))
            .bytes(&[0; 8])
            .bytes(&[1])
            .0;
        assert!(matches!(frame(&two), Err(FrameError::Gtid(_))));
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_or_a_frame_and_never_a_panic(bytes: Vec<u8>, kind in 0u8..7) {
            let mut all = vec![kind];
            all.extend(bytes);
            let _ = frame(&all);
        }
    }
}
