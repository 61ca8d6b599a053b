import { type SvcError, svcError } from "@svc/sdk";

/**
 * Every error the kernel raises: code to [HTTP status, message]. `{name}` is filled from the facts. Codes are never reused;
 * `test/house/errors.test.ts` holds this table and `kernel/README.md` together.
 */
export const ERRORS = {
  SVC_STORE_CONFLICT: [409, "The stored state of {collection} '{key}' has changed meanwhile; read it again and repeat."],
  SVC_STORE_BUSY: [503, "Another process holds the database {file}; end it or try again."],
  SVC_STORE_FULL: [507, "The disk of {file} is full: nothing was stored. Free some room, or shorten what is kept; deleting still works."],
  SVC_STORE_FAILED: [503, "The database {file} failed ({reason}) and takes nothing more; check the disk, then start the daemon again."],
  SVC_STORE_CORRUPT: [500, "The database {file} is damaged ({reason}). It was left as it is: look at it with `svc db check` and restore a copy."],
  SVC_STORE_NEWER: [500, "The database {file} has version {found}, newer than this program's {known}; start the newer program, migrations only go forward."],
  SVC_STORE_CLOSED: [503, "The store is closed; the daemon is stopping."],
  SVC_STORE_NAME: [400, "'{name}' is no name for stored state: lower-case letters, digits and '-', '_', '.', starting with a letter or digit."],
  SVC_STORE_INDEX: [400, "'{field}' is no declared index of {collection}; declare it in `indexes` where the collection is opened."],
  SVC_STORE_CURSOR: [400, "The document '{key}' to continue after is no longer in {collection}; start the list again."],
  SVC_STORE_VALUE: [400, "The value for {collection} '{key}' can not be stored as JSON: {reason}."],
  SVC_DAEMON_RUNNING: [409, "A daemon already runs on {folder}, process {pid}; stop it first with `svc stop`, or use another folder."],
  SVC_PLUGIN_TIMEOUT: [504, "Plugin {plugin}: {what} did not answer within {ms} ms."],
  SVC_PLUGIN_MANIFEST: [500, "{file} does not describe a plugin: {reason}."],
  SVC_PLUGIN_NOT_FOUND: [500, "The plugin '{plugin}' named in plugins is not installed; {next}."],
  SVC_PLUGIN_SHAPE: [500, "Plugin {plugin}: {file} has no default export made with definePlugin of the same kind and name."],
  SVC_PLUGIN_VERSION: [500, "Plugin {plugin} is written for @svc/sdk {range}, this daemon has {version}; install a version of the plugin that fits."],
  SVC_PLUGIN_NAME_TAKEN: [
    500,
    "Plugin {plugin} provides the {kind} '{name}', which {owner} already provides; switch one of them off with \"!<id>\" in plugins.",
  ],
  SVC_CAPABILITY_UNDECLARED: [500, "Plugin {plugin} uses the capability '{capability}' without naming it in {where}."],
  SVC_HOOK_REQUIRED: [503, "The {hook} policy of plugin {plugin} could not be asked: {reason}."],
  SVC_RUN_STALLED: [504, "timed out before spawn after {seconds}s in step {step}"],
  SVC_TIER_MISSING: [500, "Agent {agent} wants the tier '{tier}', which no running plugin provides; see svc plugin list."],
  SVC_AUTONOMY_UNENFORCED: [403, "Agent {agent} was asked to run with autonomy '{autonomy}', which the tier '{tier}' cannot enforce; it was not run."],
  SVC_AGENT_UNKNOWN: [404, "There is no agent '{agent}'; see svc agent list."],
  SVC_INTENT_REFUSED: [403, "Agent {agent} does not handle the intent '{intent}'; see agents.{agent}.intents."],
  SVC_DELEGATION_TOO_DEEP: [
    409,
    "Agent {agent} refuses the hand-off: {depth} other agents already worked on it, and agents.{agent}.maxDelegationDepth is {limit}.",
  ],
  SVC_DAEMON_DRAINING: [503, "The daemon is stopping and takes no new work; try again when it is back."],
  SVC_TASK_DUPLICATE: [409, "This message was already accepted as task {task}."],
  SVC_ACTION_UNKNOWN: [404, "There is no action '{action}'; see svc actions builtin."],
  SVC_ACTION_INPUT: [400, "Action {action}: {reason}."],
  SVC_ACTION_OUTPUT: [500, "Action {action} answered in a shape it does not promise: {reason}."],
  SVC_ACTION_TIMEOUT: [504, "Action {action} took longer than {ms} ms."],
  SVC_HTTP_TARGET: [400, "The request target must be a path of this server, such as /health."],
  SVC_HTTP_HOST_COUNT: [400, "A request must carry exactly one Host header."],
  SVC_HTTP_HOST: [403, "This server does not answer to that Host; add the name to the hosts it is reached by."],
  SVC_HTTP_ORIGIN: [403, "Pages of another origin may not call this server."],
  SVC_HTTP_PATH: [400, "The path is refused: {reason}."],
  SVC_HTTP_NOT_FOUND: [404, "There is no {method} {target} here."],
  SVC_HTTP_METHOD: [405, "This path does not take {method}; it takes {allow}."],
  SVC_HTTP_BEARER_MISSING: [401, "A token is needed: send Authorization: Bearer <token>."],
  SVC_HTTP_BEARER_UNKNOWN: [401, "The token is unknown, revoked or expired."],
  SVC_HTTP_FORBIDDEN: [403, "The token does not allow this; {needed} is needed."],
  SVC_HTTP_LOOPBACK: [403, "This can only be called on the daemon's own machine, and not through a proxy."],
  SVC_HTTP_THROTTLED: [429, "Too many wrong tokens; try again in {seconds} s."],
  SVC_HTTP_STREAMS: [503, "All {limit} event streams of {whose} are in use; close one and try again."],
  SVC_HTTP_TYPE: [415, "The body must be application/json in UTF-8, not {found}."],
  SVC_HTTP_BODY_SIZE: [413, "The body is larger than {limit} bytes."],
  SVC_HTTP_BODY_JSON: [400, "The body is not valid JSON."],
  SVC_HTTP_BODY_DEPTH: [400, "The body is nested deeper than {limit} levels."],
  SVC_HTTP_INVALID: [400, "{subject} {reason}."],
  SVC_HTTP_GONE: [400, "The client went away before its request was complete."],
  SVC_HTTP_REQUEST: [400, "The request could not be read."],
  SVC_HTTP_SLOW: [408, "The request took too long to arrive."],
  SVC_HTTP_HEADERS: [431, "The headers are too large."],
  SVC_HTTP_INTERNAL: [500, "Something went wrong here; the daemon's log has it under {reference}."],
  SVC_HTTP_ROUTE: [500, "The route {method} {target} can not be served: {reason}."],
  SVC_TASK_UNKNOWN: [404, "No task '{task}' is running or waiting; see svc agent list."],
  SVC_TRACE_UNKNOWN: [404, "There is no trace '{trace}'; see svc trace list."],
  SVC_AGENT_NO_DEFAULT: [400, "No default agent is configured; set node.defaultAgent or name the agent in POST /task."],
  SVC_CONFIG_INVALID: [400, "{file} cannot be used:\n  {reason}"],
  SVC_KERNEL_STOPPED: [503, "The kernel is not running; call start first."],
  SVC_KERNEL_STARTED: [409, "The kernel is already running."],
  SVC_CAPABILITY_MISSING: [500, "The capability '{capability}' was not loaded; a plugin must declare it."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ErrorCode = keyof typeof ERRORS;

/** Makes the error of a code, its message filled from `facts`; the facts are its properties too. */
export function fail(code: ErrorCode, facts: Record<string, unknown> = {}): SvcError {
  const [status, template] = ERRORS[code];
  const message = template.replace(/\{(\w+)\}/g, (_, name: string) => String(facts[name] ?? ""));
  return svcError(code, message, { status, ...facts });
}
