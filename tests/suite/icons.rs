//! Icons are what the peer says of itself: kept as they came, followed by nobody.

use mcplink::schema::{Icon, IconLimits, ProtocolVersion};
use serde_json::json;

use crate::rawserver::connect;

// M-ICON-C-03, M-ICON-C-04, M-ICON-C-07, L-ICON-C-03, L-ICON-C-04: nothing is fetched, so nothing is sent along.
#[test]
fn an_icon_is_data_until_the_host_has_looked_at_it() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let (client, mut server) = connect(revision, &json!({ "tools": {} }));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let sources = [
            format!("https://127.0.0.1:{port}/icon.png"),
            format!("http://127.0.0.1:{port}/icon.png"),
            "javascript:alert(1)".to_owned(),
            "file:///etc/passwd".to_owned(),
            "ftp://a/b".to_owned(),
            "ws://a/b".to_owned(),
            "app:icon".to_owned(),
            "data:image/png;base64,PHNjcmlwdD4=".to_owned(),
        ];
        let icons: Vec<_> = sources.iter().map(|src| json!({ "src": src })).collect();
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, "icons": icons });
        let tools = server.serve(
            || client.list_tools().unwrap(),
            |server| {
                let request = server.asked("tools/list");
                let result = json!({ "resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private" });
                server.answer(&request, result);
            },
        );
        let icons = tools[0].icons.as_deref().unwrap();
        let kept: Vec<&str> = icons.iter().map(|icon| icon.src.as_str()).collect();
        assert_eq!(kept, sources);
        let allowed = icons.iter().filter(|icon| icon.has_allowed_scheme());
        let allowed: Vec<&str> = allowed.map(|icon| icon.src.as_str()).collect();
        assert_eq!(allowed, [sources[0].as_str(), sources[7].as_str()]);
        // What calls itself a picture and is none.
        let limits = IconLimits::default();
        let script = icons[7].data(&limits).unwrap().unwrap();
        assert!(icons[7].check_image(&script, None, &limits).is_err());
        server.has_heard_nothing(&client);
        assert!(listener.accept().is_err(), "somebody came for the icon");
        assert!(Icon::new("https://a").data(&limits).is_none());
    }
}
