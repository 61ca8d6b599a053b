import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Message, Plugin, TurnContext } from "@svc/sdk";
import { expect } from "vitest";
import layered from "../../plugins/features/context-layered/index.ts";
import planner from "../../plugins/features/context-planner/index.ts";
import models from "../../plugins/features/models/index.ts";
import sessions from "../../plugins/features/sessions/index.ts";
import { type RunOptions, runKernel, temporaryFolder } from "./kernel.ts";
import { scriptedTier } from "./scripted.ts";

/** What the kernel and the agent's workspace are made of. */
export interface ContextOptions extends RunOptions {
  readonly files?: Record<string, string>;
  readonly native?: boolean;
  /** Patterns of actions that the agents can call. */
  readonly callable?: readonly string[];
  readonly others?: Record<string, object>;
}

/** A kernel with the context features and one agent, whose workspace holds `files`; `say` answers with the context that its engine got. */
export async function runContext({
  files = {},
  native = true,
  callable = [],
  inline = [],
  agent = {},
  others = {},
  config = {},
  ...options
}: ContextOptions = {}) {
  const folder = await temporaryFolder();
  const dataFolder = options.dataFolder ?? join(folder, "data");
  const workspace = join(folder, "w");
  await mkdir(workspace);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(workspace, name, ".."), { recursive: true });
    await writeFile(join(workspace, name), text);
  }
  const running = await runKernel({
    tier: scriptedTier("scripted", { nativeSessions: native, actions: () => callable }),
    config: { agents: { a: { name: "Ada", workspace, tier: "scripted", ...agent }, ...others }, ...config },
    inline: [sessions, layered, planner, models, ...inline] as Plugin<never>[],
    ...options,
    dataFolder,
  });
  const { kernel, tier, message } = running;
  const say = async (text: string, extra: Partial<Message> = {}): Promise<TurnContext> => {
    const result = await kernel.tasks.run(message(text, extra));
    expect(result).toMatchObject({ ok: true });
    return tier.turns.at(-1)!.context;
  };
  return { ...running, folder, dataFolder, workspace, say };
}

/** The text of a layer; empty when there is none. */
export const textOf = (context: TurnContext, name: string) => context.layers.find((layer) => layer.name === name)?.text ?? "";
