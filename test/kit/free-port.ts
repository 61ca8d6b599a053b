import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the range from which Linux gives out ports by itself: no other test is given it before it is used. */
const [LOWEST, HIGHEST] = [20_000, 32_000];

/** A port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
