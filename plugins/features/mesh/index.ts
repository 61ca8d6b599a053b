import { definePlugin, type Peers, type Route, type TaskResult } from "@svc/sdk";
import { Answers } from "./answers.ts";
import { createPeerAuthority } from "./authority.ts";
import type { Discovery } from "./discovery.ts";
import type { Cursor } from "./feed.ts";
import { tellChanges } from "./known-peers.ts";
import { announceRoutes, nodeRoute, peerRoutes } from "./mesh-routes.ts";
import { addNodeTurns } from "./node-turns.ts";
import { HealthBook } from "./peer-health.ts";
import { createPeers } from "./peers.ts";
import { MESH, type MeshSettings } from "./settings.ts";
import { CHANNEL, meshCancelRoute, meshTaskRoute, messageTo, requirePeer } from "./task-route.ts";

/** The daemons that work together: who is let in, and agents that live elsewhere. */
export default definePlugin<MeshSettings>({
  kind: "feature",
  name: "mesh",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "mesh", schema: MESH },
  capabilities: ["agents", "events", "events:peers", "fetch", "health", "jobs", "network", "routes", "store", "tasks", "traces"],
  answers: () => import("./route-answers.js"),
  setup(ctx) {
    const { peers: configured, discovery: how, healthCheck, feed } = ctx.config;
    ctx.provide.authority(createPeerAuthority(configured));
    const wire = createPeers(configured, ctx.fetch);
    const answers = new Answers(ctx);
    const peers: Peers = {
      ...wire,
      list: () => wire.list().map((peer) => ({ ...peer, ...health.known(peer.name) })),
      async run(peer, { signal, ...task }): Promise<TaskResult> {
        requirePeer(wire, peer);
        return ctx.tasks.run(messageTo(peer, task), undefined, signal);
      },
      async send(peer, task, answerTo) {
        requirePeer(wire, peer);
        return answers.send(peer, task, answerTo);
      },
    };
    ctx.provide.service("peers", peers);
    const health = new HealthBook(peers, ctx, healthCheck.timeout * 1_000);
    // Tasks for peers are stored here first; the turn is then handed over.
    ctx.hooks.route.tap(({ channel, chat, agent = "", facts }): Route | undefined => {
      const node = channel === CHANNEL ? facts?.["peer"] : undefined;
      return typeof node !== "string" ? undefined : { agent, node, conversation: `${node}/${chat}`, reply: { channel: "http", chat } };
    });
    addNodeTurns(ctx, peers);
    const { agents, events, node, tasks, traces } = ctx;
    const deps = { agents, events, node, tasks, traces, peers, answers };
    const taskRoute = meshTaskRoute(deps);
    for (const route of [
      taskRoute,
      meshCancelRoute(deps, taskRoute),
      ...announceRoutes(ctx),
      nodeRoute(ctx.node),
      ...peerRoutes(peers, health, () => discovery?.found() ?? []),
    ])
      ctx.provide.route(route);
    let discovery: Discovery | undefined;
    return {
      async start() {
        if (how === "mdns") {
          const { Discovery: Opened } = await import("./discovery.js");
          discovery = new Opened({ node: ctx.node.id, listens: ctx.health().listens, log: ctx.log });
          discovery.start();
        }
        await tellChanges(configured, ctx);
        if (configured.length === 0) return;
        await answers.resume();
        ctx.jobs.every(healthCheck.interval * 1_000, () => health.look());
        if (!feed.enabled) return;
        const { follow } = await import("./feed.js");
        const { events, fetch, log, node, signal } = ctx;
        const options = { events, fetch, log, node, signal, skipTypes: feed.skipTypes, cursors: ctx.store.collection<Cursor>("cursors") };
        for (const peer of configured)
          follow(peer, options).catch(
            (error) => signal.aborted || log.error({ peer: peer.name, err: error }, "a peer's events are no longer followed; restart the daemon"),
          );
      },
      stop: async () => discovery?.close(),
    };
  },
});
