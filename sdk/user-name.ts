import { userInfo } from "node:os";

/** Name of the user at the terminal, for `by` in what a command asks of the daemon; `uid 1234` for a user without a name, as in a container. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // Asking throws where the user has no entry.
    return `uid ${process.getuid?.()}`;
  }
}
