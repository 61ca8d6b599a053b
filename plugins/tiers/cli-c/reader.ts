import { type SvcError, type TierEvent, type TierFailure, tierFailure } from "@svc/sdk";
import { type AcpReader, countOf, createAcpReader, type Fields, fieldsOf, listOf, textOf, vendorFailure } from "@svc/sdk/engine";

/** Reads what the program tells about one turn; its own words are in ids and `_meta`. */
export const createReader = (now?: () => number): AcpReader => createAcpReader({ nameOf, usageOf }, now);

/** `write_file__<id>`: the tool's name is a part of the call's. */
const nameOf = (id: string): string | undefined => /^(.+?)(?:__|-\d)/.exec(id)?.[1];

function usageOf(result: Fields): Extract<TierEvent, { type: "usage" }> | undefined {
  const quota = fieldsOf(fieldsOf(result._meta).quota);
  if (quota.token_count === undefined) return undefined;
  const count = fieldsOf(quota.token_count);
  const model = textOf(listOf(quota.model_usage).at(-1)?.model);
  return { type: "usage", usage: { input: countOf(count.input_tokens), output: countOf(count.output_tokens) }, ...(model === undefined ? {} : { model }) };
}

/** Classifies a refusal of the program, or of the vendor through it. */
export function refusal(error: SvcError, said = false): TierFailure {
  const { code, message, data } = fieldsOf((error as unknown as Fields).reply);
  const failureText = unfold(textOf(message) ?? error.message) || String(fieldsOf(data).details ?? "");
  if (code === 401 || code === 403 || code === -32000 || /auth|api key/i.test(failureText)) {
    return tierFailure("auth", `${failureText} Sign in with \`gemini\` as the daemon's user, or set billing 'api' and GEMINI_API_KEY.`);
  }
  return vendorFailure({ status: countOf(code), message: failureText, said });
}

/** The vendor's own words, where they come wrapped in JSON. */
function unfold(message: string): string {
  try {
    return textOf(fieldsOf(fieldsOf(JSON.parse(message)).error).message) ?? message;
  } catch {
    return message;
  }
}
