const METHODS = ["debug", "error", "info", "log", "trace", "warn"] as const;
const MUTED = /[\\/]node_modules[\\/](?:libsignal|@whiskeysockets[\\/]baileys)[\\/]/;
let muted = false;

/**
 * From now on what the protocol libraries write to the console is dropped: one of them prints whole sessions there, keys included, and asks no
 * logger. Calls of everybody else go through as they are.
 */
export function muteLibraries(): void {
  if (muted) return;
  muted = true;
  for (const method of METHODS) {
    const original = console[method].bind(console);
    console[method] = (...words: unknown[]) => {
      if (!MUTED.test(new Error().stack ?? "")) original(...words);
    };
  }
}
