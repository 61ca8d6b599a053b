import type { SvcError } from "@svc/sdk";

/** Errors of the command line itself: code to message. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_CLI_NO_DAEMON: "No daemon answers at {address}. Start it with: svc daemon start",
  SVC_CLI_OTHER_DAEMON:
    "The daemon of this folder is not running: port {port} belongs to the daemon of {whose}, not of this folder. Nothing was done there. Choose another port for this one with: svc config set node.bind {free}; then: svc daemon start",
  SVC_CLI_OTHER_PROGRAM:
    "The daemon of this folder is not running: another program answers at {address}. Choose another port with: svc config set node.bind {free}; then: svc daemon start",
  SVC_CLI_LOST_FOLDER:
    "The daemon of this folder (pid {pid}) still runs, but its data folder {data} was removed or replaced under it. End it with: kill {pid}; then: svc daemon start",
  SVC_CLI_SILENT:
    "The daemon (pid {pid}) has not answered for {seconds} s: it hangs, or is stopped. Look at svc daemon logs; end it with: kill -9 {pid}; then: svc daemon start. Running work is taken up again, if it may be",
  SVC_CLI_FORBIDDEN: "This user may not read {data}; run svc as the user who started the daemon.",
  SVC_CLI_FILE: "{file} cannot be used: {reason}; {next}",
  SVC_CLI_BIND: "The daemon cannot listen on node.bind {bind}: {reason}. Choose another address with: {next}",
  SVC_CLI_USAGE: "{reason}",
  SVC_CLI_NO_PLUGIN: "The daemon does not run the plugin {plugin}, which answers svc {group}. It is loaded once {loaded}",
  SVC_CLI_NO_CONFIG: "There is no {file}. Make one with: svc init",
  SVC_CLI_START_FAILED: "The daemon did not come up: {reason}\nIts log is {log}",
  SVC_CLI_STOP_FAILED: "The daemon (pid {pid}) is still running after {seconds} s. It may be finishing work; look with: svc daemon status",
  SVC_CLI_TASK_FAILED: "{reason}",
  SVC_CLI_TASK_LEFT:
    "The daemon has stopped. Task {task} is taken up again at the next start, if it may be; see what became of it then with: svc trace show {task}",
  SVC_CLI_LOG_ELSEWHERE:
    "The daemon (pid {pid}) runs in the foreground and writes its log there: to the terminal of npm start, or to the journal of its unit (journalctl -u svc).",
  SVC_CLI_TASK_UNKNOWN: "The daemon went away before it said whether it took the message, and is not back; see whether it did then with: svc trace list",
  SVC_CLI_CHANGED: "{path} was changed by someone else meanwhile; look at {file} and repeat. Nothing was changed.",
  SVC_CLI_DEPLOY: "{target}: {reason}",
  SVC_CLI_DEPLOY_PACK: "The program cannot be packed: {reason}. Nothing was sent.",
  SVC_CLI_UPGRADE: "Nothing was upgraded: {reason}.",
  SVC_CLI_NPM: "npm {what} failed: {reason}",
  SVC_CLI_PLUGIN_LOOK: "The plugin {plugin} cannot be used: {reason}",
  SVC_CLI_UNCONFIRMED: "{what} Nothing was changed: say yes at a terminal, or repeat it with --yes.",
  SVC_CLI_PLUGIN_EXIT: "Plugin {plugin} called {call} to end the daemon; that was refused.",
  SVC_CLI_CONNECT: "{channel} is not connected: {reason}\n{change}",
  SVC_CLI_ASK: "{question} Only a person at a terminal can be asked; say it with {flag}.",
  SVC_CLI_STREAM: "The stream {path} of the daemon broke off: {reason}",
  SVC_CLI_HALF_RESTORED:
    "svc restore has moved only a part of {from} into {folder} and was ended. Restore it again: svc restore {from} (or give the files that end in .{suffix} their names back, and remove {mark})",
  SVC_CLI_BACKUP: "{folder} cannot be restored: {reason}. Nothing was changed.",
  SVC_CLI_NODE_LOCAL: "svc {command} works on files of the folder of its daemon: run it there, on the machine of {node}, without --node. Nothing was done.",
  SVC_CLI_NODE_ADDRESS:
    "{node} on {host} cannot be asked from here: {reason}. Set node.url in svc.json of {node}, such as https://{node}.example, or run the command there, by ssh for example",
  SVC_CLI_NODE_PLAIN:
    "{node} is not asked at {url}: a token would go to another machine in clear text. Put a proxy with TLS before it and set its node.url to https://..., or run the command there: ssh {host} svc ...",
  SVC_CLI_NODE_OTHER: "{at}, the address of {node}, is answered by {reason}; nothing was done there. Set node.url in svc.json of {node} right",
  SVC_CLI_NODE_AWAY: "{node} does not answer at {at}: {reason}. Look with: svc node list",
  SVC_CLI_NODE_TOKEN:
    "{node} refuses this ({next}): {reason} Put into the environment variable SVC_TOKEN the token of a mesh peer, or an access token (svc token create) for what has a scope; what only its own machine may do is done there",
  SVC_CLI_EXISTS: "{what} exists already; {next}",
  SVC_CLI_MISSING: "There is no {what}; see {next}",
} as const;

/** Creates an error with a code, as the sdk does: importing the sdk would take a tenth of a command's time. */
export const coded = (code: string, message: string, facts: Readonly<Record<string, unknown>> = {}): SvcError =>
  Object.assign(new Error(message), { code, ...facts }) as SvcError;

/** Makes the error of a code, its message filled from `facts`. */
export const fail = (code: keyof typeof ERRORS, facts: Record<string, unknown> = {}): SvcError =>
  coded(
    code,
    ERRORS[code].replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name] ?? "")),
    facts,
  );
