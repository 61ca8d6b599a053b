import type { Agent, Files, Log, MediaReader, Models, Sockets, Spawn, StreamingFetch, Warm } from "@svc/sdk";
import type { ProtectedDeps } from "../../base/protected-files.ts";
import type { ChannelRender } from "../flow/deliver/parts.ts";

/** Live sections of the configuration, which their library knows by its own types. */
type Section = Readonly<Record<string, unknown>>;

/** The section `processPool`, in seconds. */
export interface PoolLimits {
  readonly maxIdleSeconds: number;
  readonly maxAgeSeconds: number;
  readonly sweepIntervalSeconds: number;
}

/** The libraries behind the capabilities that have some weight. Each is loaded when the first plugin that declares its capability is set up. */
export interface CapabilityLibraries {
  fetch(): Promise<{ createFetch(options?: { readonly isolated?: boolean }): StreamingFetch }>;
  sockets(): Promise<{
    createSockets(options: {
      readonly plugin: string;
      readonly signal: AbortSignal;
      readonly hosts: readonly string[] | undefined;
      readonly section: unknown;
      readonly isolated?: boolean;
    }): Sockets;
  }>;
  files(): Promise<{ createFiles(options: { readonly own: string; readonly deps: ProtectedDeps }): Files }>;
  spawn(): Promise<{
    createSpawn(deps: {
      readonly marker: string;
      readonly baseEnv: Readonly<Record<string, string | undefined>>;
      readonly log: Log;
      readonly record?: (taskId: string, pid: number, identity: string) => Promise<void>;
    }): Spawn & { stopAll(): Promise<void> };
  }>;
  /** Ends what an earlier daemon left running. */
  sweep(): Promise<{
    sweepOrphans(options: {
      readonly marker: string;
      readonly recorded?: readonly { readonly pid: number; readonly identity: string }[];
      readonly log: Log;
    }): Promise<unknown>;
  }>;
  warm(): Promise<{
    createPool(deps: { readonly limits: () => PoolLimits; readonly failed: (owner: string, error: unknown) => void }): {
      for(owner: string): Warm;
      end(owner?: string): Promise<void>;
    };
  }>;
  media(): Promise<{ createMedia(): MediaReader }>;
  models(): Promise<{
    createModels(deps: {
      readonly env: Readonly<Record<string, string | undefined>>;
      readonly providers: () => Section;
      readonly agent: (id: string) => Agent | undefined;
    }): Models & { close(): void };
  }>;
  render(): Promise<{ createRender(): ChannelRender }>;
}
