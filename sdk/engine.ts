export { countOf, type Fields, fieldsOf, textOf } from "./engine/fields.ts";
export * from "./engine/generation-1.ts";
export { createKeyRelays, type KeyRelays, proxyFor } from "./engine/key-relays.ts";
export { describeGone, type LineRpc, openLineRpc, type RpcGone, type RpcListener, type RpcOptions } from "./engine/line-rpc.ts";
export { type Claim, createEnginePool, type EnginePool, type PooledEngine, type PoolOptions } from "./engine/pool.ts";
export { ask, type Probing, probeEngine, versionOf } from "./engine/probing.ts";
export { type LoopbackRelay, openLoopbackRelay, openRelay, type Relay, type Vendor } from "./engine/relay.ts";
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
export { createToolServers, type ToolServers } from "./engine/tool-servers.ts";
export { type UnsentLayers, unsentLayers } from "./engine/unsent-layers.ts";
export { type Refused, vendorFailure } from "./engine/vendor-failure.ts";
