import { channelError, type SvcError } from "@svc/sdk";

interface Refusal {
  readonly error_code: number;
  readonly description: string;
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number };
}

/** The platform's own answer in an error of the vendor, where it gave one. */
export function refusalIn(error: unknown): Refusal | undefined {
  const found = error as Partial<Refusal> | undefined;
  return typeof found?.error_code === "number" && typeof found.description === "string" ? (found as Refusal) : undefined;
}

/** The account itself is refused: a wrong or revoked token. */
export const isLockedOut = (error: unknown): boolean => [401, 404].includes(refusalIn(error)?.error_code ?? 0);

/** Message for the operator about a locked out account. */
export const refusedToken = (account: string): string =>
  `the platform refuses the token of account ${account}; check channels.botmsg.accounts.${account}.token`;

/** A longer time is no rate limit any more, and would leave the account deaf. */
const LONGEST_REST_SECONDS = 86_400;

/** An edit that changes nothing has succeeded. */
export const isUnchanged = (error: unknown): boolean => /message is not modified/i.test(refusalIn(error)?.description ?? "");

/** Refusals of markup, of buttons, and of what is too long with them: the plain words go through. */
const FORM = /can't parse|(?:message|text|reply markup) is too long|(?:entities|message|markup).too.long|inline keyboard|\bbutton_|text buttons/i;
/** Refusals of a picture as a photo: too large, too narrow, or of a format that is shown nowhere. */
const NO_PHOTO = /\bphoto_|image_process_failed|too big for a photo/i;

/** Whether a picture is refused as a photo. */
export const isNoPhoto = (error: unknown): boolean => NO_PHOTO.test(refusalIn(error)?.description ?? "");

/** Converts an error for the kernel. Omits the payload and the address, which contain texts and the token. */
export function failureOf(error: unknown): SvcError {
  const refusal = refusalIn(error);
  if (refusal === undefined) return networkFailure(error);
  const { error_code: code, description, parameters } = refusal;
  const text = `${code}: ${description}`;
  // Without a pause, or with one that is no number, the poller would ask in a loop.
  if (code === 429) return channelError("retry", text, Math.min(Math.max(Number(parameters?.retry_after) || 0, 1), LONGEST_REST_SECONDS) * 1_000);
  // A token can be mended while the message waits.
  if (code >= 500 || code === 401) return channelError("retry", text);
  if (FORM.test(description)) return channelError("format", text);
  return channelError("permanent", text);
}

/** Connections that were never made carried nothing; one that broke later may have. */
const NEVER_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

function networkFailure(error: unknown): SvcError {
  const cause = (error as { error?: { code?: string; name?: string } } | undefined)?.error;
  const code = cause?.code ?? cause?.name ?? "no answer";
  return channelError(NEVER_CONNECTED.has(code) ? "retry" : "unknown", `the platform was not reached: ${code}`);
}
