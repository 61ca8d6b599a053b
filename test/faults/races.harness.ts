import { join } from "node:path";
import { definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { expect, vi } from "vitest";
import { type RunOptions, runKernel } from "../kit/kernel.ts";

export const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

export function feature(name: string, setup: (ctx: PluginContext) => unknown, extra: Partial<Plugin> = {}): Plugin<never> {
  return definePlugin({
    kind: "feature",
    name,
    version: "1.0.0",
    svc: "*",
    capabilities: ["tasks", "events", "jobs", "store", "files", "data-folder", "actions"],
    setup: setup as Plugin["setup"],
    ...extra,
  }) as unknown as Plugin<never>;
}

/** A channel that keeps what it was told to send. */
export function keeping(name: string): { plugin: Plugin<never>; sent: string[]; ctx(): PluginContext } {
  const sent: string[] = [];
  let own: PluginContext | undefined;
  const plugin = feature(name, (ctx) => {
    own = ctx;
    const handle = ctx.provide.channel({
      name,
      traits: { maxChars: 4000, unit: "codepoint", dialect: "plain" },
      async send({ text }) {
        sent.push(text);
        return { platformId: `${sent.length}` };
      },
    });
    return { start: async () => handle.ready() };
  });
  return { plugin, sent, ctx: () => own as PluginContext };
}

export const startOn = (folder: string, options: RunOptions = {}) => runKernel({ ...options, folder, dataFolder: join(folder, ".svc") });
