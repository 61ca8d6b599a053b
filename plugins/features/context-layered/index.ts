import { definePlugin, type HttpRequest, type HttpRoute, type Lifecycle, type PluginContext } from "@svc/sdk";
import type { AgentMemory } from "./agent-memory.ts";
import type { Assembly } from "./assembly.ts";
import { provideMemoryPanel } from "./memory-panel.ts";
import type { ReferenceBook } from "./reference-book.ts";

type Lent = Pick<PluginContext, "agents" | "files" | "fetch">;

const NAME = { type: "string", minLength: 1, maxLength: 200 } as const;
const MEMORY = "/agents/:id/memory";
const FILE = { type: "string", minLength: 1, maxLength: 500 } as const;
const bodyOf = <T>({ body }: HttpRequest): T => (body ?? {}) as T;
const idOf = ({ params }: HttpRequest): string => params["id"] ?? "";

async function referencesOf(ctx: Lent, id: string): Promise<ReferenceBook> {
  const [{ openReferences }, { contextError }] = await Promise.all([import("./reference-book.js"), import("./context-errors.js")]);
  const agent = ctx.agents.get(id);
  if (agent === undefined) throw contextError("SVC_CONTEXT_AGENT", { agent: id });
  return openReferences(ctx, id, ctx.files.under(agent.workspace));
}

async function memoryOf(ctx: Lent, id: string): Promise<AgentMemory> {
  const [{ openMemory }, { contextError }] = await Promise.all([import("./agent-memory.js"), import("./context-errors.js")]);
  const agent = ctx.agents.get(id);
  if (agent === undefined) throw contextError("SVC_CONTEXT_AGENT", { agent: id });
  return openMemory(id, ctx.files.under(agent.workspace));
}

/** The files of a memory, or the text of one as it may be shown. */
const memoryRead = (ctx: Lent) => ({
  method: "GET" as const,
  path: MEMORY,
  query: { type: "object", additionalProperties: false, properties: { file: FILE } } as const,
  async handle(request: HttpRequest): Promise<object> {
    const memory = await memoryOf(ctx, idOf(request));
    const { file } = request.query;
    return file === undefined ? memory.list() : memory.show(file);
  },
});

/** Routes for the files of an agent's workspace and its memory: read as protected (000:L253), changed by people of this machine. */
const workspaceRoutes = (ctx: Lent): readonly HttpRoute[] => [
  {
    method: "GET",
    path: "/agents/:id/references",
    guard: "peer",
    handle: async (request) => ({ references: await (await referencesOf(ctx, idOf(request))).list() }),
  },
  {
    method: "POST",
    path: "/agents/:id/references",
    guard: "loopback",
    forPeople: true,
    body: { type: "object", additionalProperties: false, required: ["name", "at"], properties: { name: NAME, at: { ...NAME, maxLength: 2_000 }, note: NAME } },
    handle: async (request) => ({ reference: await (await referencesOf(ctx, idOf(request))).add(bodyOf(request)) }),
  },
  {
    method: "POST",
    path: "/agents/:id/references/verify",
    guard: "loopback",
    forPeople: true,
    body: { type: "object", additionalProperties: false, properties: { name: NAME, accept: { type: "boolean" } } },
    async handle(request) {
      const { name, accept = false } = bodyOf<{ name?: string; accept?: boolean }>(request);
      return { references: await (await referencesOf(ctx, idOf(request))).verify(name, accept) };
    },
  },
  {
    method: "POST",
    path: "/agents/:id/references/remove",
    guard: "loopback",
    forPeople: true,
    body: { type: "object", additionalProperties: false, required: ["name"], properties: { name: NAME } },
    async handle(request) {
      await (await referencesOf(ctx, idOf(request))).remove(bodyOf<{ name: string }>(request).name);
      return { removed: true };
    },
  },
  {
    ...memoryRead(ctx),
    guard: "peer",
    async handle(request) {
      const shown = await memoryRead(ctx).handle(request);
      const { file } = request.query;
      // Where it lies is no business of another machine.
      return file === undefined || !request.caller.local ? shown : { ...shown, path: await (await memoryOf(ctx, idOf(request))).pathOf(file) };
    },
  },
  {
    method: "PUT",
    path: MEMORY,
    guard: "loopback",
    forPeople: true,
    body: {
      type: "object",
      additionalProperties: false,
      required: ["file", "text"],
      properties: { file: FILE, text: { type: "string", maxLength: 1_000_000 }, tag: { type: "string", maxLength: 64 } },
    },
    async handle(request) {
      const { file, text, tag } = bodyOf<{ file: string; text: string; tag?: string }>(request);
      await (await memoryOf(ctx, idOf(request))).edit(file, text, tag);
      return { file };
    },
  },
  {
    method: "DELETE",
    path: MEMORY,
    guard: "loopback",
    forPeople: true,
    query: { type: "object", additionalProperties: false, required: ["file"], properties: { file: FILE } },
    async handle(request) {
      const { file = "" } = request.query;
      await (await memoryOf(ctx, idOf(request))).remove(file);
      return { file, removed: true };
    },
  },
];

/**
 * Context of a turn (000:L35): the preamble that stays the same, and up to eight layers of this turn, within 6000 tokens. For a turn that another
 * strategy has built it adds the preamble and the layers without the history, and enforces the cap.
 */
export default definePlugin({
  kind: "feature",
  name: "context-layered",
  version: "0.1.0",
  svc: "^0.1.0",
  default: true,
  strategies: ["layered"],
  agentConfig: {
    type: "object",
    properties: {
      contextReferences: { type: "boolean", default: false, description: "add the verified references of the workspace (references/registry.json)" },
      richMessages: { type: "boolean", default: true, description: "buttons, polls and media; false is plain text only" },
    },
  },
  capabilities: ["files", "agents", "health", "services", "routes", "fetch", "traces"],
  answers: () => import("./answers.js"),
  setup(ctx): Lifecycle {
    let assembly: Assembly | undefined;
    // Read with the first turn: a start has better things to do.
    const firstAssembly = async (): Promise<Assembly> => {
      const { createAssembly } = await import("./assembly.js");
      assembly ??= createAssembly(ctx);
      return assembly;
    };
    ctx.hooks.assembleContext.tap((context, turn) => assembly?.withPast(context, turn) ?? firstAssembly().then((made) => made.withPast(context, turn)), {
      phase: "history",
      step: "history",
    });
    ctx.hooks.assembleContext.tap((context, turn) => assembly?.fitted(context, turn) ?? firstAssembly().then((made) => made.fitted(context, turn)), {
      phase: "fit",
      step: "context",
    });
    for (const route of workspaceRoutes(ctx)) ctx.provide.route(route);
    provideMemoryPanel(ctx, memoryRead(ctx));
    return { stop: async () => assembly?.settled() };
  },
});
