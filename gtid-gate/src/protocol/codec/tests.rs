use super::*;
use proptest::prelude::*;
use tokio::io::duplex;

fn block_on<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(work)
}

fn framed(packets: &[Vec<u8>]) -> Vec<u8> {
    block_on(async {
        let (near, mut far) = duplex(1 << 26);
        let mut conn = Conn::new(near);
        packets.iter().for_each(|p| conn.queue(p));
        conn.flush().await.unwrap();
        drop(conn);
        let mut bytes = Vec::new();
        far.read_to_end(&mut bytes).await.unwrap();
        bytes
    })
}

async fn read_all(chunks: Vec<Vec<u8>>, limit: usize) -> (Vec<Vec<u8>>, PacketError) {
    let (near, mut far) = duplex(64);
    tokio::spawn(async move {
        for chunk in chunks {
            if far.write_all(&chunk).await.is_err() {
                return;
            }
        }
    });
    let mut conn = Conn::new(near);
    let mut packets = Vec::new();
    loop {
        match conn.packet(limit).await {
            Ok(packet) => packets.push(packet.to_vec()),
            Err(error) => return (packets, error),
        }
    }
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_packets(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..6),
        size in 1usize..50,
    ) {
        let chunks = framed(&packets).chunks(size).map(<[u8]>::to_vec).collect();
        let (read, end) = block_on(read_all(chunks, 1000));
        prop_assert_eq!(read, packets);
        prop_assert!(matches!(end, PacketError::Io(_)));
    }

    #[test]
    fn garbage_never_panics(garbage in prop::collection::vec(any::<u8>(), 0..2000)) {
        block_on(read_all(vec![garbage], 1000));
    }
}

#[test]
fn packets_of_16_mib_are_split_and_joined() {
    for size in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1] {
        let packets = vec![vec![7u8; size], b"next".to_vec()];
        let (read, _) = block_on(read_all(vec![framed(&packets)], 1 << 25));
        assert_eq!(read.len(), 2);
        assert!(read == packets);
    }
}

#[test]
fn an_oversized_packet_is_refused_from_its_header() {
    let (read, error) = block_on(read_all(vec![vec![0, 0, 1, 0]], 1000));
    assert!(read.is_empty());
    assert!(matches!(error, PacketError::TooLarge(1000)));
}

#[test]
fn a_wrong_sequence_id_is_refused() {
    let (_, error) = block_on(read_all(vec![vec![1, 0, 0, 9, 0]], 1000));
    assert!(matches!(error, PacketError::OutOfOrder));
}

#[test]
fn bytes_read_ahead_of_tls_are_not_lost() {
    let request = framed(&[b"ask".to_vec()]);
    block_on(async {
        let (near, mut far) = duplex(1000);
        far.write_all(&request).await.unwrap();
        far.write_all(b"hello").await.unwrap();
        let mut conn = Conn::new(near);
        conn.packet(1000).await.unwrap();
        let mut read = [0; 5];
        conn.into_stream().read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"hello");
    });
}

#[test]
fn a_receive_buffer_does_not_keep_the_memory_of_a_large_packet() {
    let sent = framed(&[vec![7; 1 << 20], b"next".to_vec()]);
    let small = framed(&[vec![7; 1000]]);
    block_on(async {
        let (near, mut far) = duplex(1 << 21);
        far.write_all(&sent).await.unwrap();
        let mut conn = Conn::new(near);
        conn.packet(1 << 20).await.unwrap();
        assert_eq!(conn.packet(1000).await.unwrap(), b"next"[..]);
        for _ in 0..100 {
            far.write_all(&small).await.unwrap();
            conn.begin();
            conn.packet(1000).await.unwrap();
        }
        assert!(conn.inbound.capacity() <= 2 * LEAST_AHEAD);
    });
}

#[test]
fn room_to_read_follows_what_comes() {
    let large = framed(&[vec![7; 200_000]]);
    let short = framed(&[b"short".to_vec()]);
    block_on(async {
        let (near, mut far) = duplex(1 << 20);
        let mut conn = Conn::new(near);
        far.write_all(&large).await.unwrap();
        conn.header().await.unwrap();
        let mut last = 0;
        for _ in 0..8 {
            last = conn.piece().await.unwrap().unwrap().len();
        }
        assert!(last >= READ_AHEAD / 2, "{last}");
        while conn.piece().await.unwrap().is_some() {}
        for _ in 0..1000 {
            far.write_all(&short).await.unwrap();
            conn.begin();
            conn.packet(1000).await.unwrap();
        }
        assert!(conn.inbound.capacity() <= LEAST_AHEAD);
    });
}

#[test]
fn answers_that_come_whole_are_read_whole() {
    for size in [300, 1100, 3000, 5000, 9000, 15_000] {
        let answer = framed(&[vec![7; size]]);
        block_on(async {
            let (near, mut far) = duplex(1 << 20);
            let mut conn = Conn::new(near);
            let mut pieces = Vec::new();
            for _ in 0..200 {
                far.write_all(&answer).await.unwrap();
                conn.begin();
                conn.header().await.unwrap();
                let mut count = 0;
                while conn.piece().await.unwrap().is_some() {
                    count += 1;
                }
                pieces.push(count);
            }
            let split = pieces[100..].iter().filter(|&&count| count > 1).count();
            assert!(split <= 10, "{size}: {split} of 100: {pieces:?}");
        });
    }
}

#[tokio::test]
async fn a_password_that_was_read_stays_in_no_buffer() {
    let (near, mut far) = duplex(1024);
    let mut conn = Conn::new(near);
    far.write_all(b"\x07\0\0\0secret\0").await.unwrap();
    let mut payload = conn.packet(1024).await.unwrap();
    assert_eq!(take_secret(&mut payload).as_slice(), b"secret\0");
    assert_eq!(&payload[..], [0; 7], "the buffer that it was read into");
}

#[tokio::test]
async fn a_password_arrives_whole_wherever_it_is_cut_and_what_follows_it_too() {
    let bytes = b"\x07\0\0\0secret\0\x02\0\0\x01ab";
    for cut in 0..bytes.len() {
        let (near, mut far) = duplex(1024);
        let mut conn = Conn::new(near);
        let sending = async {
            far.write_all(&bytes[..cut]).await.unwrap();
            tokio::task::yield_now().await;
            far.write_all(&bytes[cut..]).await.unwrap();
        };
        let reading = async {
            let secret = conn.secret(1024).await.unwrap();
            (secret, conn.packet(1024).await.unwrap())
        };
        let ((), (secret, next)) = tokio::join!(sending, reading);
        assert_eq!(secret.as_slice(), b"secret\0", "cut at {cut}");
        assert_eq!(&next[..], b"ab");
    }
}

#[tokio::test]
async fn a_password_that_was_not_taken_stays_in_no_buffer() {
    let (near, far) = duplex(1024);
    drop(far);
    let mut conn = Conn::new(near);
    assert!(conn.send_secret(b"secret\0").await.is_err());
    assert!(conn.outbound.is_empty());
}
