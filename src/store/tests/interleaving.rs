//! Any interleaving of producers gives one order, and every write is in it whole or not at all.

use proptest::prelude::*;

use super::super::{EventFilter, Store};
use super::{event, furnished, id, normal, only, temp};

#[derive(Debug, Clone)]
struct Step {
    session: u8,
    events: u8,
    flaw: bool,
}

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let step =
        (0..3u8, 0..4u8, prop::bool::weighted(0.1)).prop_map(|(session, events, flaw)| Step { session, events, flaw });
    prop::collection::vec(prop::collection::vec(step, 0..12), 1..5)
}

/// Lets every producer write its steps one after the other, all producers at the same time.
async fn play(store: &Store, plan: Vec<Vec<Step>>) -> Vec<Vec<(String, Vec<u64>)>> {
    let producers = plan.into_iter().enumerate().map(|(producer, steps)| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for (place, step) in steps.into_iter().enumerate() {
                let name = format!("{producer}.{place}");
                let mut changes: Vec<_> = (0..step.events).map(|_| event(step.session, &name)).collect();
                if step.flaw {
                    changes.push(event(77, "stranger"));
                }
                match store.write(normal(changes)).await {
                    Ok(written) => acknowledged.push((name, written.seqs)),
                    Err(error) => assert!(step.flaw, "{error}"),
                }
            }
            acknowledged
        })
    });
    let mut acknowledged = Vec::new();
    for producer in producers.collect::<Vec<_>>() {
        acknowledged.push(producer.await.unwrap());
    }
    acknowledged
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_keeps_the_order_and_whole_writes(plan in steps()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let (_dir, path) = temp();
            let store = furnished(&path, 3).await;
            let acknowledged = play(&store, plan).await;
            let stored = store.events(EventFilter::default(), 0, 1000).await.unwrap();

            let seqs: Vec<_> = stored.iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "one order without gaps");
            assert_eq!(*store.committed().borrow(), seqs.len() as u64);

            let mut expected = Vec::new();
            for writes in &acknowledged {
                let own: Vec<_> = writes.iter().flat_map(|(_, seqs)| seqs).collect();
                assert!(own.is_sorted(), "a producer's writes keep their order: {own:?}");
                for (name, seqs) in writes {
                    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{name} is in one piece: {seqs:?}");
                    expected.extend(seqs.iter().map(|seq| (*seq, name.as_str())));
                }
            }
            expected.sort_unstable();
            let found: Vec<_> = stored.iter().map(|event| (event.seq, event.payload.as_str())).collect();
            assert_eq!(found, expected, "acknowledged is stored, refused is not");

            for number in 0..3 {
                let own: Vec<_> = stored.iter().filter(|event| event.session == id(number)).cloned().collect();
                assert_eq!(store.events(only(number), 0, 1000).await.unwrap(), own);
            }
        });
    }
}
