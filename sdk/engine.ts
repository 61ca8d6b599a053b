export { countOf, type Fields, fieldsOf, textOf } from "./engine/fields.ts";
export { createLentKeys, type LentKeys, proxyFor } from "./engine/lent-keys.ts";
export { describeGone, type LineRpc, openLineRpc, type RpcGone, type RpcListener, type RpcOptions } from "./engine/line-rpc.ts";
export { type Claim, createEnginePool, type EnginePool, type PooledEngine, type PoolOptions } from "./engine/pool.ts";
export { ask, type Probing, probeEngine, versionOf } from "./engine/probing.ts";
export { type Proof, proveWall } from "./engine/proof.ts";
export { type LoopbackRelay, openLoopbackRelay, openRelay, type Relay, type Vendor } from "./engine/relay.ts";
export { type FreshLayers, freshLayers } from "./engine/told-layers.ts";
export { createToolServers, type ToolServers } from "./engine/tool-servers.ts";
export { type Refused, vendorFailure } from "./engine/vendor-failure.ts";
export {
  type Bubblewrap,
  commandWall,
  filesOf,
  findBubblewrap,
  type ProgramRoom,
  programWall,
  quoted,
  type Room,
  relayProgram,
  SYSTEM_PATH,
  tidy,
  unfit,
} from "./engine/wall.ts";
