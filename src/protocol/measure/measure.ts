import type { Picture } from '#extension';
import type { JsonObject } from '../canonical/request';
import { pictureSizeIn } from './picture-size';

export type { Picture };

export interface CarriedDocument {
  /** Null if only an address or an id is known. */
  readonly bytes: number | null;
}

export interface ServerTool {
  /** As in the caller's request: `web_search_20250305`, `file_search`, `mcp`. */
  readonly type: string;
  /** Index in the caller's list; null if the tool is a separate field. */
  readonly index: number | null;
  readonly maxUses: number | null;
  readonly takesLimit: boolean;
}

/** Chargeable content of a request besides its text. */
export interface RequestMeasure {
  /** Bytes of the body that are media; the rest is counted as text. */
  readonly mediaBytes: number;
  readonly pictures: readonly Picture[];
  readonly documents: readonly CarriedDocument[];
  readonly recordings: readonly string[];
  /** Parts whose size only the supplier knows: earlier responses, stored prompts, unknown types. */
  readonly references: number;
  /** All tools, and those defined by the vendor, which describes them to the model itself. */
  readonly tools: number;
  readonly vendorTools: number;
  readonly serverTools: readonly ServerTool[];
  readonly maxToolCalls: number | null;
  /** Maximum number of predicted tokens that can be charged without being written. */
  readonly predictedTokens: number;
  /** Whether the supplier can summarise the conversation first, which is billed in addition. */
  readonly compacts: boolean;
  readonly advisors: readonly Advisor[];
}

export interface Advisor {
  readonly model: string;
  readonly index: number;
  /** The caller's limit per advice; null if there is none. */
  readonly maxTokens: number | null;
}

const EMPTY_LIST: readonly never[] = [];

export const textOnlyMeasure: RequestMeasure = {
  mediaBytes: 0,
  pictures: EMPTY_LIST,
  documents: EMPTY_LIST,
  recordings: EMPTY_LIST,
  references: 0,
  tools: 0,
  vendorTools: 0,
  serverTools: EMPTY_LIST,
  maxToolCalls: null,
  predictedTokens: 0,
  compacts: false,
  advisors: EMPTY_LIST,
};

/**
 * Collects the measure while a body is walked. Lists are queued instead of recursed into, so that depth cannot exhaust
 * the call stack.
 */
export class MeasureCollector implements RequestMeasure {
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
  private readonly queue: (readonly unknown[])[] = [];

  /** Queues content for `readParts`; plain text needs no reading. */
  enqueue(content: unknown): void {
    if (Array.isArray(content)) this.queue.push(content);
    else if (isRecord(content)) this.queue.push([content]);
  }

  readParts(read: (part: JsonObject, measure: MeasureCollector) => void): void {
    for (let parts = this.queue.pop(); parts !== undefined; parts = this.queue.pop()) {
      for (const part of parts) if (isRecord(part)) read(part, this);
    }
  }

  /** Adds an image by its URL, which can contain the image itself. */
  addPictureUrl(url: unknown, detail: unknown): void {
    const detailText = typeof detail === 'string' ? detail : null;
    if (typeof url !== 'string' || !isInline(url)) {
      this.pictures.push({ detail: detailText, size: null });
      return;
    }
    this.mediaBytes += url.length;
    this.pictures.push({ detail: detailText, size: pictureSizeIn(url, startOfData(url)) });
  }

  addPictureData(base64: string): void {
    this.mediaBytes += base64.length;
    this.pictures.push({ detail: null, size: pictureSizeIn(base64, 0) });
  }

  addDocument(base64: unknown): void {
    if (typeof base64 !== 'string') {
      this.documents.push({ bytes: null });
      return;
    }
    this.mediaBytes += base64.length;
    this.documents.push({ bytes: Math.floor((base64.length * 3) / 4) });
  }

  /** Suppliers fetch anything that is not plain base64, such as a URL, so only they know its size. */
  addRecording(base64: unknown): void {
    if (typeof base64 !== 'string' || !plainBase64.test(base64)) return this.addReference();
    this.mediaBytes += base64.length;
    this.recordings.push(base64);
  }

  addReference(): void {
    this.references += 1;
  }

  addServerTool(type: unknown, index: number | null, limits: Partial<ServerTool> = {}): void {
    const name = typeof type === 'string' ? type : 'unknown';
    this.serverTools.push({ type: name, index, maxUses: null, takesLimit: false, ...limits });
  }
}

export const isRecord = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : EMPTY_LIST);

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

const plainBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

const isInline = (url: string): boolean => /^data:/i.test(url.slice(0, 5));

/** Start of the data after the comma of a data URL; its length if there is no comma near the start. */
function startOfData(url: string): number {
  const comma = url.slice(0, 256).indexOf(',');
  return comma === -1 ? url.length : comma + 1;
}
