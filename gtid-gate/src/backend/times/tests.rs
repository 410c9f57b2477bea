//! Times follow the answers, and what they say of digests and servers.

use super::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// A satellite that is asked by one client, a query each millisecond.
struct Asked {
    times: ServerTimes,
    now: Instant,
}

impl Asked {
    fn new() -> Self {
        let digests = Arc::new(DigestTimes::new(20 * MS));
        let (times, now) = (ServerTimes::new(digests, 1, true), Instant::now());
        Self { times, now }
    }

    fn add(&mut self, digest: u64, took: Duration, running: usize) {
        self.now += MS;
        self.times.add(digest, took, running, self.now);
    }

    fn expects(&self, digest: u64, running: usize) -> f64 {
        let known = self.times.expect(digest, running, self.now);
        known.unwrap().as_secs_f64() * 1e3
    }

    fn is_heavy(&self, digest: u64) -> bool {
        self.times.digests.is_heavy(digest)
    }
}

#[test]
fn times_follow_the_answers_and_a_single_slow_one_says_little() {
    let mut asked = Asked::new();
    assert_eq!(asked.times.expect(7, 0, asked.now), None);
    (0..50).for_each(|_| asked.add(7, MS, 1));
    assert!((asked.expects(7, 0) - 1.0).abs() < 0.1);
    asked.add(7, 1000 * MS, 1);
    assert!(asked.expects(7, 0) < 1.3);
    (0..300).for_each(|_| asked.add(7, 10 * MS, 1));
    let now = asked.expects(7, 0);
    assert!(now > 8.0 && now < 12.0, "{now}");
}

#[test]
fn a_digest_that_takes_an_entry_over_inherits_neither_its_time_nor_its_weight() {
    let (mut asked, other) = (Asked::new(), 7 + (1 << 40));
    asked.add(7, 30 * MS, 1);
    assert_eq!(asked.times.expect(other, 0, asked.now), None);
    assert!(!asked.is_heavy(other));
    asked.add(other, 5 * MS, 1);
    assert!(asked.times.expect(7, 0, asked.now).is_none());
    assert!(asked.expects(other, 0) > 4.0);
    assert!(!asked.is_heavy(other) && !asked.is_heavy(7));
}

#[test]
fn a_digest_that_was_not_asked_for_is_known_under_todays_load() {
    let mut asked = Asked::new();
    for _ in 0..100 {
        asked.add(1, MS, 1);
        asked.add(2, 5 * MS, 1);
    }
    (0..300).for_each(|_| asked.add(1, 8 * MS, 8));
    let slow = asked.expects(2, 7);
    assert!(slow > 15.0, "{slow}");
}

#[test]
fn a_server_that_was_slow_and_is_avoided_is_tried_again() {
    let mut asked = Asked::new();
    (0..100).for_each(|_| asked.add(1, MS, 1));
    (0..200).for_each(|_| asked.add(1, 20 * MS, 1));
    assert!(asked.expects(1, 0) > 10.0);
    asked.now += 8_000 * MS;
    assert!(asked.expects(1, 0) < 4.0, "{}", asked.expects(1, 0));
}

#[test]
fn the_more_run_the_longer_each_is_expected_to_take() {
    let mut asked = Asked::new();
    (0..100).for_each(|_| asked.add(1, MS, 4));
    let expected: Vec<_> = (0..40).map(|n| asked.expects(1, n)).collect();
    assert!(expected.is_sorted());
    assert!(expected[39] > 2.5 * expected[3], "{expected:?}");
    assert!(expected[0] > 0.8);
}

#[test]
fn a_time_of_long_ago_is_old_and_counts_no_more_when_a_newer_one_is_known() {
    let mut asked = Asked::new();
    let is_old = |a: &Asked| a.times.known(7, a.now).unwrap().is_old;
    asked.add(7, 30 * MS, 1);
    asked.now += 2_900 * MS;
    assert!(!is_old(&asked));
    asked.now += 200 * MS;
    assert!(is_old(&asked));
    asked.add(7, MS, 1);
    assert!(!is_old(&asked) && asked.expects(7, 0) < 1.5);
}

#[test]
fn what_a_server_took_before_it_was_lost_is_old_until_it_has_answered_again() {
    let mut asked = Asked::new();
    let is_old = |a: &Asked| a.times.known(7, a.now).unwrap().is_old;
    (0..100).for_each(|_| asked.add(7, 4_000 * MS, 6));
    asked.now += 10_000 * MS;
    assert!(!is_old(&asked));
    asked.times.outlive(asked.now);
    assert!(is_old(&asked));
    asked.add(7, MS, 1);
    assert!(!is_old(&asked) && asked.expects(7, 0) < 1.5);
}

#[test]
fn a_digest_is_heavy_by_what_it_takes_and_light_again_below_half_of_it() {
    let mut asked = Asked::new();
    asked.add(7, 30 * MS, 1);
    assert!(asked.is_heavy(7) && !asked.is_heavy(8));
    (0..100).for_each(|_| asked.add(7, 12 * MS, 1));
    assert!(asked.is_heavy(7));
    (0..100).for_each(|_| asked.add(7, 8 * MS, 1));
    assert!(!asked.is_heavy(7));
    (0..100).for_each(|_| asked.add(7, 15 * MS, 1));
    assert!(!asked.is_heavy(7));
    (0..100).for_each(|_| asked.add(7, 25 * MS, 1));
    assert!(asked.is_heavy(7));
}

#[test]
fn a_light_digest_that_a_busy_satellite_slows_down_now_and_then_stays_light() {
    let mut asked = Asked::new();
    for _ in 0..200 {
        [1, 60, 60].iter().for_each(|ms| asked.add(7, *ms * MS, 1));
        assert!(!asked.is_heavy(7));
    }
}

#[test]
fn a_cold_first_answer_is_soon_forgotten() {
    let mut asked = Asked::new();
    asked.add(7, 40 * MS, 1);
    (0..20).for_each(|_| asked.add(7, MS, 1));
    assert!(!asked.is_heavy(7));
}

#[test]
fn nothing_is_heavy_where_nothing_is_to_be() {
    let digests = Arc::new(DigestTimes::new(Duration::ZERO));
    let satellite = ServerTimes::new(digests.clone(), 1, true);
    satellite.add(7, 1000 * MS, 1, Instant::now());
    assert!(!digests.is_heavy(7));
    let mut asked = Asked::new();
    asked.add(0, 1000 * MS, 1);
    assert!(!asked.is_heavy(0));
}

#[test]
fn servers_have_times_of_their_own_and_the_masters_weigh_nothing() {
    let (all, now) = (Arc::new(DigestTimes::new(20 * MS)), Instant::now());
    let server = |id, is_satellite| ServerTimes::new(all.clone(), id, is_satellite);
    let (master, first, late) = (server(0, false), server(1, true), server(1 + SERVERS, true));
    master.add(7, 30 * MS, 1, now);
    assert!(!all.is_heavy(7) && first.known(7, now).is_none());
    first.add(7, MS, 1, now);
    let time = |server: &ServerTimes| server.known(7, now).map(|known| known.time);
    assert_eq!((time(&master), time(&first)), (Some(30 * MS), Some(MS)));
    assert_eq!(time(&late), None);
    late.add(7, 5 * MS, 1, now);
    assert_eq!((time(&first), time(&late)), (None, Some(5 * MS)));
}

proptest! {
    /// Half of the answers are within a quarter of what was expected, if answers vary as much as that.
    #[test]
    fn the_median_error_is_small_where_answers_are_alike(
        base in 50u64..20_000, noise in prop::collection::vec(0.8f64..1.3, 300), load in 1.0f64..8.0,
    ) {
        let mut asked = Asked::new();
        let mut errors = Vec::new();
        for (at, noise) in noise.iter().enumerate() {
            let slow = if at > 100 { load } else { 1.0 };
            let took = base as f64 * noise * slow;
            // Until a change of the load is known.
            if (50..100).contains(&at) || at > 200 {
                let expected = asked.expects(7, 0) * 1e3;
                errors.push((took - expected).abs() / took);
            }
            asked.add(7, Duration::from_nanos((took * 1e3) as u64), 1);
        }
        errors.sort_by(f64::total_cmp);
        prop_assert!(errors[errors.len() / 2] < 0.25, "{}", errors[errors.len() / 2]);
    }

    #[test]
    fn nothing_makes_a_time_vanish_or_overflow(
        answers in prop::collection::vec((0u64..3, any::<u32>(), 0usize..10_000), 1..60),
    ) {
        let mut asked = Asked::new();
        for (digest, us, running) in answers {
            asked.add(digest, Duration::from_micros(us.into()), running);
            if digest > 0 {
                prop_assert!(asked.expects(digest, running).is_finite());
            }
        }
    }

    #[test]
    fn what_never_takes_half_as_long_is_never_heavy_for_long(
        first in 1u64..100_000, later in prop::collection::vec(1u64..9_999, 60),
    ) {
        let mut asked = Asked::new();
        asked.add(7, Duration::from_micros(first), 1);
        later.iter().for_each(|us| asked.add(7, Duration::from_micros(*us), 1));
        prop_assert!(!asked.is_heavy(7));
    }
}
