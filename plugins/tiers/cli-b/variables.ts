/** Variables that carry a model API key, the first one that is set counts. A run on the shared sign-in gets none of them. */
export const KEYS = ["OPENAI_API_KEY", "CODEX_API_KEY"] as const;

/** Variables of the daemon that reach the program under either billing. */
export const PASSED = ["OPENAI_BASE_URL", "CODEX_HOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE"] as const;

/** Everything of the daemon's environment that this tier may read. */
export const READ = [...KEYS, ...PASSED] as const;

/** Where the vendor is, unless `OPENAI_BASE_URL` says otherwise. */
export const VENDOR = "https://api.openai.com/v1";
