import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as sdk from "@svc/sdk";
import * as engine from "@svc/sdk/engine";
import * as foreign from "@svc/sdk/foreign-text";
import * as host from "@svc/sdk/host";
import * as program from "@svc/sdk/program-tier";
import * as testing from "@svc/sdk/testing";
import * as thread from "@svc/sdk/thread";
import * as loop from "@svc/sdk/tool-loop";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pluginFolders, ROOT, read } from "./house.ts";

const run = promisify(execFile);

/*
 * What third parties import. Adding a name is a minor version of the sdk; taking one away or changing what it does needs a new
 * generation of the plugin API. Types are held by the compiler, in the plugins.
 */
const NAMES = [
  "API_FLOOR",
  "API_GENERATION",
  "FAILURES",
  "LAYERS",
  "SDK_VERSION",
  "SIGNATURES",
  "answerToOf",
  "append",
  "backoffMs",
  "buttonsOf",
  "chainOf",
  "channelError",
  "choiceData",
  "choiceOf",
  "chosenAgent",
  "codeOf",
  "complete",
  "coversName",
  "createScopeTable",
  "definePlugin",
  "errorTable",
  "handlesIn",
  "isLoaderVariable",
  "keepTrying",
  "linked",
  "listOf",
  "objectOf",
  "onAbort",
  "optionsOfCall",
  "plainHandle",
  "push",
  "put",
  "qrPicture",
  "readEventStream",
  "readPictures",
  "reasonOf",
  "recentHistory",
  "recordOf",
  "release",
  "remove",
  "requireMarker",
  "requireSignature",
  "requireSignatureHeader",
  "richOf",
  "routeTo",
  "settingDifferences",
  "shareFiles",
  "sleep",
  "standbyNote",
  "subscribes",
  "svcError",
  "tierFailure",
  "traitsOf",
  "turnMessages",
  "turnText",
  "userName",
  "whileHeld",
  "withTimeout",
];
const ENGINE_NAMES = [
  "SYSTEM_PATH",
  "acpAgentOf",
  "acpPictures",
  "acpServers",
  "ask",
  "brief",
  "checkSandbox",
  "commandSandbox",
  "commandWall",
  "conversationRows",
  "countOf",
  "createAcpCalls",
  "createAcpReader",
  "createEnginePool",
  "createInbox",
  "createKeyRelays",
  "createLentKeys",
  "createToolServers",
  "describeGone",
  "engineEnvironment",
  "executableOf",
  "extraCertificates",
  "fieldsOf",
  "filesOf",
  "findBubblewrap",
  "findEngines",
  "findExecutable",
  "findPrograms",
  "freshLayers",
  "goneFailure",
  "installable",
  "isExecutable",
  "listOf",
  "offersOf",
  "openLineRpc",
  "openLoopbackRelay",
  "openRelay",
  "packageFilesOf",
  "permissionAnswer",
  "permissionQuestions",
  "probeEngine",
  "probeProgram",
  "programSandbox",
  "programWall",
  "proveWall",
  "proxyFor",
  "quoted",
  "readTranscript",
  "relayLauncher",
  "relayProgram",
  "removeMountPoints",
  "requireExecutable",
  "runFailure",
  "runOnPool",
  "sandboxObstacle",
  "shellQuoted",
  "textOf",
  "tidy",
  "unfit",
  "unsentLayers",
  "vendorFailure",
  "versionOf",
  "workspaceServers",
];
const HOST_NAMES = [
  "CAPABILITIES",
  "PERMISSIONS",
  "PROVIDED",
  "bindsSessions",
  "buildContext",
  "createScopeTable",
  "declarationCheck",
  "defaultsOf",
  "emptySection",
  "endingStore",
  "enforcesAutonomy",
  "eventFault",
  "guardedFiles",
  "guardedTasks",
  "keepsSessions",
  "pluralOf",
  "providedName",
  "providedThing",
  "sourceOf",
  "tierAbilities",
  "whyNoChoices",
  "whyNoScope",
  "workingStore",
];
const LOOP_NAMES = ["atMost", "byModelName", "daemonTools", "runCalls", "runToolLoop", "summaryOf"];
const PROGRAM_NAMES = ["PERMISSION_MODES", "actionsThrough", "isOwnServer", "programSection", "programSettings"];
const THREAD_NAMES = ["createThread"];
const FOREIGN_NAMES = ["plainName", "quoted", "termsOf", "yamlTrouble"];
const TESTING_NAMES = [
  "actionContract",
  "boardContract",
  "channelContract",
  "checkSchema",
  "createFakeCli",
  "createFakeContext",
  "createFakeTasks",
  "createMemoryEvents",
  "createMemoryFiles",
  "createMemorySettings",
  "createMemoryStore",
  "createMemoryWarm",
  "createRealSpawn",
  "engineContract",
  "panelContract",
  "readRecording",
  "replayTier",
  "serviceContract",
  "storeContract",
  "tierContract",
  "tortureCases",
  "tortureContract",
  "withDefaults",
  "writeTorture",
];

describe("@svc/sdk", () => {
  it("exports at run time what it exported before", () => {
    expect(Object.keys(sdk).sort()).toEqual(NAMES);
    expect(Object.keys(testing).sort()).toEqual(TESTING_NAMES);
    expect(Object.keys(engine).sort()).toEqual(ENGINE_NAMES);
    expect(Object.keys(program).sort()).toEqual(PROGRAM_NAMES);
    expect(Object.keys(loop).sort()).toEqual(LOOP_NAMES);
    expect(Object.keys(foreign).sort()).toEqual(FOREIGN_NAMES);
    expect(Object.keys(thread).sort()).toEqual(THREAD_NAMES);
    expect(Object.keys(host).sort()).toEqual(HOST_NAMES);
  });

  it("has a generation that is not older than the oldest it loads", () => {
    expect(Number.isInteger(sdk.API_GENERATION) && Number.isInteger(sdk.API_FLOOR)).toBe(true);
    expect(sdk.API_FLOOR).toBeLessThanOrEqual(sdk.API_GENERATION);
  });
});

interface Packed {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

describe("a package", () => {
  let target: string;
  let packed: readonly Packed[];
  // All at once: npm takes longer to start than to pack.
  beforeAll(async () => {
    target = await mkdtemp(join(tmpdir(), "svc-packed-"));
    const pack = ["pack", "--json", "--ignore-scripts", "--workspaces", "--pack-destination", target];
    packed = JSON.parse((await run("npm", pack, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })).stdout);
  });
  afterAll(() => rm(target, { recursive: true }));

  it.each(["sdk", "kernel", "cli", ...pluginFolders().map(({ path }) => path)])(
    "%s packs what it needs and nothing else, and publint finds nothing",
    async (path) => {
      const pkg = JSON.parse(read(`${path}/package.json`)) as { name: string; svc?: { entry: string } };
      const { filename, files: listed } = packed.find(({ name }) => name === pkg.name) as Packed;
      const files = listed.map((file) => file.path);
      expect(files.filter((file) => !file.startsWith("template/") && /\.(test|harness)\.|\.tsbuildinfo$|node_modules/.test(file))).toEqual([]);
      // The build puts the licence there: npm packs only what lies in a package's own folder.
      for (const file of ["README.md", "LICENSE"]) expect(files).toContain(file);
      expect(read(`${path}/LICENSE`)).toBe(read("LICENSE"));
      const tarball = await readFile(join(target, filename));
      const { messages } = await publint({
        strict: true,
        pack: { tarball: tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.byteLength) },
      });
      expect(messages).toEqual([]);
      expect(pkg).toMatchObject({ license: "MIT", engines: { node: ">=20.20.2" } });
      if (pkg.svc !== undefined) expect(files).toContain(pkg.svc.entry.replace("./", ""));
    },
  );
});
