import { hostname } from "node:os";
import type { HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /nodes`: the daemons that use the same state, the latest first, with their beats; with a store that one daemon uses alone, this one. */
export function nodesRoute(kernel: Pick<Kernel, "nodes" | "node">): HttpRoute {
  return {
    method: "GET",
    path: "/nodes",
    summary: "The daemons that share the store",
    guard: "peer",
    async handle({ caller }) {
      const nodes = (await kernel.nodes()) ?? [{ name: kernel.node.id, boot: 0, host: hostname(), pid: process.pid, state: "alive" as const, beatMs: 0 }];
      // As in /health: only callers on this machine get the problems.
      return { nodes: caller.local ? nodes : nodes.map(({ about: _, holds: __, ...node }) => node) };
    },
  };
}
