import type { Hooks, TierEvent } from "@svc/sdk";

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const isTarget = (value: unknown): boolean => isObject(value) && typeof value.channel === "string" && typeof value.chat === "string";

const text = (value: unknown): boolean => typeof value === "string";
const maybeText = (value: unknown): boolean => value === undefined || text(value);

const FITS: Readonly<Record<keyof Hooks, (answer: Fields) => boolean>> = {
  inbound: ({ reject }) => typeof reject === "string",
  route: ({ agent, node, conversation, reply, text: asked }) =>
    [agent, conversation].every(text) && [node, asked].every(maybeText) && asked !== "" && isTarget(reply),
  assembleContext: ({ system, prompt, layers, media, history }) =>
    typeof system === "string" && typeof prompt === "string" && Array.isArray(layers) && Array.isArray(media) && Array.isArray(history),
  dispatch: (answer) => typeof (answer as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator] === "function",
  deliver: ({ id, text, target }) => typeof id === "string" && typeof text === "string" && isTarget(target),
  emit: () => true,
};

const maybeFlag = (value: unknown): boolean => value === undefined || typeof value === "boolean";
const maybeNumber = (value: unknown): boolean => value === undefined || Number.isFinite(value);

const EVENTS: Readonly<Record<TierEvent["type"], (event: Fields) => boolean>> = {
  text: (event) => text(event.text),
  thinking: (event) => text(event.text),
  step: ({ step }) =>
    isObject(step) && [step.id, step.name, step.phase].every(text) && [step.input, step.output, step.error].every(maybeText) && maybeNumber(step.durationMs),
  usage: ({ usage, model }) =>
    isObject(usage) &&
    [usage.input, usage.output].every(Number.isFinite) &&
    [usage.cacheRead, usage.cacheCreate, usage.cost].every(maybeNumber) &&
    maybeText(model),
  session: ({ id }) => text(id),
  blocked: ({ tool, reason }) => text(tool) && text(reason),
  guard: ({ level, reason }) => (level === "wall" || level === "narrow") && maybeText(reason),
  waiting: ({ reason, retryAfterMs }) => text(reason) && Number.isFinite(retryAfterMs),
  parked: ({ reason }) => text(reason),
  pass: ({ reason }) => text(reason),
  done: (event) => maybeText(event.text),
  error: ({ kind, message, retryable, sessionLost, retryAfterMs }) =>
    [kind, message].every(text) && [retryable, sessionLost].every(maybeFlag) && maybeNumber(retryAfterMs),
};

/** Whether it is a valid event of a tier, or of a type that is not known here. */
export function isTierEvent(event: unknown): event is TierEvent {
  try {
    if (!isObject(event) || !text(event.type)) return false;
    return !Object.hasOwn(EVENTS, event.type as string) || EVENTS[event.type as TierEvent["type"]](event);
  } catch {
    return false;
  }
}

/**
 * Whether it is a valid answer of the hook, in the fields that the kernel reads next. A plugin's answer is untrusted data, and may even throw when it
 * is read.
 */
export function fitsHook(hook: keyof Hooks, answer: unknown): boolean {
  try {
    return isObject(answer) && FITS[hook](answer);
  } catch {
    return false;
  }
}
