import type { Observed, Pin } from "@svc/kernel";

/** What an operator agrees to, a line each: what the plugin says it uses, what its setup was seen to register, and whose process it runs in. */
export function describeObserved({ id, version, section, agentKeys, capabilities, registers }: Observed, isolated = false): string {
  const list = (things: readonly string[]) => (things.length === 0 ? "nothing" : things.join(", "));
  return [
    `${id} ${version}`,
    `  section of svc.json  ${section ?? "none"}`,
    `  keys of agents       ${list(agentKeys)}`,
    `  declares             ${list(capabilities)}`,
    `  registers            ${list(registers)}`,
    ...(isolated ? ["  runs in              a process of its own"] : []),
  ].join("\n");
}

/** How it differs from what was trusted, a line each; none when only the files differ or nothing does. */
export function describeDrift(pin: Pin, now: Observed, integrity: string): string[] {
  const changes = (before: readonly string[], after: readonly string[]) => [
    ...after.filter((thing) => !before.includes(thing)).map((thing) => `+ ${thing}`),
    ...before.filter((thing) => !after.includes(thing)).map((thing) => `- ${thing}`),
  ];
  const lines = [
    ...changes(pin.capabilities, now.capabilities).map((line) => `declares   ${line}`),
    ...changes(pin.registers, now.registers).map((line) => `registers  ${line}`),
  ];
  if (pin.version !== now.version) lines.unshift(`version    ${pin.version} -> ${now.version}`);
  if (pin.integrity !== integrity) lines.push(`files      changed since ${pin.trustedAt}`);
  return lines;
}
