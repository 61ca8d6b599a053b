/* The list of components of a release (CycloneDX): what the workspace is installed with, and what each package that stands apart brings besides. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { APART } from "../test/house/apart.mjs";
import { ROOT } from "./packages.mjs";

/** `npm sbom` of a folder, from its lock file: a package that stands apart need not be installed. */
function listOf(folder) {
  const options = { cwd: join(ROOT, folder), encoding: "utf8", maxBuffer: 64 * 1_048_576, stdio: ["ignore", "pipe", "ignore"] };
  const sbom = JSON.parse(execFileSync("npm", ["sbom", "--sbom-format=cyclonedx", ...(folder === "." ? [] : ["--package-lock-only"])], options));
  // With --omit=dev npm leaves out what a package of ours needs and the root names as a tool for development besides, as ajv.
  const isTool = ({ properties = [] }) => properties.some(({ name, value }) => name === "cdx:npm:package:development" && value === "true");
  sbom.components = sbom.components.filter((component) => !isTool(component));
  const kept = new Set([sbom.metadata.component, ...sbom.components].map((component) => component["bom-ref"]));
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
  // npm calls a package of the workspace as its folder is called; its address has the name.
  for (const component of [sbom.metadata.component, ...sbom.components])
    component.name = decodeURIComponent(/^pkg:npm\/(.+)@/.exec(component.purl)?.[1] ?? component.name);
  return sbom;
}

/** The list of all; what only a package that stands apart brings has the scope `optional`. */
export function components() {
  const sbom = listOf(".");
  const known = new Set(sbom.components.map((component) => component["bom-ref"]));
  const needs = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, new Set(dependsOn)]));
  for (const folder of APART) {
    const apart = listOf(folder);
    for (const component of [apart.metadata.component, ...apart.components]) {
      if (known.has(component["bom-ref"])) continue;
      known.add(component["bom-ref"]);
      sbom.components.push({ ...component, type: "library", scope: "optional" });
    }
    for (const { ref, dependsOn } of apart.dependencies) needs.set(ref, new Set([...(needs.get(ref) ?? []), ...dependsOn]));
  }
  sbom.dependencies = [...needs].map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn] }));
  return sbom;
}
