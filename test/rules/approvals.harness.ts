import { join } from "node:path";
import { type ApprovalDecision, type Approvals, type Channel, choiceOf, definePlugin, type Outgoing, type Plugin, type Services, type Tasks } from "@svc/sdk";
import { baseOf, type Running, type RunOptions, runKernel } from "../kit/kernel.ts";

const ROOT = join(import.meta.dirname, "../..");
const KNOWN = ["approvals", "dashboard", "tokens"].map((name) => join(ROOT, "plugins/features", name));

/** A daemon with approvals, a chat with buttons, and a plugin that asks. */
export interface Asking extends Running {
  readonly approvals: Approvals;
  readonly tasks: Tasks;
  readonly chat: Chat;
  /** Decisions about questions of kind `test`, as the asking plugin was handed them. */
  readonly heard: ApprovalDecision[];
  readonly daemon: string;
  readonly page: string;
}

/** A chat of one person, or a group. */
export interface Chat {
  readonly plugin: Plugin<never>;
  readonly said: Outgoing[];
  /** What stands in the chat now, edits included. */
  readonly shown: string[];
  /** Somebody writes. */
  say(text: string): Promise<unknown>;
  /** Presses a button of the newest message that has it. */
  press(label: string, who?: { readonly id?: string; readonly name?: string; readonly chat?: string; readonly direct?: boolean }): Promise<unknown>;
}

/** A chat that edits, with buttons, or without either. */
export function createChat(buttons = true): Chat {
  let tasks: Tasks | undefined;
  const said: Outgoing[] = [];
  const shown: string[] = [];
  const plugin = definePlugin({
    kind: "channel",
    name: "chat",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      tasks = ctx.tasks;
      const channel: Channel = {
        name: "chat",
        traits: { maxChars: 4000, unit: "utf16", dialect: "plain", ...(buttons ? { editIntervalMs: 1, choices: true } : {}) },
        async send(out) {
          said.push(out);
          return { platformId: `m${shown.push(out.text)}` };
        },
        ...(buttons
          ? {
              async edit(id: string, out: Outgoing) {
                shown[Number(id.slice(1)) - 1] = out.text;
              },
            }
          : {}),
      };
      const handle = ctx.provide.channel(channel);
      return { start: async () => handle.ready() };
    },
  }) as Plugin<never>;
  return {
    plugin,
    said,
    shown,
    say: async (text) => tasks?.accept({ entry: "channel", channel: "chat", chat: "boss", text, direct: true, sender: { id: "u1", name: "Ann" }, agent: "a" }),
    async press(label, { id = "u1", name = "Ann", chat = "boss", direct = true } = {}) {
      const button = said.flatMap(({ choices = [] }) => choices).findLast((one) => one.label === label);
      const choice = choiceOf(button?.data ?? "");
      if (choice === undefined) throw new Error(`no message has a button '${label}'`);
      return tasks?.accept({ entry: "channel", channel: "chat", chat, text: label, direct, sender: { id, name }, agent: "a", choice });
    },
  };
}

export interface AskingOptions extends RunOptions {
  readonly chat?: Chat;
  readonly approvals?: Record<string, unknown>;
  readonly hear?: (decision: ApprovalDecision) => Promise<void>;
}

/** Started; stopped after the test. Questions go to the chat `boss`, which is one person's. */
export async function runAsking({ chat = createChat(), approvals = {}, hear, inline = [], config = {}, ...options }: AskingOptions = {}): Promise<Asking> {
  const heard: ApprovalDecision[] = [];
  let services: Services | undefined;
  let tasks: Tasks | undefined;
  const asker = definePlugin({
    kind: "feature",
    name: "asker",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["services", "tasks", "withheld"],
    setup(ctx) {
      services = ctx.services;
      tasks = ctx.tasks;
      return {
        async start() {
          ctx.services.get("approvals")?.onDecided("test", async (decision) => {
            await hear?.(decision);
            heard.push(decision);
          });
        },
      };
    },
  }) as Plugin<never>;
  const running = await runKernel({
    known: KNOWN,
    listen: true,
    inline: [chat.plugin, asker, ...inline],
    config: {
      approvals: { digest: { destination: { channel: "chat", chatId: "boss" } }, ...approvals },
      dashboard: { enabled: true, port: 0 },
      ...config,
    },
    ...options,
  });
  const { kernel } = running;
  return Object.assign(running, {
    approvals: services?.get("approvals") as Approvals,
    tasks: tasks as Tasks,
    chat,
    heard,
    daemon: baseOf(kernel),
    page: `http://127.0.0.1:${kernel.servers.find(({ name }) => name === "dashboard")?.port}`,
  });
}

/** A question of kind `test` about an action. */
export const question = (action: string, more: object = {}) => ({
  kind: "test",
  title: `Do ${action}`,
  digest: `digest of ${action}`,
  requestedBy: "plugin asker",
  ...more,
});
