/** One line of a container file, with its continuation lines joined. */
export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** What an image is run with. */
export interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly folder: string;
  readonly volumes: readonly string[];
  readonly health: readonly string[];
  readonly start: readonly string[];
}

/** What a step of a build does to the image's root folder. */
export interface Builder {
  /** Makes the root of a base image. */
  from(image: string): Promise<string>;
  /** Runs a shell command in it; throws where that fails. */
  run(command: string, image: Image): Promise<void>;
  /** Makes a folder in it. */
  folder(path: string, image: Image): Promise<void>;
}

/** The instructions of a container file, in order. */
export function instructions(text: string): Instruction[] {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replace(/\\\n/g, " ")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (name === "") throw new Error(`no instruction: ${line}`);
    return { name, rest: rest.trim() };
  });
}

const argv = (rest: string): string[] => (rest.startsWith("[") ? JSON.parse(rest) : ["/bin/sh", "-c", rest]);

/** Builds an image from a file of one stage, step by step. An instruction that is not understood fails the build. */
export async function buildImage(text: string, args: Readonly<Record<string, string>>, builder: Builder): Promise<Image> {
  let image: Image = { root: "", env: { PATH: PATH_OF_IMAGES }, user: "root", folder: "/", volumes: [], health: [], start: [] };
  const known: Record<string, string> = {};
  let entry: string[] = [];
  for (const { name, rest } of instructions(text)) {
    if ((name === "FROM") !== (image.root === "")) throw new Error(`${name}: a file of one stage starts with its only FROM`);
    const [key = "", value = ""] = rest.split(/=(.*)/s);
    if (name === "FROM") image = { ...image, root: await builder.from(rest) };
    else if (name === "ARG") known[key] = args[key] ?? value;
    else if (name === "ENV") image = { ...image, env: { ...image.env, [key]: value } };
    else if (name === "RUN") await builder.run(rest, { ...image, env: { ...known, ...image.env } });
    else if (name === "USER") image = { ...image, user: rest };
    else if (name === "VOLUME") image = { ...image, volumes: [...image.volumes, rest] };
    else if (name === "HEALTHCHECK") image = { ...image, health: argv(rest.slice(rest.indexOf("CMD ") + 4)) };
    else if (name === "ENTRYPOINT") entry = argv(rest);
    else if (name === "CMD") image = { ...image, start: argv(rest) };
    else if (name === "WORKDIR") {
      await builder.folder(rest, image);
      image = { ...image, folder: rest };
    } else if (name !== "EXPOSE") throw new Error(`${name} is not understood`);
  }
  return { ...image, start: [...entry, ...image.start] };
}

/** What a process in an image starts with where the file says nothing. */
const PATH_OF_IMAGES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
