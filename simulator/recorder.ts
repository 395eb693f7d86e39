import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { parseJson } from './json';

export type Closing = 'finished' | 'client-closed' | 'fault';
export type WaitKind = 'received' | 'closed' | 'client-closed';

/** Internal record of a request; readers get a `RecordedRequest`. */
export interface RecorderEntry {
  readonly id: number;
  readonly lane: string;
  readonly region: string;
  readonly method: string;
  readonly url: string;
  readonly path: string;
  /** Alternating names and values, as Node provides them. */
  readonly rawHeaders: readonly string[];
  readonly openedAt: number;
  readonly openedMs: number;
  /** First megabyte; the remainder is only counted and hashed. */
  body: Buffer;
  bodyBytes: number;
  bodySha256: string | undefined;
  model: string;
  status: number | undefined;
  bytes: number;
  events: number;
  faults: readonly string[];
  /** Vendor rule that the request broke; empty if none. */
  rule: string;
  /** Error message of the vendor. */
  words: string;
  /** The simulator broke the connection. */
  broken: boolean;
  closed: Closing | undefined;
  closedMs: number | undefined;
}

export interface RecordedRequest {
  readonly id: number;
  readonly lane: string;
  readonly region: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed body if it is JSON. */
  readonly body: unknown;
  /** Body as received if it is text and has not been dropped to save memory. */
  readonly rawBody: string | null;
  readonly bodyBytes: number;
  readonly bodySha256: string;
  readonly model: string;
  readonly receivedAt: string;
  readonly status: number | null;
  readonly bytes: number;
  readonly events: number;
  readonly faults: readonly string[];
  /** Vendor rule that the request broke. */
  readonly rule: string | null;
  /** Error message of the vendor. */
  readonly words: string | null;
  /** null while the response is in progress. */
  readonly closed: Closing | null;
  /** From the first byte of the request to the close. */
  readonly durationMs: number | null;
}

interface Waiter {
  readonly kind: WaitKind;
  readonly count: number;
  readonly wake: () => void;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_STORED_BYTES = 64 * 1024 * 1024;
const MAX_ROUTES = 1000;
const emptyBody = Buffer.alloc(0);

/** Stores the latest requests in full and counts all of them. */
export class Recorder {
  private ring: RecorderEntry[] = [];
  private readonly counts: Record<WaitKind, number> = { received: 0, closed: 0, 'client-closed': 0 };
  private readonly byRoute = new Map<string, number>();
  private readonly waiters = new Set<Waiter>();
  private lastId = 0;
  private inFlight = 0;
  private storedBytes = 0;

  constructor(private readonly size: number) {}

  open(request: IncomingMessage, lane: string, region: string): RecorderEntry {
    const url = request.url ?? '/';
    const query = url.indexOf('?');
    const entry: RecorderEntry = {
      id: ++this.lastId,
      lane,
      region,
      method: request.method ?? '',
      url,
      path: query < 0 ? url : url.slice(0, query),
      rawHeaders: request.rawHeaders,
      openedAt: Date.now(),
      openedMs: performance.now(),
      body: emptyBody,
      bodyBytes: 0,
      bodySha256: undefined,
      model: '',
      status: undefined,
      bytes: 0,
      events: 0,
      faults: [],
      rule: '',
      words: '',
      broken: false,
      closed: undefined,
      closedMs: undefined,
    };
    this.inFlight++;
    this.ring.push(entry);
    // Trimmed by half, so that shifting the array is rare.
    if (this.ring.length >= 2 * this.size) this.ring = this.ring.slice(-this.size);
    return entry;
  }

  received(entry: RecorderEntry, body: Buffer): void {
    entry.bodyBytes = body.length;
    entry.body = body;
    if (body.length > MAX_BODY_BYTES) {
      entry.bodySha256 = sha256(body);
      entry.body = Buffer.from(body.subarray(0, MAX_BODY_BYTES));
    }
    this.storedBytes += entry.body.length;
    if (this.storedBytes > MAX_STORED_BYTES) this.dropBodies();
    this.count('received');
  }

  close(entry: RecorderEntry, closing: Closing): void {
    entry.closed = closing;
    entry.closedMs = performance.now();
    this.inFlight--;
    const path = this.byRoute.size < MAX_ROUTES ? entry.path : 'other paths';
    const route = `${path} ${entry.status ?? 'none'}`;
    this.byRoute.set(route, (this.byRoute.get(route) ?? 0) + 1);
    if (closing === 'client-closed') this.count('client-closed');
    this.count('closed');
  }

  /** Forgets the requests and resets the counts of `wait`; the totals remain. */
  clear(): void {
    this.ring = [];
    for (const kind of Object.keys(this.counts) as WaitKind[]) this.counts[kind] = 0;
  }

  list(afterId = 0): RecordedRequest[] {
    return this.ring
      .slice(-this.size)
      .filter((entry) => entry.id > afterId)
      .map(viewOf);
  }

  totals(): { readonly total: number; readonly sinceClear: number; readonly inFlight: number } {
    return { total: this.lastId, sinceClear: this.counts.received, inFlight: this.inFlight };
  }

  routes(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.byRoute].sort());
  }

  /** Resolves to true once the count is reached, or to false at the deadline. */
  wait(kind: WaitKind, count: number, deadlineMs: number): Promise<boolean> {
    if (this.counts[kind] >= count) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (reached: boolean): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve(reached);
      };
      const waiter: Waiter = { kind, count, wake: () => finish(true) };
      const timer = setTimeout(() => finish(false), deadlineMs);
      this.waiters.add(waiter);
    });
  }

  /** Keeps the newer half of the stored bytes. */
  private dropBodies(): void {
    this.storedBytes = 0;
    for (const entry of this.ring.toReversed()) {
      if (this.storedBytes + entry.body.length <= MAX_STORED_BYTES / 2) {
        this.storedBytes += entry.body.length;
        continue;
      }
      entry.bodySha256 ??= sha256(entry.body);
      entry.body = emptyBody;
    }
  }

  private count(kind: WaitKind): void {
    const reached = ++this.counts[kind];
    for (const waiter of this.waiters) if (waiter.kind === kind && waiter.count <= reached) waiter.wake();
  }
}

function viewOf(entry: RecorderEntry): RecordedRequest {
  const headers = headersOf(entry.rawHeaders);
  const isText = !/multipart|octet-stream|audio/.test(headers['content-type'] ?? '');
  const isStored = entry.body.length > 0 || entry.bodyBytes === 0;
  const raw = isText && isStored ? entry.body.toString() : null;
  return {
    id: entry.id,
    lane: entry.lane,
    region: entry.region,
    method: entry.method,
    path: entry.path,
    query: entry.url.slice(entry.path.length + 1),
    headers,
    body: raw === null ? null : (parseJson(raw)?.value ?? null),
    rawBody: raw,
    bodyBytes: entry.bodyBytes,
    bodySha256: entry.bodySha256 ?? sha256(entry.body),
    model: entry.model,
    receivedAt: new Date(entry.openedAt).toISOString(),
    status: entry.status ?? null,
    bytes: entry.bytes,
    events: entry.events,
    faults: entry.faults,
    rule: entry.rule === '' ? null : entry.rule,
    words: entry.words === '' ? null : entry.words,
    closed: entry.closed ?? null,
    durationMs: entry.closedMs === undefined ? null : entry.closedMs - entry.openedMs,
  };
}

function headersOf(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    const value = raw[index + 1] ?? '';
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
