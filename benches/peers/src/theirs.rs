//! A server and a client on the crate rmcp.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rmcp::handler::client::ClientHandler;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::*;
use rmcp::service::{NotificationContext, Peer, RequestContext, RunningService};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{
    ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt, schemars, tool, tool_handler,
    tool_router,
};
use tokio::runtime::{Builder, Runtime};

use crate::compare::{IN_FLIGHT, Measured, Workload};
use crate::{Maker, TOOLS};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Echo {
    message: String,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Count {
    count: u32,
}

#[derive(Clone)]
struct Bench {
    router: Arc<ToolRouter<Self>>,
}

#[tool_router]
impl Bench {
    fn new() -> Result<Self> {
        let mut router = Self::tool_router();
        for number in 2..TOOLS {
            let filler = crate::ours::filler(number);
            let schema: JsonObject = serde_json::from_str(filler.input_schema.as_str())?;
            let tool = Tool::new(
                filler.name,
                filler.description.unwrap_or_default(),
                Arc::new(schema),
            );
            router.add_route(ToolRoute::new_dyn(tool, |_: ToolCallContext<'_, Self>| {
                Box::pin(async {
                    Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
                })
            }));
        }
        Ok(Self {
            router: Arc::new(router),
        })
    }

    #[tool(description = "Gives the message back")]
    fn echo(
        &self,
        Parameters(Echo { message }): Parameters<Echo>,
    ) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(message)]))
    }

    #[tool(description = "Reports progress so many times")]
    async fn progress(
        &self,
        Parameters(Count { count }): Parameters<Count>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let token = context.meta.get_progress_token();
        let token = token.ok_or_else(|| ErrorData::invalid_params("no progress token", None))?;
        for step in 1..=count {
            let progress =
                ProgressNotificationParam::new(token.clone(), step.into()).with_total(count.into());
            let sent = context.peer.notify_progress(progress).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]))
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Bench {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_all().build()?)
}

pub fn serve_stdio() -> Result<()> {
    runtime()?.block_on(async {
        Bench::new()?
            // The faster one of rmcp's two stdio transports: the other one reads and writes on
            // threads of a pool.
            .serve(rmcp::transport::io::stdio_pipes())
            .await?
            .waiting()
            .await?;
        Ok(())
    })
}

pub fn serve_http() -> Result<()> {
    runtime()?.block_on(async {
        let bench = Bench::new()?;
        let service: StreamableHttpService<Bench, LocalSessionManager> = StreamableHttpService::new(
            move || Ok(bench.clone()),
            Arc::default(),
            StreamableHttpServerConfig::default(),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        let listener =
            axum::serve::ListenerExt::tap_io(listener, |stream| _ = stream.set_nodelay(true));
        axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        Ok(())
    })
}

#[derive(Clone, Default)]
struct Told(Arc<AtomicU64>);

impl ClientHandler for Told {
    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// How long to wait for a late progress message.
const LATE: Duration = Duration::from_secs(5);

/// A client of a bare server.
pub struct Client {
    runtime: Runtime,
    told: Told,
    service: RunningService<RoleClient, Told>,
}

impl Client {
    pub fn connect(address: Option<&str>) -> Result<Self> {
        let (runtime, told) = (runtime()?, Told::default());
        let service = runtime.block_on(async {
            let handler = told.clone();
            anyhow::Ok(match address {
                Some(address) => {
                    let transport =
                        StreamableHttpClientTransport::from_uri(format!("http://{address}/mcp"));
                    handler.serve(transport).await?
                }
                None => {
                    let mut command = tokio::process::Command::new(std::env::current_exe()?);
                    command.args(["serve", Maker::Bare.name(), "stdio"]);
                    handler.serve(TokioChildProcess::new(command)?).await?
                }
            })
        })?;
        Ok(Self {
            runtime,
            told,
            service,
        })
    }
}

async fn call(
    peer: &Peer<RoleClient>,
    tool: &'static str,
    arguments: serde_json::Value,
) -> Result<CallToolResult> {
    let arguments = arguments.as_object().cloned().context("an object")?;
    Ok(peer
        .call_tool(CallToolRequestParams::new(tool).with_arguments(arguments))
        .await?)
}

async fn echo(peer: &Peer<RoleClient>, text: &str) -> Result<()> {
    let result = call(peer, "echo", serde_json::json!({ "message": text })).await?;
    let came = result.content.first().and_then(|block| block.as_text());
    ensure!(
        came.is_some_and(|came| came.text == text),
        "the echo is another text"
    );
    Ok(())
}

impl Measured for Client {
    fn play(&mut self, workload: Workload, text: &str) -> Result<usize> {
        let peer = self.service.peer().clone();
        let before = self.told.0.load(Ordering::Relaxed);
        self.runtime.block_on(async {
            match workload {
                Workload::Echo(_) => echo(&peer, text).await?,
                Workload::InFlight | Workload::Started => {
                    let tasks = (0..IN_FLIGHT).map(|_| {
                        let (peer, text) = (peer.clone(), text.to_owned());
                        tokio::spawn(async move {
                            for _ in 0..20 {
                                echo(&peer, &text).await?;
                            }
                            anyhow::Ok(())
                        })
                    });
                    for task in tasks.collect::<Vec<_>>() {
                        task.await??;
                    }
                    return Ok(20 * IN_FLIGHT);
                }
                Workload::List => {
                    let page = peer.list_tools(None).await?;
                    ensure!(page.tools.len() == TOOLS, "tools are missing");
                }
                Workload::Progress => {
                    call(&peer, "progress", serde_json::json!({ "count": 100 })).await?;
                    // Progress messages are handled by a separate task, which may run late.
                    let began = Instant::now();
                    while self.told.0.load(Ordering::Relaxed) == before {
                        ensure!(began.elapsed() < LATE, "no progress was reported");
                        tokio::task::yield_now().await;
                    }
                }
            }
            Ok(1)
        })
    }
}
