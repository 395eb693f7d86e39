import type { Picture } from '#extension';
import type { JsonObject } from '../canonical/request';
import { pictureSizeIn } from './picture-size';

/** A picture that a request carries or points at. */
export type { Picture };

/** A file that a supplier turns into text and pictures itself. */
export interface CarriedDocument {
  /** It has so many bytes; null where only an address or an id is known. */
  readonly bytes: number | null;
}

/** A tool that the supplier runs itself, once or several times, before it answers. */
export interface ServerTool {
  /** The caller wrote it like this: `web_search_20250305`, `file_search`, `mcp`. */
  readonly type: string;
  /** It stands here in the caller's list; null where it is a field of its own. */
  readonly index: number | null;
  /** The caller's own limit on its uses. */
  readonly maxUses: number | null;
  /** The tool takes a limit of its own. */
  readonly takesLimit: boolean;
}

/** A request carries this beside its text, as far as a supplier would charge for it. */
export interface RequestMeasure {
  /** Bytes of the body that hold media: the rest is counted as text. */
  readonly mediaBytes: number;
  readonly pictures: readonly Picture[];
  readonly documents: readonly CarriedDocument[];
  /** The recordings are in base64. */
  readonly recordings: readonly string[];
  /** Parts whose size only the supplier knows: earlier answers, stored prompts, kinds that are unknown here. */
  readonly references: number;
  /** Tools of any kind, and those of the vendor's making, which it describes to the model itself. */
  readonly tools: number;
  readonly vendorTools: number;
  readonly serverTools: readonly ServerTool[];
  /** The caller's limit on the uses of all server tools together. */
  readonly maxToolCalls: number | null;
  /** No answer can be charged for more tokens that were predicted and then not written. */
  readonly predictedTokens: number;
  /** The supplier may summarise the conversation first, which is billed beside the answer. */
  readonly compacts: boolean;
  /** It may ask these other models on the way. */
  readonly advisors: readonly Advisor[];
}

export interface Advisor {
  readonly model: string;
  readonly index: number;
  /** The caller's bound on each advice; null where there is none. */
  readonly maxTokens: number | null;
}

const NOTHING: readonly never[] = [];

/** Most requests carry text alone. */
export const textAlone: RequestMeasure = {
  mediaBytes: 0,
  pictures: NOTHING,
  documents: NOTHING,
  recordings: NOTHING,
  references: 0,
  tools: 0,
  vendorTools: 0,
  serverTools: NOTHING,
  maxToolCalls: null,
  predictedTokens: 0,
  compacts: false,
  advisors: NOTHING,
};

/** Collects what a walk over a body finds. Lists wait in a stack, so that depth cannot exhaust the call stack. */
export class Measure implements RequestMeasure {
  mediaBytes = 0;
  readonly pictures: Picture[] = [];
  readonly documents: CarriedDocument[] = [];
  readonly recordings: string[] = [];
  references = 0;
  tools = 0;
  vendorTools = 0;
  readonly serverTools: ServerTool[] = [];
  maxToolCalls: number | null = null;
  predictedTokens = 0;
  compacts = false;
  readonly advisors: Advisor[] = [];
  private readonly waiting: (readonly unknown[])[] = [];

  /** Content that is a plain text needs no look; a list of parts is read later. */
  later(content: unknown): void {
    if (Array.isArray(content)) this.waiting.push(content);
    else if (isRecord(content)) this.waiting.push([content]);
  }

  /** Reads every list that waits, and those that are found on the way. */
  readParts(read: (part: JsonObject, measure: Measure) => void): void {
    for (let parts = this.waiting.pop(); parts !== undefined; parts = this.waiting.pop()) {
      for (const part of parts) if (isRecord(part)) read(part, this);
    }
  }

  /** A picture by its address, which may hold the picture itself. */
  pictureAt(url: unknown, detail: unknown): void {
    const told = typeof detail === 'string' ? detail : null;
    if (typeof url !== 'string' || !isInline(url)) {
      this.pictures.push({ detail: told, size: null });
      return;
    }
    this.mediaBytes += url.length;
    this.pictures.push({ detail: told, size: pictureSizeIn(url, startOfData(url)) });
  }

  pictureOf(base64: string): void {
    this.mediaBytes += base64.length;
    this.pictures.push({ detail: null, size: pictureSizeIn(base64, 0) });
  }

  document(base64: unknown): void {
    if (typeof base64 !== 'string') {
      this.documents.push({ bytes: null });
      return;
    }
    this.mediaBytes += base64.length;
    this.documents.push({ bytes: Math.floor((base64.length * 3) / 4) });
  }

  /** Suppliers fetch a text that is not plain base64, such as an address, so only they know its size. */
  recording(base64: unknown): void {
    if (typeof base64 !== 'string' || !plainBase64.test(base64)) return this.reference();
    this.mediaBytes += base64.length;
    this.recordings.push(base64);
  }

  reference(): void {
    this.references += 1;
  }

  serverTool(type: unknown, index: number | null, limits: Partial<ServerTool> = {}): void {
    const name = typeof type === 'string' ? type : 'unknown';
    this.serverTools.push({ type: name, index, maxUses: null, takesLimit: false, ...limits });
  }
}

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : NOTHING);

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const plainBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

const isInline = (url: string): boolean => /^data:/i.test(url.slice(0, 5));

/** The data begin behind the comma of a data URL; it is the end where there is none near its beginning. */
function startOfData(url: string): number {
  const comma = url.slice(0, 256).indexOf(',');
  return comma === -1 ? url.length : comma + 1;
}
