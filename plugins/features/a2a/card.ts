/** Facts shown on the card. */
export interface CardFacts {
  readonly name: string;
  readonly description: string;
  /** Where the server is reached. */
  readonly url: string;
  readonly version: string;
  /** Callers need a bearer. */
  readonly guarded: boolean;
}

/** The agent card, for every generation at once: each reads its own members. */
export function cardOf({ name, description, url, version, guarded }: CardFacts): object {
  return {
    name,
    description,
    version,
    url,
    protocolVersion: "0.3.0",
    preferredTransport: "JSONRPC",
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    additionalInterfaces: [{ url, transport: "JSONRPC" }],
    capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false, extendedAgentCard: guarded },
    supportsAuthenticatedExtendedCard: guarded,
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "ask", name: "Ask", description, tags: ["agent"], inputModes: ["text/plain", "application/json"], outputModes: ["text/plain"] }],
    ...(guarded
      ? { securitySchemes: { bearer: { type: "http", scheme: "bearer", httpAuthSecurityScheme: { scheme: "Bearer" } } }, security: [{ bearer: [] }] }
      : {}),
  };
}
