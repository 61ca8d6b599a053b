import type { HookName } from "./scope.ts";

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const isTarget = (value: unknown): boolean => isObject(value) && typeof value.channel === "string" && typeof value.chat === "string";

const FITS: Readonly<Record<HookName, (answer: Fields) => boolean>> = {
  inbound: ({ reject }) => typeof reject === "string",
  route: ({ agent, conversation, reply }) => typeof agent === "string" && typeof conversation === "string" && isTarget(reply),
  assembleContext: ({ system, prompt, layers, media, history }) =>
    typeof system === "string" && typeof prompt === "string" && Array.isArray(layers) && Array.isArray(media) && Array.isArray(history),
  dispatch: (answer) => typeof (answer as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator] === "function",
  deliver: ({ id, text, target }) => typeof id === "string" && typeof text === "string" && isTarget(target),
  emit: () => true,
};

/** Is it what the hook asks for, at the places that the kernel reads next? A plugin's answer is foreign data, and may even throw when it is looked at. */
export function fitsHook(hook: HookName, answer: unknown): boolean {
  try {
    return isObject(answer) && FITS[hook](answer);
  } catch {
    return false;
  }
}
