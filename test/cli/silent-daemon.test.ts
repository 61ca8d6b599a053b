import { afterEach, expect, it } from "vitest";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

let shell: Shell;
let pid: number | undefined;
afterEach(async () => {
  if (pid !== undefined) process.kill(pid, "SIGCONT");
  await shell.end();
});

it("CLI-03 a daemon that hangs: the commands that look at it say so, and a stop is asked for all the same", async () => {
  shell = await openShell();
  shell.write(echoConfig());
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  pid = shell.pid();
  process.kill(pid, "SIGSTOP");
  const hangs = `The daemon (pid ${pid}) has not answered for 10 s`;
  const [status, doctor, restart] = await Promise.all([shell.svc("daemon", "status"), shell.svc("doctor"), shell.svc("daemon", "restart")]);
  expect(status).toMatchObject({
    code: 69,
    err: expect.stringContaining(`${hangs}: it hangs, or is stopped. Look at svc daemon logs; end it with: kill -9 ${pid}`),
  });
  expect(doctor).toMatchObject({ code: 1, out: expect.stringContaining(`ERROR    ${hangs}`) });
  expect(restart).toMatchObject({ code: 69, err: expect.stringContaining(hangs) });
  const stop = await shell.svc("daemon", "stop", "--timeout", "0");
  expect(stop).toMatchObject({ code: 1, err: expect.stringContaining(`The daemon (pid ${pid}) does not answer. If it does not end either: kill -9 ${pid}`) });
  // The signal waits for it.
  process.kill(pid, "SIGCONT");
  await expect.poll(async () => (await shell.svc("daemon", "status")).code).toBe(69);
});
