/** Variables that carry a model API key. A run on the shared sign-in gets none of them (001:L57). */
export const KEYS = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"] as const;

/** Variables of the daemon that reach the program under either billing: where the vendor and the sign-in are, and the way out. */
export const PASSED = ["ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"] as const;

/** The token of a shared sign-in on a machine without a browser. */
export const SIGN_IN = "CLAUDE_CODE_OAUTH_TOKEN";

/** Everything of the daemon's environment that this tier may read. */
export const READ = [...KEYS, ...PASSED, SIGN_IN] as const;

/** Where the vendor is, unless `ANTHROPIC_BASE_URL` says otherwise. */
export const VENDOR = "https://api.anthropic.com";
