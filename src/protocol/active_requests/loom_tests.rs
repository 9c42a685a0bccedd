//! A model of active requests.

use super::*;

/// Answer, cancel and close happen at the same time: exactly one of the three ends the
/// request.
#[test]
fn loom_a_request_ends_once() {
    loom::model(|| {
        let requests = Arc::new(ActiveRequests::new(10, Duration::MAX));
        let id = RequestId::from(1);
        let opening = Opening {
            id: Some(&id),
            method: &"m".into(),
            origin: &Origin::default(),
            quick: false,
            runs: false,
        };
        let request = requests.open(&opening, Instant::now()).expect("free");
        let cancelling = {
            let (requests, id) = (Arc::clone(&requests), id.clone());
            loom::thread::spawn(move || requests.cancel(&id, None).is_some())
        };
        let answering = {
            let (requests, request) = (Arc::clone(&requests), Arc::clone(&request));
            loom::thread::spawn(move || {
                let won = request.begin_answer().is_ok();
                requests.free_id(&request);
                won
            })
        };
        requests.close(&RpcError::internal("over"));
        let cancelled = cancelling.join().expect("no panic");
        let answered = answering.join().expect("no panic");
        assert!(!(cancelled && answered), "both won");
        assert!(!request.is_open());
        assert_eq!(request.cancel().is_triggered(), !answered);
    });
}
