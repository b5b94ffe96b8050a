//! The tour works without a terminal and leaves nothing behind.

use crate::env::TestEnv;

#[test]
fn the_tour_runs_to_its_end() {
    let env = TestEnv::new();
    let output = env.coppice(&["demo"]).exits(0);
    for word in ["question", "approv", "resum", "merge"] {
        assert!(output.stdout.contains(word) || output.stderr.contains(word), "{word}: {}", output.transcript());
    }
    assert_eq!(env.survivors(), Vec::<String>::new());
}
