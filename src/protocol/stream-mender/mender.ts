import { type Usage } from '../../kernel';
import { type JsonObject } from '../canonical';

/** Members that an object of an event lacks; the path leads from the event to that object. */
export interface Lack {
  readonly path: readonly (string | number)[];
  readonly members: JsonObject;
}

/** A stream is completed with these facts. */
export interface StreamFacts {
  readonly requestId: string;
  /** The name of the model that every event gets; null leaves the supplier's. */
  readonly named: string | null;
  /** The name where the supplier gives none. */
  readonly model: string;
  /** The caller is told this at the beginning of a messages stream, until its supplier has counted. */
  readonly inputTokens: number;
  /** A response repeats this of its request. */
  readonly echo: JsonObject;
  /** All fields of the request that a response can repeat; null leaves responses without them. */
  readonly request: JsonObject | null;
}

/** The usage of a whole answer, and where in its event it stands or belongs. */
export interface UsagePlace {
  /** It leads from the event to the object that has the usage. */
  readonly path: readonly string[];
  readonly held: Readonly<JsonObject> | null;
  /** All that the caller has been told, as SDKs add it up; null where that is nothing. */
  readonly told: Readonly<JsonObject> | null;
}

/** Completes the events of a stream that passes in its own dialect, one after another. */
export interface StreamMender {
  /** Events that have to stand before the one that was mended last; empty for nearly all. */
  readonly before: string;
  /** Answers what the event lacks, and sets it on the event. Failures are left as they are. */
  mend(event: JsonObject): readonly Lack[];
  /** The name that the event needs as a field of its own; null where the dialect has none. */
  nameOf(event: JsonObject): string | null;
  /** The event has the final usage in any case. */
  closes(event: JsonObject): boolean;
  usagePlace(event: JsonObject): UsagePlace;
  /** An event with the usage alone, and facts beside it; null where the dialect has no such event. */
  usageEvent(usage: Usage, facts: object | undefined): string | null;
}

export const NOTHING_LACKS: readonly Lack[] = [];

export const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Collects what an event lacks. */
export class Lacks {
  readonly list: Lack[] = [];

  /** Nothing is noted where there are no members. */
  add(path: Lack['path'], holder: JsonObject, members: JsonObject): void {
    if (Object.keys(members).length === 0) return;
    Object.assign(holder, members);
    this.list.push({ path, members });
  }
}
