//! Frames survive any split into reads; invalid bytes are refused and never cost more than their size.

use elah_fuzz::{Mutator, Random};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const PAYLOAD_MAX: usize = 512;

fn frames() -> impl Strategy<Value = Frame> {
    let payload = || vec(any::<u8>(), 0..=PAYLOAD_MAX).prop_map(Bytes::from);
    prop_oneof![
        (any::<u16>(), payload()).prop_map(|(version, rest)| Frame::Hello { version, rest }),
        (any::<u64>(), 1_u32.., any::<u64>(), payload()).prop_map(|(id, items, micros, payload)| Frame::Call {
            id,
            items,
            remaining: Duration::from_micros(micros),
            payload
        }),
        (any::<u64>(), 1_u32.., payload()).prop_map(|(id, items, payload)| Frame::Reply { id, items, payload }),
        (any::<u64>(), any::<bool>())
            .prop_map(|(id, full)| Frame::Failure { id, reason: if full { Reason::Overloaded } else { Reason::Unread } }),
        any::<u64>().prop_map(|id| Frame::Cancel { id }),
    ]
}

fn taken(incoming: &mut BytesMut) -> Result<Vec<Frame>, Malformed> {
    let mut frames = Vec::new();
    taken_into(&mut frames, incoming, &mut 0)?;
    Ok(frames)
}

fn taken_into(frames: &mut Vec<Frame>, incoming: &mut BytesMut, to_skip: &mut usize) -> Result<(), Malformed> {
    while let Some(frame) = take(incoming, to_skip, PAYLOAD_MAX)? {
        frames.push(frame);
    }
    Ok(())
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut(sent in vec(frames(), 0..20), pieces in vec(1_usize..700, 1..50)) {
        let mut bytes = Vec::new();
        sent.iter().for_each(|frame| frame.encode(&mut bytes));
        let mut incoming = BytesMut::new();
        let mut received = Vec::new();
        let mut rest = &bytes[..];
        for size in pieces.iter().cycle() {
            let (piece, later) = rest.split_at((*size).min(rest.len()));
            incoming.extend_from_slice(piece);
            received.extend(taken(&mut incoming).unwrap());
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(received, sent);
        prop_assert!(incoming.is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic_or_take_a_payload_that_is_too_long(bytes in vec(any::<u8>(), 0..2000)) {
        if let Ok(frames) = taken(&mut BytesMut::from(&bytes[..])) {
            for frame in frames {
                if let Frame::Call { payload, .. } | Frame::Reply { payload, .. } = frame {
                    prop_assert!(payload.len() <= PAYLOAD_MAX + HEADER_BYTES);
                }
            }
        }
    }

    #[test]
    fn a_frame_whose_length_lies_is_refused_by_its_first_bytes(length in (HEADER_BYTES + PAYLOAD_MAX + 1) as u32..) {
        let mut bytes = length.to_le_bytes().to_vec();
        if length as usize <= HEADER_BYTES + PAYLOAD_BYTES_HIGHEST {
            bytes.push(0);
        }
        let refused = taken(&mut BytesMut::from(&bytes[..]));
        prop_assert_eq!(refused, Err(Malformed::TooLong { bytes: length as usize, max: HEADER_BYTES + PAYLOAD_MAX }));
    }

    // One with a higher limit at the other end closed the link, and with it all other calls.
    #[test]
    fn a_call_or_a_reply_that_is_too_long_is_skipped(id in any::<u64>(), over in 1_usize..2000, size in 1_usize..700) {
        let payload = vec![1; HEADER_BYTES + PAYLOAD_MAX + over];
        let mut bytes = Vec::new();
        call(&mut bytes, id, 1, Duration::ZERO, &payload);
        cancel(&mut bytes, 7);
        reply(&mut bytes, id, 1, &payload);
        cancel(&mut bytes, 8);
        let (mut frames, mut incoming, mut to_skip) = (Vec::new(), BytesMut::new(), 0);
        for piece in bytes.chunks(size) {
            incoming.extend_from_slice(piece);
            taken_into(&mut frames, &mut incoming, &mut to_skip).unwrap();
        }
        let expected = [Frame::LongCall { id }, Frame::Cancel { id: 7 }, Frame::LongReply { id }, Frame::Cancel { id: 8 }];
        prop_assert_eq!(&frames[..], &expected[..]);
        prop_assert!(incoming.is_empty());
    }
}

#[test]
fn what_is_no_frame_is_refused() {
    let refusal = |bytes: &[u8]| taken(&mut BytesMut::from(bytes)).unwrap_err();
    assert_eq!(refusal(&[0, 0, 0, 0]), Malformed::UnknownKind(0));
    assert_eq!(refusal(&[1, 0, 0, 0, 9]), Malformed::UnknownKind(9));
    assert_eq!(refusal(&[2, 0, 0, 0, 4, 1]), Malformed::TooShort { kind: 4 });
    assert_eq!(refusal(&[10, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 77]), Malformed::UnknownReason(77));
    assert_eq!(refusal(b"\x0b\0\0\0\0ELAHLINQ\x01\0"), Malformed::NoHello);
    let mut of_nothing = Vec::new();
    reply(&mut of_nothing, 1, 0, b"");
    assert_eq!(refusal(&of_nothing), Malformed::NoItems);
}

/// Frames with numbers at their limits.
fn odd_frame(random: &mut Random) -> Frame {
    let (id, items) = (random.odd_number(), (random.odd_number() as u32).max(1));
    let payload = Bytes::from(random.bytes(40));
    match random.below(5) {
        0 => Frame::Hello { version: random.odd_number() as u16, rest: payload },
        1 => Frame::Call { id, items, remaining: Duration::from_micros(random.odd_number()), payload },
        2 => Frame::Reply { id, items, payload },
        3 => Frame::Failure { id, reason: *random.pick(&[Reason::Overloaded, Reason::Unread, Reason::TooLong]) },
        _ => Frame::Cancel { id },
    }
}

/// Changed bytes are read in the same way however they are split, and the frames read from them have the values in the bytes.
#[test]
fn fuzz_changed_frames() {
    let lengths: Vec<_> = [0, 1, 9, 21, PAYLOAD_MAX as u32 + 22, u32::MAX].map(u32::to_le_bytes).to_vec();
    elah_fuzz::run("changed frames", |random| {
        let mut sent = Vec::new();
        (0..=random.below(4)).for_each(|_| odd_frame(random).encode(&mut sent));
        let bytes = Mutator::new(&[sent], &lengths).mutated(random);

        let whole = taken(&mut BytesMut::from(&bytes[..]));

        let (mut incoming, mut to_skip) = (BytesMut::new(), 0);
        let mut in_pieces = Ok(Vec::new());
        let mut rest = &bytes[..];
        while let (Ok(frames), false) = (&mut in_pieces, rest.is_empty()) {
            let (piece, later) = rest.split_at(1 + random.below(rest.len()));
            incoming.extend_from_slice(piece);
            if let Err(refusal) = taken_into(frames, &mut incoming, &mut to_skip) {
                in_pieces = Err(refusal);
            }
            rest = later;
        }
        assert_eq!(in_pieces, whole, "{bytes:02x?}");

        let Ok(frames) = whole else { return };
        let mut at = 0;
        for frame in frames {
            let length = u32::from_le_bytes(bytes[at..at + LENGTH_BYTES].try_into().expect("four bytes")) as usize;
            let mut again = Vec::new();
            frame.encode(&mut again);
            let said = &bytes[at + LENGTH_BYTES..bytes.len().min(at + LENGTH_BYTES + length)];
            assert!(said.starts_with(&again[LENGTH_BYTES..]), "{frame:?} of {said:02x?}");
            at += LENGTH_BYTES + length;
        }
        assert_eq!(&incoming[..], bytes.get(at..).unwrap_or_default(), "an incomplete frame waits for more");
    });
}
