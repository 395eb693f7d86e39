import { type Usage } from '../../kernel';
import { type JsonObject } from '../canonical';

/** Members that an object of an event lacks; `path` leads from the event to that object. */
export interface EventAddition {
  readonly path: readonly (string | number)[];
  readonly members: JsonObject;
}

export interface StreamContext {
  readonly requestId: string;
  /** Model name for every event; null keeps the supplier's. */
  readonly modelOverride: string | null;
  readonly model: string;
  /** Input tokens reported at the start of a messages stream, until its supplier has counted. */
  readonly inputTokens: number;
  readonly echo: JsonObject;
  /** All request fields that a response can repeat; null adds none. */
  readonly request: JsonObject | null;
}

export interface UsageLocation {
  readonly path: readonly string[];
  readonly reported: Readonly<JsonObject> | null;
  /** All usage that the caller has received, as SDKs accumulate it; null if none. */
  readonly received: Readonly<JsonObject> | null;
}

export interface StreamNormalizer {
  /** Events to be sent before the last normalised one; empty for nearly all. */
  readonly preceding: string;
  /** Returns what the event lacks, and sets it on the event. Failures are left unchanged. */
  normalise(event: JsonObject): readonly EventAddition[];
  /** Name for the event's `event` field; null if the dialect has none. */
  eventName(event: JsonObject): string | null;
  /** Whether the event always carries the final usage. */
  isFinal(event: JsonObject): boolean;
  usageLocation(event: JsonObject): UsageLocation;
  /** An event with usage and `svc` fields only; null if the dialect has no such event. */
  usageEvent(usage: Usage, svcFields: object | undefined): string | null;
}

export const NO_ADDITIONS: readonly EventAddition[] = [];

export const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

export class EventAdditions {
  readonly list: EventAddition[] = [];

  add(path: EventAddition['path'], holder: JsonObject, members: JsonObject): void {
    if (Object.keys(members).length === 0) return;
    Object.assign(holder, members);
    this.list.push({ path, members });
  }
}
