import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, MINUTE_MS, SECOND_MS } from '../../kernel';
import { type StorageCredential, storageOrigin, type StorageLocation } from '../config';
import {
  uriEncode,
  type OpenedResponse,
  type OutgoingResponse,
  type OutgoingClient,
  signRequest,
} from '../outgoing';
import { AddressRefused, type RequestMethod } from '../supplier-http';
import { faultOf, StoreFault } from './store-fault';

/** Maximum of a response that is not an object; a list of a thousand long names is the largest. */
const MAX_RESPONSE_BYTES = 16 * 1_024 * 1_024;
const MAX_ERROR_BYTES = 256 * 1_024;
const INITIAL_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10 * SECOND_MS;
const MAX_RETRY_AFTER_MS = 30 * SECOND_MS;

export interface StoreOptions {
  readonly maxAttempts?: number;
  /** Deadline of one attempt; when an object is read, of its headers and of each pause. */
  readonly deadlineMs?: number;
  /** For tests. */
  readonly pause?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly now?: () => Date;
}

export interface StoreRequest {
  readonly method: RequestMethod;
  /** Name of an object; undefined for the bucket itself. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal | undefined;
}

const EMPTY = Buffer.alloc(0);

/** Signs and sends requests, and retries them when useful. */
export class StoreExchange {
  private readonly origin: string;

  constructor(
    private readonly outgoing: OutgoingClient,
    private readonly location: StorageLocation,
    private readonly credential: StorageCredential,
    private readonly options: StoreOptions,
  ) {
    this.origin = storageOrigin(location);
  }

  /** Returns the response with one of the expected statuses; throws a StoreFault for any other. */
  async send(request: StoreRequest, expected: readonly number[]): Promise<OutgoingResponse> {
    let isUncertain = false;
    return this.withRetries(request.signal, async () => {
      const wasUncertain = isUncertain;
      // Stays true if no response arrives: the store might have carried out the request.
      isUncertain = true;
      const bounds = { mostBytes: MAX_RESPONSE_BYTES, deadlineMs: this.deadlineMs };
      const response = await this.outgoing.read(this.buildRequest(request), bounds);
      // A multipart upload can fail after a head with status 200 (API Reference, CompleteMultipartUpload).
      const isBroken =
        response.status === 200 && response.body.toString('latin1', 0, 2_048).includes('<Error>');
      if (expected.includes(response.status) && !isBroken) return response;
      const fault = faultOf(isBroken ? { ...response, status: 500 } : response);
      isUncertain = wasUncertain || (fault.status >= 500 && fault.status !== 503);
      fault.mightBeDone = wasUncertain;
      throw fault;
    });
  }

  async open(request: StoreRequest, expected: readonly number[]): Promise<OpenedResponse> {
    return this.withRetries(request.signal, async () => {
      const response = await this.outgoing.open(this.buildRequest(request), { deadlineMs: this.deadlineMs });
      if (expected.includes(response.status)) return response;
      throw faultOf({ ...response, body: await readErrorBody(response) });
    });
  }

  /** Retries after a partly random pause if the failure is transient. */
  async withRetries<T>(signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    const { maxAttempts = 4, pause = pauseFor } = this.options;
    for (let attemptCount = 1; ; attemptCount += 1) {
      signal?.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (attemptCount >= maxAttempts || signal?.aborted || !isTransient(error)) throw error;
        await pause(pauseAfter(attemptCount, error), signal);
      }
    }
  }

  private get deadlineMs(): number {
    return this.options.deadlineMs ?? MINUTE_MS;
  }

  private buildRequest({ method, name, query = {}, headers = {}, body = EMPTY, signal }: StoreRequest) {
    const { bucket, prefix, region, style } = this.location;
    const { now = () => new Date() } = this.options;
    const url = new URL(this.origin);
    const key = name === undefined ? '' : keyOf(prefix, name);
    url.pathname = style === 'path' ? `/${bucket}${name === undefined ? '' : `/${key}`}` : `/${key}`;
    url.search = Object.entries(query)
      .map(([one, value]) => `${uriEncode(one)}=${uriEncode(value)}`)
      .join('&');
    const digest = createHash('sha256').update(body).digest('hex');
    const signedHeaders = { ...headers, 'x-amz-content-sha256': digest };
    const scope = { region, service: 's3', now: now(), path: 'as-it-stands' } as const;
    const added = signRequest({ method, url, headers: signedHeaders, body, digest }, this.credential, scope);
    return {
      url: url.href,
      method,
      headers: { ...signedHeaders, ...added },
      ...(body.length === 0 ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    };
  }
}

/** Dot segments would change the URL in transit. */
function keyOf(prefix: string, name: string): string {
  const key = prefix + name;
  const parts = key.split('/');
  if (name === '' || Buffer.byteLength(key) > 1_024) throw new Error('a name has from 1 to 1,024 bytes');
  if (parts.some((part) => part === '.' || part === '..'))
    throw new Error('no part of a name is one or two dots');
  return parts.map(uriEncode).join('/');
}

const isTransient = (error: unknown): boolean =>
  error instanceof StoreFault
    ? error.isTransient
    : !(error instanceof AddressRefused) && !(error instanceof Fault);

function pauseAfter(attemptCount: number, error: unknown): number {
  const requestedMs = error instanceof StoreFault ? error.retryAfterMs : undefined;
  if (requestedMs !== undefined) return Math.min(requestedMs, MAX_RETRY_AFTER_MS);
  return Math.random() * Math.min(INITIAL_PAUSE_MS * 2 ** attemptCount, MAX_PAUSE_MS);
}

const pauseFor = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
  await delay(milliseconds, undefined, signal === undefined ? {} : { signal });
};

async function readErrorBody({ body }: OpenedResponse): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(pieces);
}
