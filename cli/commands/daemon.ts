import type { ReloadReport } from "../change.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "daemon",
  summary: "Start, stop, restart and watch the daemon; send it a message",
  commands: [
    {
      name: "start",
      args: "",
      summary: "Start the daemon in the background and wait until it answers",
      options: [
        { flags: "--foreground", description: "stay in this terminal; end with Ctrl-C" },
        { flags: "--last-good", description: "use the last configuration that worked, and show what differs" },
        { flags: "--no-watchdog", description: "do not end a daemon whose loop hangs" },
      ],
      async run(_args, options, cli) {
        if (options.foreground) {
          const { daemonCode } = await import("../daemon/daemon-code.js");
          await daemonCode().runDaemon(cli, { lastGood: options.lastGood === true, watchdog: options.watchdog !== false });
          return;
        }
        const { startDetached } = await import("../daemon/detach.js");
        await startDetached(cli, [...(options.lastGood ? ["--last-good"] : []), ...(options.watchdog === false ? ["--no-watchdog"] : [])]);
      },
    },
    {
      name: "stop",
      args: "",
      summary: "Let running work finish, then stop",
      options: [
        {
          flags: "--timeout <seconds>",
          description: "how long to wait here (default: until it has stopped)",
          number: { least: 0, whole: false },
        },
        { flags: "--now", description: "interrupt running work; the next start takes it up again, if it may" },
      ],
      async run(_args, options, cli) {
        const { stopDaemon } = await import("../daemon/detach.js");
        await stopDaemon(cli, { seconds: options.timeout as number | undefined, now: options.now === true });
      },
    },
    {
      name: "restart",
      args: "",
      summary: "Let running work finish, then start anew; waits until the new daemon answers",
      options: [
        { flags: "--by <name>", description: "who asks, for shutdown.restart.allowBy (default: the variable USER)" },
        { flags: "--reason <text>", description: "why" },
      ],
      async run(_args, options, cli) {
        const { restartDaemon } = await import("../daemon/restart.js");
        const by = String(options.by ?? process.env.USER ?? "svc daemon restart");
        await restartDaemon(cli, { by, ...(options.reason === undefined ? {} : { reason: String(options.reason) }) });
      },
    },
    {
      name: "reload",
      anywhere: true,
      args: "",
      summary: "Read svc.json and .env again; a broken one is refused, and what is in force stays",
      async run(_args, _options, cli) {
        const report = (await cli.request("POST", "/reload")) as ReloadReport;
        const { describeReload } = await import("../change.js");
        cli.print(describeReload(report), report);
      },
    },
    {
      name: "status",
      anywhere: true,
      args: "",
      summary: "Is it up, where, what runs, what is broken",
      options: [{ flags: "--plugins", description: "with --json: every plugin with what it provides" }],
      async run(_args, options, cli) {
        const { status } = await import("../daemon/status.js");
        await status(cli, { plugins: options.plugins === true });
      },
    },
    {
      name: "logs",
      args: "",
      summary: "The daemon's log",
      options: [
        { flags: "-f, --follow", description: "go on as lines come" },
        { flags: "-n, --lines <count>", description: "how many lines (default 50)", number: { least: 1 } },
      ],
      async run(_args, options, cli) {
        const { showLog } = await import("../daemon/log-tail.js");
        await showLog(cli, (options.lines as number | undefined) ?? 50, options.follow === true);
      },
    },
    {
      name: "watch",
      anywhere: true,
      args: "",
      summary: "Events as they happen",
      options: [
        { flags: "--kind <kinds>", description: "only these kinds, separated by commas" },
        { flags: "--agent <id>", description: "only this agent's" },
      ],
      async run(_args, options, cli) {
        const { watch } = await import("../daemon/watch.js");
        await watch(cli, options);
      },
    },
    {
      name: "send",
      args: "<agent> <message...>",
      summary: "Send a message to an agent and print its answer as it comes",
      options: [
        { flags: "--chat <id>", description: "the conversation (default: cli)" },
        { flags: "--fresh", description: "start a new native session" },
        { flags: "--peer <name>", description: "an agent of another daemon; see svc mesh list" },
      ],
      async run([agent, ...words], options, cli) {
        const { send } = await import("../daemon/send.js");
        await send(cli, agent as string, words.join(" "), options);
      },
    },
    {
      name: "deploy",
      args: "<target...>",
      summary: "Copy this program and configuration to other machines over ssh and restart their daemons; the former release comes back if it fails",
      options: [
        { flags: "--folder <path>", description: "the folder there, from the home folder (default: svc)" },
        { flags: "--settings <file>", description: "the configuration for that machine (default: this svc.json, or the one there if it was changed there)" },
        { flags: "--keep-settings", description: "leave the configuration there as it is" },
        { flags: "--with-env", description: "send .env too, and credentials that stand in the configuration itself" },
        { flags: "--dry-run", description: "say what would be done; nothing is changed there" },
        { flags: "--by <name>", description: "who asks, for shutdown.restart.allowBy there (default: the variable USER)" },
        { flags: "--reason <text>", description: "why" },
        { flags: "--wait <seconds>", description: "how long the new daemon may take until it is healthy (default 60)", number: { least: 5, most: 3_600 } },
        { flags: "--keep <count>", description: "how many former releases stay there (default 3)", number: { least: 1, most: 100 } },
        { flags: "--port <port>", description: "ssh's port (default: what ssh's own configuration says)", number: { least: 1, most: 65_535 } },
        { flags: "--ssh-config <file>", description: "a file in the place of ~/.ssh/config" },
        { flags: "--node <path>", description: "Node there, where ssh's commands do not find it" },
      ],
      async run(targets, options, cli) {
        const { deploy } = await import("../deploy/deploy.js");
        await deploy(cli, targets, options);
      },
    },
  ],
};

export default group;
