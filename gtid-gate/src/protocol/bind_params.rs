//! Values that travel with a statement: query attributes of any, parameters of a prepared one.
//!
//! In: the payload of COM_QUERY or COM_STMT_EXECUTE. Out: where its pieces are (MySQL's pages of both commands, and
//! `parse_query_bind_params` in its `protocol_classic.cc`). Pure.
//! Must never: find a text elsewhere than the server will; what servers could read in several ways is malformed.

use crate::protocol::error::PacketError;
use crate::protocol::wire::{self, Reader};

/// In the flags of COM_STMT_EXECUTE: the number of values follows, even if the statement has no parameters.
pub const COUNT_FOLLOWS: u8 = 8;

/// Command byte, statement id, flags, iteration count of COM_STMT_EXECUTE.
pub const FIXED: usize = 10;
const FLAGS: usize = 5;

/// MySQL's type code of a NULL that has no other type.
const NULL: u16 = 6;
const UNSIGNED: u16 = 1 << 15;
const MALFORMED: PacketError = PacketError::Malformed("parameters");

/// Where the text begins in the argument of a COM_QUERY, if its attributes stand before it.
pub fn text_at(argument: &[u8]) -> Result<usize, PacketError> {
    let mut reader = Reader::new(argument);
    let count = usize::from(count(&mut reader)?);
    if reader.lenenc()? != 1 {
        return Err(MALFORMED);
    }
    if count > 0 {
        skip(&mut reader, count)?;
    }
    Ok(argument.len() - reader.rest().len())
}

/// As many as MySQL allows.
fn count(reader: &mut Reader<'_>) -> Result<u16, PacketError> {
    u16::try_from(reader.lenenc()?).map_err(|_| MALFORMED)
}

/// Passes over nulls, types with names, and values.
fn skip(reader: &mut Reader<'_>, count: usize) -> Result<(), PacketError> {
    let nulls = reader.bytes(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return Err(MALFORMED);
    }
    let mut types = Reader::new(reader.rest());
    for _ in 0..count {
        type_and_name(reader)?;
    }
    for at in 0..count {
        let code = type_and_name(&mut types)?;
        let is_null = nulls.get(at / 8).is_some_and(|n| n >> (at % 8) & 1 == 1);
        if !is_null {
            skip_value(reader, code)?;
        }
    }
    Ok(())
}

fn type_and_name(reader: &mut Reader<'_>) -> Result<u16, PacketError> {
    let code = reader.u16()?;
    reader.lenenc_bytes()?;
    Ok(code)
}

/// A value takes what MySQL's `get_ps_param_len` says; all that has no fixed size there begins with its length.
fn skip_value(reader: &mut Reader<'_>, code: u16) -> Result<(), PacketError> {
    match code & !UNSIGNED {
        1 => reader.bytes(1),
        2 => reader.bytes(2),
        3 | 4 => reader.bytes(4),
        5 | 8 => reader.bytes(8),
        // A boolean, which servers refuse, and what is no type.
        244 | 256.. => Err(MALFORMED),
        _ => reader.lenenc_bytes(),
    }
    .map(drop)
}

/// The values that come with an execution: first those of the statement's parameters, then attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    pub count: u16,
    /// Where the flag is that says whether types follow.
    pub flag: usize,
    /// They do.
    pub bound: bool,
    /// Types have names, which is how attributes are known.
    named: bool,
}

impl Given {
    /// Nothing if no value comes. `params`: how many the statement has. `named`: the client negotiated query attributes.
    pub fn find(payload: &[u8], params: u16, named: bool) -> Result<Option<Self>, PacketError> {
        let mut reader = Reader::new(payload);
        let fixed = reader.bytes(FIXED)?;
        let count_follows = named && (params > 0 || fixed[FLAGS] & COUNT_FOLLOWS != 0);
        let count = match count_follows {
            true => count(&mut reader)?,
            false => params,
        };
        if count == 0 {
            return Ok(None);
        }
        reader.bytes(usize::from(count).div_ceil(8))?;
        let flag = payload.len() - reader.rest().len();
        let bound = match reader.u8()? {
            0 => false,
            1 => true,
            _ => return Err(MALFORMED),
        };
        Ok(Some(Self {
            count,
            flag,
            bound,
            named,
        }))
    }

    /// The type codes of the first `params` values, of a payload that brings types.
    pub fn types(&self, payload: &[u8], params: u16) -> Result<Vec<u8>, PacketError> {
        let mut reader = Reader::new(payload.get(self.flag + 1..).unwrap_or_default());
        let mut types = Vec::with_capacity(2 * usize::from(params));
        for at in 0..self.count {
            let code = match self.named {
                true => type_and_name(&mut reader)?,
                false => reader.u16()?,
            };
            if at < params {
                types.extend_from_slice(&code.to_le_bytes());
            }
        }
        Ok(types)
    }

    /// The payload that brings no types, with these: what it begins with now, and the values.
    pub fn with_types<'a>(&self, payload: &'a [u8], types: &[u8]) -> (Vec<u8>, &'a [u8]) {
        let (head, values) = payload.split_at(self.flag);
        let mut out = Vec::with_capacity(head.len() + 1 + 3 * usize::from(self.count));
        out.extend_from_slice(head);
        out.push(1);
        let codes = types
            .chunks_exact(2)
            .map(|c| u16::from_le_bytes([c[0], c[1]]));
        // Attributes without types, which only NULLs may be, have none to repeat.
        let codes = codes.chain(std::iter::repeat(NULL));
        for code in codes.take(usize::from(self.count)) {
            out.extend_from_slice(&code.to_le_bytes());
            if self.named {
                wire::put_lenenc_bytes(&mut out, b"");
            }
        }
        (out, values.get(1..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
