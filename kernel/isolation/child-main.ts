/*
 * The program of an isolated plugin's process. The daemon calls it over a socket on descriptor 3, in this order: `load`, `setup`, `start`, then the
 * registered functions, then `stop`. It ends when the socket closes, so it never outlives its daemon.
 */
import { Socket } from "node:net";
import type { Capability, Envelope, Lifecycle, Plugin, PluginId } from "@svc/sdk";
import { declarationCheck } from "@svc/sdk/host";
import { fail } from "../base/errors.ts";
import { createLines } from "../capabilities/processes/lines.ts";
import { importPlugin } from "../sources/code.ts";
import { placeOf } from "../sources/failure-place.ts";
import { lifecycleOf } from "../sources/plugin-lifecycle.ts";
import type { Source } from "../sources/source.ts";
import { type ChildContext, type ContextFacts, callOrigin, createChildContext, type Preloaded } from "./child-context.ts";
import { createRegister, type Register } from "./child-register.ts";
import { type Args, writeError } from "./frames.ts";
import { ISOLATION_LIMITS } from "./isolation-limits.ts";
import { createPeer, type Served } from "./peer.ts";
import type { Described, Mirror, SetUp } from "./registrations.ts";

/** Time limit of a tap of `emit`, as in the daemon. */
const EMIT_MS = 1_000;

const wire = new Socket({ fd: 3, readable: true, writable: true });
let id = "plugin" as PluginId;
let source: Source | undefined;
let plugin: Plugin<never> | undefined;
let lifecycle: Lifecycle<never> = {};
let context: ChildContext | undefined;
let register: Register | undefined;

const peer = createPeer({
  write: (line) => void wire.write(`${line}\n`),
  serve,
  onNotify,
  origin: () => callOrigin.getStore(),
  where: "in the daemon",
  pending: Number.POSITIVE_INFINITY,
  serving: Number.POSITIVE_INFINITY,
  frameBytes: ISOLATION_LIMITS.frameBytes,
  abandonMs: ISOLATION_LIMITS.abandonMs,
  busy: (limit) => fail("SVC_ISOLATION_BUSY", { plugin: id, limit }),
  tooLarge: (bytes) => fail("SVC_ISOLATION_SIZE", { plugin: id, bytes, limit: ISOLATION_LIMITS.frameBytes, failure: "permanent" }),
});

function serve(on: string, args: Args, served: Served): unknown {
  return callOrigin.run(served.id, () => (PHASES.has(on) ? placed(answer(on, args, served)) : answer(on, args, served)));
}

const PHASES: ReadonlySet<string> = new Set(["load", "setup", "start", "reload"]);

/** Adds the source location to an error of a phase: the stack does not cross. */
async function placed(phase: Promise<unknown>): Promise<unknown> {
  try {
    return await phase;
  } catch (error) {
    const place = source === undefined ? undefined : placeOf(error, source);
    throw place === undefined ? error : Object.assign(error as Error, { place });
  }
}

async function answer(on: string, args: Args, served: Served): Promise<unknown> {
  switch (on) {
    case "load":
      return load(args as Pick<Source, "id" | "entry" | "folder">);
    case "setup":
      return setUp(args as { readonly facts: ContextFacts; readonly mirror: Mirror });
    case "start":
      return lifecycle.start?.();
    case "stop":
      await lifecycle.stop?.();
      return context?.abort.abort();
    case "reload":
      return lifecycle.reload?.(args.config as never);
    case "function":
      return context?.callBack(args);
    default:
      return register?.serve(on, args, served);
  }
}

/** Notifications have no answer: an error of the plugin's code is reported to the daemon as a stray error. */
function onNotify(on: string, args: Args): void {
  if (on === "ping") peer.notify("pong", {});
  else if (on === "mirror") context?.mirror(args as Mirror);
  else if (on === "ended") register?.ended(args);
  else if (on === "heard") void reportStray(() => context?.callBack(args));
  else {
    const { id: parentId, rootId } = args.envelope as Envelope;
    const given = { n: args.n, given: [args.envelope], deadline: Date.now() + EMIT_MS };
    void callOrigin.run({ rootId, parentId }, () =>
      reportStray(() => register?.serve(on, given, { signal: AbortSignal.timeout(EMIT_MS), id: 0, of: undefined })),
    );
  }
}

async function reportStray(work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    peer.notify("stray", { error: writeError(error) });
  }
}

async function load(named: Pick<Source, "id" | "entry" | "folder">): Promise<Described> {
  id = named.id;
  source = { ...named, from: "path" };
  plugin = await importPlugin(source);
  const { kind, name, version, svc, config, agentConfig, capabilities } = plugin;
  return { kind, name, version, svc, capabilities, ...(config === undefined ? {} : { config }), ...(agentConfig === undefined ? {} : { agentConfig }) };
}

async function setUp({ facts, mirror }: { readonly facts: ContextFacts; readonly mirror: Mirror }): Promise<SetUp> {
  id = facts.id;
  const has = (capability: Capability) => facts.capabilities.includes(capability);
  const loaded: Preloaded = {
    ...(has("render") ? { render: (await import("../capabilities/render/render.ts")).createRender() } : {}),
    ...(has("jobs") ? { schedule: await import("../base/calendar/index.ts") } : {}),
  };
  const need = declarationCheck(id, facts.capabilities);
  register = createRegister(id, (on, args) => void peer.notify(on, args), need);
  context = createChildContext(facts, peer, loaded, need, register);
  context.mirror(mirror);
  lifecycle = lifecycleOf(id, await (plugin as Plugin<never>).setup(context.context));
  register.close();
  const members = (["start", "stop", "reload"] as const).filter((member) => typeof lifecycle[member] === "function");
  return { registrations: register.registrations, lifecycle: members };
}

const lines = createLines({ maxBytes: ISOLATION_LIMITS.unreadBytes, line: (line) => void peer.take(line) });
wire.on("data", (chunk: Buffer) => lines.push(chunk));
wire.on("error", () => process.exit(0));
wire.on("close", () => process.exit(0));
wire.on("end", () => process.exit(0));
for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, (error) => void peer.notify("stray", { error: writeError(error) }));
// A terminal or service manager signals the whole group: ignore that here; the daemon decides and sends `stop`.
for (const signal of ["SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
