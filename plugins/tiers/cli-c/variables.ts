/** Variables that carry a model API key, the first one that is set counts. A run on the shared sign-in gets none of them. */
export const KEYS = ["GEMINI_API_KEY", "GOOGLE_API_KEY"] as const;

/** Variables of the daemon that reach the program under either billing. */
export const PASSED = [
  "GOOGLE_GEMINI_BASE_URL",
  "GEMINI_CLI_HOME",
  "GOOGLE_CLOUD_PROJECT",
  "HTTPS_PROXY",
  "HTTP_PROXY",
  "NO_PROXY",
  "NODE_EXTRA_CA_CERTS",
] as const;

/** Everything of the daemon's environment that this tier may read. */
export const READ = [...KEYS, ...PASSED] as const;

/** Where the vendor is, unless `GOOGLE_GEMINI_BASE_URL` says otherwise. */
export const VENDOR = "https://generativelanguage.googleapis.com";
