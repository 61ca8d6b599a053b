import {
  type Agent,
  type Capability,
  type Files,
  type MediaReader,
  type Models,
  remove,
  type Sockets,
  type Spawn,
  type Store,
  type StreamingFetch,
  type Warm,
} from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { RootLog } from "../../base/log.ts";
import type { ProtectedDeps } from "../../base/protected-files.ts";
import type { ChannelRender } from "../flow/deliver/parts.ts";
import type { CapabilityLibraries, PoolLimits } from "./capability-libraries.ts";
import { onDispose, type Scope } from "./scope.ts";

/** What capabilities are made of. */
export interface LenderDeps {
  readonly libraries: CapabilityLibraries;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: RootLog;
  /** The kernel's own store. */
  readonly core: Store;
  /** The daemon's own files: no plugin gets at them through a folder that it names. */
  readonly protected: ProtectedDeps;
  /** Marks the children of this data folder's daemon. */
  readonly marker: string;
  /** The live section `processPool`. */
  readonly processPool: () => PoolLimits;
  /** The live section `providers`, and the live agents. */
  readonly providers: () => Readonly<Record<string, unknown>>;
  readonly agent: (id: string) => Agent | undefined;
}

/** The capabilities with weight: each is imported when the first plugin that declares it is set up, and lives until the kernel stops. */
export interface Lender {
  /** Import what is declared and not there yet. */
  ensure(declared: Iterable<Capability>): Promise<void>;
  /** That of an isolated plugin trusts no origin on this machine. */
  fetch(isolated?: boolean): StreamingFetch;
  sockets(scope: Scope, section: unknown, isolated?: boolean): Sockets;
  files(own: string): Files;
  spawn(scope: Scope): Spawn;
  warm(scope: Scope): Warm;
  media(): MediaReader;
  models(): Models;
  render(): ChannelRender;
  /** Ends warm processes and children that still run. */
  close(): Promise<void>;
}

interface Made {
  fetch?: (isolated: boolean) => StreamingFetch;
  sockets?: Lender["sockets"];
  files?: (own: string) => Files;
  spawn?: (scope: Scope) => Spawn;
  warm?: (scope: Scope) => Warm;
  media?: MediaReader;
  models?: Models;
  render?: ChannelRender;
}

export function createLender(deps: LenderDeps): Lender {
  const { core, env, libraries, log, marker } = deps;
  const made: Made = {};
  const closers = new Set<() => Promise<void>>();
  const makers: Record<keyof Made, () => Promise<void>> = {
    async fetch() {
      const open = fetchWhenUsed(libraries.fetch, false);
      const walled = fetchWhenUsed(libraries.fetch, true);
      made.fetch = (isolated) => (isolated ? walled : open);
    },
    async sockets() {
      const { createSockets } = await libraries.sockets();
      made.sockets = ({ id, abort, network }, section, isolated = false) =>
        createSockets({ plugin: id, signal: abort.signal, hosts: network, section, isolated });
    },
    async files() {
      const { createFiles } = await libraries.files();
      made.files = (own) => createFiles({ own, deps: deps.protected });
    },
    async spawn() {
      const [{ createSpawn }, { sweepOrphans }] = await Promise.all([libraries.spawn(), libraries.sweep()]);
      const { record, earlier } = await childBook(core);
      await sweepOrphans({ marker, recorded: earlier, log });
      made.spawn = (scope) => {
        const spawner = createSpawn({ marker, log: log.child(scope.id), baseEnv: env, record });
        const stopAll = () => spawner.stopAll();
        closers.add(stopAll);
        // Kept until its last child is gone: a stop of the kernel waits for that.
        onDispose(scope, () => void stopAll().finally(() => closers.delete(stopAll)));
        return spawner;
      };
    },
    async warm() {
      const { createPool } = await libraries.warm();
      const pool = createPool({
        limits: deps.processPool,
        failed: (owner, error) => log.child(owner).warn({ err: error }, "a warm process could not be stopped"),
      });
      closers.add(() => pool.end());
      made.warm = (scope) => {
        onDispose(scope, () => void pool.end(scope.id));
        return pool.for(scope.id);
      };
    },
    async media() {
      const { createMedia } = await libraries.media();
      made.media = createMedia();
    },
    async models() {
      const { createModels } = await libraries.models();
      const models = createModels({ env, providers: deps.providers, agent: deps.agent });
      closers.add(async () => models.close());
      made.models = models;
    },
    async render() {
      const { createRender } = await libraries.render();
      made.render = createRender();
    },
  };
  const lend = <K extends keyof Made>(capability: K): NonNullable<Made[K]> => {
    const thing = made[capability];
    if (thing === undefined) throw fail("SVC_CAPABILITY_MISSING", { capability });
    return thing;
  };
  return {
    async ensure(declared) {
      const missing = [...declared].filter((capability): capability is keyof Made => capability in makers && made[capability as keyof Made] === undefined);
      await Promise.all(missing.map((capability) => makers[capability]()));
    },
    fetch: (isolated = false) => lend("fetch")(isolated),
    sockets: (scope, section, isolated) => lend("sockets")(scope, section, isolated),
    files: (own) => lend("files")(own),
    spawn: (scope) => lend("spawn")(scope),
    warm: (scope) => lend("warm")(scope),
    media: () => lend("media"),
    models: () => lend("models"),
    render: () => lend("render"),
    async close() {
      const standing = [...closers];
      closers.clear();
      await Promise.all(standing.map((close) => close()));
    },
  };
}

/** Its library is loaded with the first request: many plugins may make one, and few starts do. */
function fetchWhenUsed(load: CapabilityLibraries["fetch"], isolated: boolean): StreamingFetch {
  let loading: Promise<StreamingFetch> | undefined;
  const fetch = () => (loading ??= load().then(({ createFetch }) => createFetch({ isolated })));
  const whole: StreamingFetch = Object.assign(async (...request: Parameters<StreamingFetch>) => (await fetch())(...request), {
    stream: async (...request: Parameters<StreamingFetch["stream"]>) => (await fetch()).stream(...request),
  });
  return whole;
}

interface ChildNote {
  readonly pid: number;
  readonly identity: string;
}

/** Most children that are remembered; older notes are overwritten. */
const REMEMBERED = 512;

/** Notes on started processes, so that a daemon that was killed leaves none behind for ever. What an earlier daemon noted is given out once. */
async function childBook(core: Store): Promise<{ record: (taskId: string, pid: number, identity: string) => Promise<void>; earlier: ChildNote[] }> {
  const notes = core.collection<ChildNote & { readonly taskId: string }>("children");
  const found = await notes.list({ limit: REMEMBERED });
  const earlier = found.map(({ value }) => value);
  if (found.length > 0) await core.commit(found.map(({ key }) => remove("children", key)));
  let next = 0;
  const record = async (taskId: string, pid: number, identity: string) => {
    next = (next + 1) % REMEMBERED;
    await notes.put(`slot-${next}`, { taskId, pid, identity });
  };
  return { record, earlier };
}
