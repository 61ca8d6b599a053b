import { type SvcError, type TierEvent, type TierFailure, tierFailure } from "@svc/sdk";
import { type AcpAgent, type AcpReader, countOf, createAcpReader, type Fields, fieldsOf, textOf, vendorFailure } from "@svc/sdk/engine";

/** Reads one turn of any program of the protocol. */
export const createReader = (): AcpReader => createAcpReader({ usageOf });

/** Programs may tell what the turn used. */
function usageOf({ usage }: Fields): Extract<TierEvent, { type: "usage" }> | undefined {
  const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens } = fieldsOf(usage);
  if (typeof inputTokens !== "number" || typeof outputTokens !== "number") return undefined;
  return {
    type: "usage",
    usage: {
      input: countOf(inputTokens),
      output: countOf(outputTokens),
      ...(typeof cachedReadTokens === "number" ? { cacheRead: countOf(cachedReadTokens) } : {}),
      ...(typeof cachedWriteTokens === "number" ? { cacheCreate: countOf(cachedWriteTokens) } : {}),
    },
  };
}

/** The protocol's code for a program that wants its user to sign in first. */
const AUTH_REQUIRED = -32000;
const HTTP_STATUS = /\b(?:status|http|error|code)\D{0,12}(4\d\d|5\d\d)\b/i;

/** Classifies a refusal of the program, or of the vendor through it. Other errors pass through. */
export function refusal(error: SvcError, agent: AcpAgent | undefined, said = false): TierFailure {
  const { code, message, data } = fieldsOf((error as unknown as Fields).reply);
  const failureText = [textOf(message) ?? error.message, detailsOf(data)].filter((text) => text !== "").join(": ");
  if (code === AUTH_REQUIRED) {
    const ways = (agent?.authMethods ?? []).map(({ id, name }) => (name === "" || name === id ? id : `${name} (${id})`)).join(", ");
    return tierFailure(
      "auth",
      `The program is not signed in: ${failureText}. Sign in with it as the daemon's user, or set agents.<id>.acp.authMethod${ways === "" ? "" : ` to one of: ${ways}`}.`,
    );
  }
  const request = /invalid_request/.test(failureText) ? 400 : 0;
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : Number(HTTP_STATUS.exec(failureText)?.[1] ?? request);
  return vendorFailure({ status, message: failureText, said });
}

function detailsOf(data: unknown): string {
  const { details, message } = fieldsOf(data);
  return textOf(data) ?? textOf(details) ?? textOf(message) ?? "";
}
