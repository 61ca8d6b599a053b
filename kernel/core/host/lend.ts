import type { Capability } from "@svc/sdk";

/** Makes a capability at its first use, once `need` has let it pass, and keeps it: most plugins touch few. */
export function lending(need: (capability: Capability) => void): <T>(capability: Capability, make: () => T) => () => T {
  return (capability, make) => {
    let made: { value: ReturnType<typeof make> } | undefined;
    return () => {
      need(capability);
      made ??= { value: make() };
      return made.value;
    };
  };
}
