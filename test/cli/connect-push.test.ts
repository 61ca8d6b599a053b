import { afterEach, describe, expect, it } from "vitest";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function folder(rest: object = { dashboard: { enabled: true, port: 0 } }): Promise<Shell> {
  const shell = await openShell();
  shells.push(shell);
  shell.write(echoConfig({}, rest));
  return shell;
}

const line = (...set: string[]) => ["connect", "push", "--yes", ...set.flatMap((one) => ["--set", one])];
const connect = (shell: Shell, ...set: string[]) => lines(shell).svc(...line(...set));
const SUBJECT = "subject=ops@example.org";
const URL_GIVEN = "url=https://svc.example.org/";

/** The modules of a picture of half blocks, light ones drawn: rows of 1 (dark) and 0, without the margin. */
function modulesOf(picture: string): string[] {
  const rows = picture.split("\n").flatMap((line) => {
    const signs = [...line];
    return [signs.map((sign) => ("█▀".includes(sign) ? "0" : "1")).join(""), signs.map((sign) => ("█▄".includes(sign) ? "0" : "1")).join("")];
  });
  const dark = rows.filter((row) => row.includes("1"));
  const from = Math.min(...dark.map((row) => row.indexOf("1")));
  const to = Math.max(...dark.map((row) => row.lastIndexOf("1")));
  return dark.map((row) => row.slice(from, to + 1));
}

describe("svc connect push", () => {
  it("shows the page with a code as a picture, which is the code of that address", async () => {
    const shell = await folder();
    await shell.svc("daemon", "start");
    const said = await shell.svc(...line(SUBJECT, URL_GIVEN));
    expect(said).toMatchObject({ code: 0 });
    expect((shell.config().channels as { push: object }).push).toEqual({ enabled: true, subject: "mailto:ops@example.org" });
    const page = /https:\/\/svc\.example\.org\/push\/index\.html#[a-z0-9]{12}/.exec(said.out)?.[0] as string;
    const picture = said.err
      .split("\n")
      .filter((line) => line.startsWith("\u001b[97;40m"))
      .map((line) => line.slice("\u001b[97;40m".length, -"\u001b[0m".length))
      .join("\n");
    const { encode } = (await import("uqr")) as { encode(text: string, options: object): { data: boolean[][] } };
    expect(modulesOf(picture)).toEqual(encode(page, { ecc: "L", border: 0 }).data.map((row) => row.map((dark) => (dark ? "1" : "0")).join("")));
    // Its code is one that the daemon takes; and a second run is another phone.
    const again = await lines(shell).json<{ next: string }>(...line(URL_GIVEN));
    expect(again.next).toContain("https://svc.example.org/push/index.html#");
    expect(again.next).not.toContain(page);
  }, 90_000);

  it("without a daemon it says how to add a phone later; with a page that nobody serves, a wrong address or a wrong setting nothing is written", async () => {
    const shell = await folder();
    const later = await connect(shell, SUBJECT, URL_GIVEN);
    expect(later).toMatchObject({ code: 0, out: expect.stringContaining("svc push add --url https://svc.example.org") });
    const bare = await folder({});
    const before = JSON.stringify(bare.config());
    for (const [set, words] of [
      [[SUBJECT, URL_GIVEN], "svc config set dashboard.enabled true"],
      [["relayTo=studio"], "there is no peer 'studio' in mesh.peers; there is none"],
      [["ttlSeconds=1"], "svc config set channels.push.ttlSeconds"],
    ] as const) {
      const { code, err } = await connect(bare, ...set);
      expect(err).toContain(words);
      expect(code).not.toBe(0);
    }
    expect(JSON.stringify(bare.config())).toBe(before);
    const wrong = await folder();
    for (const set of [[SUBJECT, "url=svc.example.org"], ["subject=nobody", URL_GIVEN], [URL_GIVEN]])
      expect((await connect(wrong, ...set)).code, set.join()).not.toBe(0);
    expect(wrong.config()).not.toHaveProperty("channels");
  }, 90_000);

  it("with relayTo the peer has the phones", async () => {
    const shell = await folder({ mesh: { enabled: true, peers: [{ name: "studio", url: "http://127.0.0.1:1", token: "sixteen-letters-or-more" }] } });
    expect(await connect(shell, "relayTo=studio")).toMatchObject({ code: 0, out: expect.stringContaining("Notices go through studio") });
    expect((shell.config().channels as { push: object }).push).toEqual({ enabled: true, relayTo: "studio" });
  }, 60_000);
});
