import type { GroupEntry } from "./group.ts";

/** Our own groups. Only the one that is called is imported. */
export const GROUPS: readonly GroupEntry[] = [
  { name: "setup", summary: "Find an engine, write svc.json, start the daemon and try it", load: async () => (await import("./commands/setup.js")).default },
  { name: "init", summary: "Write a first svc.json and a workspace", load: async () => (await import("./commands/init.js")).default },
  { name: "start", summary: "Write svc.json if there is none, then run the daemon here", load: async () => (await import("./commands/start.js")).default },
  { name: "daemon", summary: "Start, stop, restart and watch the daemon; send it a message", load: async () => (await import("./commands/daemon.js")).default },
  { name: "exec", summary: "Run one message to its end and print the answer alone", load: async () => (await import("./commands/exec.js")).default },
  {
    name: "agent",
    summary: "List, add and remove agents; what each can do and remembers; index a workspace",
    load: async () => (await import("./commands/agent.js")).default,
  },
  { name: "config", summary: "Check, read and change the configuration", load: async () => (await import("./commands/config.js")).default },
  {
    name: "channel",
    summary: "Channels: their state, who we are there, who may write, sending",
    load: async () => (await import("./commands/channel.js")).default,
  },
  { name: "connect", summary: "Set up a channel: its credentials, who may write, a test", load: async () => (await import("./commands/connect.js")).default },
  { name: "task", summary: "Tasks that run or wait: list, show, cancel", load: async () => (await import("./commands/task.js")).default },
  { name: "trace", summary: "What tasks did: list, show, replay", load: async () => (await import("./commands/trace.js")).default },
  { name: "plugin", summary: "Plugins: what each one does, costs and breaks", load: async () => (await import("./commands/plugin.js")).default },
  {
    name: "backup",
    summary: "Copy state, configuration and .env into a folder, while the daemon runs",
    load: async () => (await import("./commands/backup.js")).default,
  },
  {
    name: "restore",
    summary: "Put a backup in the place of this folder's state and configuration",
    load: async () => (await import("./commands/restore.js")).default,
  },
  { name: "db", summary: "The database in which state is kept", load: async () => (await import("./commands/db.js")).default },
  {
    name: "upgrade",
    summary: "Put another release in the place of this one, tried on a copy first",
    load: async () => (await import("./commands/upgrade.js")).default,
  },
  { name: "api", summary: "The HTTP API of the running daemon", load: async () => (await import("./commands/api.js")).default },
  { name: "node", summary: "The daemons that use the same store: list, drain", load: async () => (await import("./commands/node.js")).default },
  { name: "doctor", summary: "Look for what is wrong and say what to do about it", load: async () => (await import("./commands/doctor.js")).default },
  { name: "bench", summary: "Measure: what each context strategy costs on a transcript", load: async () => (await import("./commands/bench.js")).default },
  { name: "completion", summary: "Print a completion script for bash, zsh or fish", load: async () => (await import("./commands/completion.js")).default },
];
