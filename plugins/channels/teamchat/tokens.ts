/** A pair of tokens as the section has them. */
export interface Tokens {
  readonly botToken: string;
  readonly appToken: string;
}

/** An invalid token, and the reason. */
export interface TokenProblem {
  readonly key: keyof Tokens;
  readonly words: string;
}

/** Prefixes of the platform's tokens. */
const KINDS: readonly (readonly [prefix: string, what: string])[] = [
  ["xoxb-", "a bot token"],
  ["xoxe.xoxb-", "a bot token"],
  ["xapp-", "an app-level token"],
  ["xoxp-", "a user token"],
  ["xoxe.xoxp-", "a user token"],
  ["xoxc-", "a token of a browser"],
  ["xoxs-", "a token of a legacy bot"],
  ["xoxe-", "a refresh token"],
];

const kindOf = (token: string): string | undefined => KINDS.find(([prefix]) => token.startsWith(prefix))?.[1];

/** Why these tokens cannot work, as a sentence that says what to do; a token of a kind that is not known is left to the platform. */
export function tokensProblem({ botToken, appToken }: Tokens): TokenProblem | undefined {
  const [bot, app] = [kindOf(botToken.trim()), kindOf(appToken.trim())];
  if (bot === "an app-level token" && app === "a bot token")
    return { key: "botToken", words: "holds the app-level token (xapp-...), and appToken the bot token (xoxb-...): swap the two" };
  if (botToken.trim() === "") return { key: "botToken", words: "is empty: it is the Bot User OAuth Token (xoxb-...) of the app's page OAuth & Permissions" };
  if (appToken.trim() === "")
    return { key: "appToken", words: "is empty: it is an App-Level Token (xapp-...) with the scope connections:write, of the app's page Basic Information" };
  if (bot !== undefined && bot !== "a bot token")
    return { key: "botToken", words: `holds ${bot}; it must be the Bot User OAuth Token (xoxb-...) of the app's page OAuth & Permissions` };
  if (app !== undefined && app !== "an app-level token")
    return {
      key: "appToken",
      words: `holds ${app}; it must be an App-Level Token (xapp-...) with the scope connections:write, of the app's page Basic Information`,
    };
  return undefined;
}
