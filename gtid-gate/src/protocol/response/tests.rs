use super::*;
use crate::protocol::wire::{err_packet, ok_packet};
use proptest::prelude::*;

/// Packets as a server numbers them.
pub(in crate::protocol) fn framed(packets: &[Vec<u8>]) -> BytesMut {
    let mut out = BytesMut::new();
    for (seq, packet) in packets.iter().enumerate() {
        let size = (packet.len() as u32).to_le_bytes();
        out.extend_from_slice(&[size[0], size[1], size[2], seq as u8 + 1]);
        out.extend_from_slice(packet);
    }
    out
}

pub(in crate::protocol) fn eof(status: u16) -> Vec<u8> {
    let status = status.to_le_bytes();
    vec![0xfe, 0, 0, status[0], status[1]]
}

pub(in crate::protocol) fn end(status: u16) -> Vec<u8> {
    let mut packet = ok_packet(status, 0);
    packet[0] = 0xfe;
    packet
}

fn result(rows: &[&[u8]], deprecate_eof: bool, status: u16) -> Vec<Vec<u8>> {
    let mut packets = vec![vec![1], b"\x03def a column".to_vec()];
    if !deprecate_eof {
        packets.push(eof(2));
    }
    packets.extend(rows.iter().map(|row| row.to_vec()));
    packets.push(if deprecate_eof {
        end(status)
    } else {
        eof(status)
    });
    packets
}

/// Follows `bytes` in the given pieces; returns what passed, and what was left over.
pub(in crate::protocol) fn follow(
    response: &mut Response,
    bytes: &[u8],
    piece: usize,
) -> (Vec<u8>, Vec<u8>, Step) {
    let (mut passed, mut pending, mut step) = (Vec::new(), BytesMut::new(), Step::More);
    for part in bytes.chunks(piece.max(1)) {
        pending.extend_from_slice(part);
        if step == Step::More {
            let (count, next) = response.advance(&mut pending);
            passed.extend(pending.split_to(count));
            step = next;
        }
    }
    (passed, pending.to_vec(), step)
}

fn whole(shape: Shape, deprecate_eof: bool, packets: &[Vec<u8>], piece: usize) -> Response {
    let bytes = framed(packets);
    let mut response = Response::new(shape, deprecate_eof, 1);
    let (passed, left, step) = follow(&mut response, &bytes, piece);
    assert_eq!(step, Step::Done);
    assert!(left.is_empty());
    assert_eq!(passed.len(), bytes.len());
    response
}

proptest! {
    #[test]
    fn any_chunking_passes_the_same_bytes(
        deprecate_eof: bool,
        rows in prop::collection::vec(prop::collection::vec(1u8..0xfb, 1..40), 0..6),
        results in 1usize..4,
        piece in 1usize..60,
    ) {
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let mut packets = Vec::new();
        for left in (0..results).rev() {
            let more = if left > 0 { STATUS_MORE_RESULTS } else { 0 };
            packets.extend(result(&rows, deprecate_eof, 2 | more));
        }
        let response = whole(Shape::Results, deprecate_eof, &packets, piece);
        prop_assert_eq!(response.status, Some(2));
        prop_assert_eq!(response.seq(), packets.len() as u8 + 1);
    }

    #[test]
    fn garbage_never_panics(garbage: Vec<u8>, deprecate_eof: bool, piece in 1usize..20, kind in 0usize..4) {
        let shape = [Shape::Results, Shape::Rows, Shape::Single, Shape::Prepare { id: 1 }][kind];
        follow(&mut Response::new(shape, deprecate_eof, 1), &garbage, piece);
    }
}

#[test]
fn an_error_ends_a_response_anywhere() {
    let error = err_packet(&crate::protocol::error::SqlError::gate("x"));
    for before in 0..3 {
        let mut packets = result(&[b"\x01a"], true, 2);
        packets.truncate(if before == 0 { 0 } else { before + 1 });
        packets.push(error.clone());
        assert_eq!(
            whole(Shape::Results, true, &packets, 3).error,
            Some(1105),
            "{before}"
        );
    }
}

#[test]
fn the_first_packet_is_looked_into_no_further_than_it_goes() {
    let error = err_packet(&crate::protocol::error::SqlError::gate("x"));
    for short in [vec![], vec![0xff], vec![0xff, 1], vec![5]] {
        let bytes = framed(&[short, error.clone()]);
        assert_eq!(Response::first(&bytes), First::Other, "{bytes:?}");
    }
    assert_eq!(Response::first(&framed(&[vec![]])), First::Other);
    let bytes = framed(&[error]);
    for came in 0..HEADER + 3 {
        assert_eq!(Response::first(&bytes[..came]), First::Unknown, "{came}");
    }
    assert_eq!(Response::first(&bytes), First::Error(1105));
    assert_eq!(Response::first(&framed(&[ok_packet(2, 0)])), First::Other);
}

#[test]
fn a_cursor_has_no_rows_yet() {
    let packets = vec![vec![1], b"\x03def".to_vec(), eof(STATUS_CURSOR_EXISTS | 2)];
    whole(Shape::Results, false, &packets, 1000);
    let packets = vec![vec![1], b"\x03def".to_vec(), end(STATUS_CURSOR_EXISTS | 2)];
    whole(Shape::Results, true, &packets, 1000);
}

#[test]
fn a_prepared_statement_gets_the_gates_id() {
    let answer = vec![0, 99, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
    let definition = b"\x03def".to_vec();
    let parts = vec![
        answer,
        definition.clone(),
        definition.clone(),
        eof(2),
        definition,
        eof(2),
    ];
    let mut bytes = framed(&parts);
    let mut response = Response::new(Shape::Prepare { id: 7 }, false, 1);
    let (count, step) = response.advance(&mut bytes);
    assert_eq!((count, step), (bytes.len(), Step::Done));
    assert_eq!(bytes[5..9], [7, 0, 0, 0]);
    let expected = Prepared {
        server_id: 99,
        params: 2,
    };
    assert_eq!(response.prepared, Some(expected));
}

#[test]
fn a_row_of_more_than_16_mib_passes_in_pieces() {
    let mut bytes = framed(&result(&[], true, 2));
    let tail = bytes.split_off(bytes.len() - 11);
    bytes.extend_from_slice(&[0xff, 0xff, 0xff, 3]);
    bytes.resize(bytes.len() + MAX_PAYLOAD, 0xfe);
    bytes.extend_from_slice(&[2, 0, 0, 4, 0xff, 0xff]);
    bytes.extend_from_slice(&tail);
    let mut response = Response::new(Shape::Results, true, 1);
    let (passed, left, step) = follow(&mut response, &bytes, 1 << 20);
    assert_eq!(
        (passed.len(), left.len(), step),
        (bytes.len(), 0, Step::Done)
    );
    assert_eq!(response.error, None);
}

#[test]
fn what_follows_a_response_is_left_alone() {
    let mut bytes = framed(&[ok_packet(2, 0)]);
    let size = bytes.len();
    bytes.extend_from_slice(b"next");
    let mut response = Response::new(Shape::Results, true, 1);
    assert_eq!(response.advance(&mut bytes), (size, Step::Done));
}

#[test]
fn the_client_sees_extra_status_flags() {
    let mut bytes = framed(&[ok_packet(2, 0)]);
    let mut response = Response::new(Shape::Results, true, 5);
    response.extra_status = 0x2001;
    response.advance(&mut bytes);
    assert_eq!(bytes[3], 5);
    assert_eq!(u16::from_le_bytes([bytes[7], bytes[8]]), 0x2003);
    assert_eq!(response.status, Some(2));
}

#[test]
fn a_file_is_asked_for() {
    let mut bytes = framed(&[b"\xfb/a/file".to_vec()]);
    let mut response = Response::new(Shape::Results, true, 1);
    assert_eq!(response.advance(&mut bytes), (bytes.len(), Step::Infile));
    response.infile_sent(9);
    let mut bytes = framed(&[ok_packet(2, 0)]);
    assert_eq!(response.advance(&mut bytes), (bytes.len(), Step::Done));
    assert_eq!(bytes[3], 9);
}

#[test]
fn an_unknown_thread_that_may_be_ours_is_kept_back_where_an_ok_fits() {
    let unknown = |id| err_packet(&crate::protocol::error::SqlError::unknown_thread_id(id));
    let follows = |packets: &[Vec<u8>], piece| {
        let mut response = Response::new(Shape::Results, true, 1);
        response.own_ids_from = 1 << 30;
        let (passed, left, step) = follow(&mut response, &framed(packets), piece);
        assert_eq!(step, Step::Done);
        (passed, left, response)
    };
    let ours = (1 << 30) + 7;
    for piece in 1..60 {
        let before = ok_packet(2 | crate::protocol::wire::STATUS_MORE_RESULTS, 0);
        let (passed, left, response) = follows(&[before.clone(), unknown(ours)], piece);
        assert_eq!(passed, framed(&[before]).to_vec());
        let kept_back = left.len();
        let expected = UnknownThread {
            id: ours,
            kept_back,
        };
        assert_eq!(
            (response.unknown_thread, response.seq()),
            (Some(expected), 2)
        );
        assert_eq!(response.results, 1);
    }
    let (passed, left, response) = follows(&[vec![1], vec![3], unknown(ours)], 7);
    assert!(left.is_empty() && !passed.is_empty(), "rows had begun");
    assert_eq!(response.unknown_thread.map(|u| u.kept_back), Some(0));
    let (_, left, response) = follows(&[unknown(7)], 7);
    assert!(left.is_empty() && response.unknown_thread.is_none());
}

#[test]
fn behind_out_parameters_there_is_a_result_whatever_their_last_packet_says() {
    let out_parameters = 2 | STATUS_MORE_RESULTS | STATUS_OUT_PARAMETERS;
    let eof = |status: u16| [&[0xfe, 0, 0], &status.to_le_bytes()[..]].concat();
    let row = vec![0, 0, 3, 0, 0, 0];
    let packets = [
        vec![1],
        vec![3],
        eof(out_parameters),
        row,
        eof(2),
        ok_packet(2, 0),
    ];
    for piece in 1..20 {
        let response = whole(Shape::Results, false, &packets, piece);
        assert_eq!((response.results, response.status), (1, Some(2)));
    }
}

#[test]
fn a_prepared_statements_definitions_end_with_the_extra_status_flags() {
    let eof = |status: u16| [&[0xfe, 0, 0], &status.to_le_bytes()[..]].concat();
    let prepared = [&[0][..], &9u32.to_le_bytes(), &[1, 0, 1, 0, 0, 0, 0]].concat();
    let packets = [prepared, vec![3], eof(2), vec![3], eof(2)];
    let mut response = Response::new(Shape::Prepare { id: 7 }, false, 1);
    response.extra_status = 0x2001;
    let (passed, left, step) = follow(&mut response, &framed(&packets), 3);
    assert!(left.is_empty() && step == Step::Done);
    assert!(passed.ends_with(&eof(0x2003)));
}
