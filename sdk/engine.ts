export { countOf, type Fields, fieldsOf, textOf } from "./engine/fields.ts";
export { describeGone, type LineRpc, openLineRpc, type RpcGone, type RpcListener, type RpcOptions } from "./engine/line-rpc.ts";
export { type Claim, createEnginePool, type EnginePool, type PooledEngine, type PoolOptions } from "./engine/pool.ts";
