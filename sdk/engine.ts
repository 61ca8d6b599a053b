export { type AcpAgent, acpAgentOf, acpPictures, acpServers, permissionAnswer } from "./engine/acp-answers.ts";
export { type AcpCalls, createAcpCalls } from "./engine/acp-calls.ts";
export { type AcpDialect, type AcpReader, createAcpReader } from "./engine/acp-reader.ts";
export { type ConversationRows, conversationRows } from "./engine/conversation-rows.ts";
export { type EngineEnvironment, type EngineVariables, engineEnvironment, type ReadVariable } from "./engine/engine-environment.ts";
export { type Executable, executableOf, findExecutable, isExecutable, requireExecutable, type WantedProgram } from "./engine/executable.ts";
export { extraCertificates } from "./engine/extra-certificates.ts";
export { countOf, type Fields, fieldsOf, listOf, textOf } from "./engine/fields.ts";
export { type FoundEngine, findEngines, findPrograms, installable, offersOf, type TierOffer } from "./engine/find-engines.ts";
export * from "./engine/generation-1.ts";
export { createInbox, type Inbox } from "./engine/inbox.ts";
export { createKeyRelays, type KeyRelays, proxyFor } from "./engine/key-relays.ts";
export { describeGone, type FormerRpcListener, type LineRpc, openLineRpc, type RpcGone, type RpcListener, type RpcOptions } from "./engine/line-rpc.ts";
export {
  type PermissionAnswer,
  type PermissionAsking,
  type PermissionCall,
  permissionQuestions,
} from "./engine/permission-questions.ts";
export { type Claim, createEnginePool, type EnginePool, type PooledEngine, type PoolOptions } from "./engine/pool.ts";
export { type PooledRun, type PooledTurn, runOnPool } from "./engine/pooled-run.ts";
export { ask, type Probing, type ProgramProbe, probeEngine, probeProgram, versionOf } from "./engine/probing.ts";
export { type LoopbackRelay, openLoopbackRelay, openRelay, type Relay, type Vendor } from "./engine/relay.ts";
export { goneFailure, runFailure } from "./engine/run-failure.ts";
export {
  type Bubblewrap,
  commandSandbox,
  findBubblewrap,
  type ProgramSandbox,
  packageFilesOf,
  programSandbox,
  relayLauncher,
  removeMountPoints,
  type SandboxView,
  SYSTEM_PATH,
  sandboxObstacle,
  shellQuoted,
} from "./engine/sandbox.ts";
export { checkSandbox, type SandboxCheck } from "./engine/sandbox-check.ts";
export { brief } from "./engine/summary.ts";
export { createToolServers, type ServerNews, type ToolServers } from "./engine/tool-servers.ts";
export { readTranscript, type Transcript } from "./engine/transcript.ts";
export { type UnsentLayers, unsentLayers } from "./engine/unsent-layers.ts";
export { type Refused, vendorFailure } from "./engine/vendor-failure.ts";
export { type WorkspaceServer, workspaceServers } from "./engine/workspace-servers.ts";
