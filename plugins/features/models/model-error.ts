import { type SvcError, svcError } from "@svc/sdk";

const ERRORS = {
  SVC_MODEL_NO_KEY: [503, "No model key: set ANTHROPIC_API_KEY or OPENAI_API_KEY in the daemon's environment."],
  SVC_MODEL_FAILED: [502, "The model {model} did not answer: {reason}."],
  SVC_MODEL_SHAPE: [502, "The model {model} answered in another shape than asked for: {reason}."],
  SVC_MODEL_SCHEMA: [400, "The schema of the extraction cannot be used: {reason}."],
} as const;

/** Makes an error of an extraction: its code, status and words, with the facts filled in. */
export function modelError(code: keyof typeof ERRORS, facts: { readonly model?: string; readonly reason?: string } = {}): SvcError {
  const [status, words] = ERRORS[code];
  const message = words.replace(/\{(model|reason)\}/g, (_, name: "model" | "reason") => facts[name] ?? "");
  return svcError(code, message, { status, ...facts });
}
