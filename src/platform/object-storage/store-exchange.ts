import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Fault, MINUTE_MS, SECOND_MS } from '../../kernel';
import { type StorageCredential, storageOrigin, type StoragePlace } from '../config';
import {
  encoded,
  type OpenedAnswer,
  type OutgoingAnswer,
  type OutgoingClient,
  signRequest,
} from '../outgoing';
import { AddressRefused, type RequestMethod } from '../supplier-http';
import { faultOf, StoreFault } from './store-fault';

/** The whole of an answer that is no object: a list of a thousand long names is the largest. */
const MOST_ANSWER_BYTES = 16 * 1_024 * 1_024;
const MOST_ERROR_BYTES = 256 * 1_024;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10 * SECOND_MS;
const LONGEST_RETRY_AFTER_MS = 30 * SECOND_MS;

export interface StoreOptions {
  /** How often one request is sent at most. */
  readonly tries?: number;
  /** The deadline of one try; of an object that is read, that of its head and of each silence. */
  readonly deadlineMs?: number;
  /** For tests. */
  readonly pause?: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly now?: () => Date;
}

export interface StoreRequest {
  readonly method: RequestMethod;
  /** Without it, the bucket itself is meant. */
  readonly name?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly signal?: AbortSignal | undefined;
}

const EMPTY = Buffer.alloc(0);

/** Signs requests, sends them, and sends them again where that may help. */
export class StoreExchange {
  private readonly origin: string;

  constructor(
    private readonly outgoing: OutgoingClient,
    private readonly place: StoragePlace,
    private readonly credential: StorageCredential,
    private readonly options: StoreOptions,
  ) {
    this.origin = storageOrigin(place);
  }

  /** The answer with one of the statuses that are expected; a StoreFault for any other. */
  async ask(request: StoreRequest, expected: readonly number[]): Promise<OutgoingAnswer> {
    let isDoubtful = false;
    return this.untilDone(request.signal, async () => {
      const wasDoubtful = isDoubtful;
      // It stays so where no answer comes: the store may have done what it was asked.
      isDoubtful = true;
      const bounds = { mostBytes: MOST_ANSWER_BYTES, deadlineMs: this.deadlineMs };
      const answer = await this.outgoing.read(this.signed(request), bounds);
      // A multipart upload can fail behind a head that says 200 (API Reference, CompleteMultipartUpload).
      const isBroken = answer.status === 200 && answer.body.toString('latin1', 0, 2_048).includes('<Error>');
      if (expected.includes(answer.status) && !isBroken) return answer;
      const fault = faultOf(isBroken ? { ...answer, status: 500 } : answer);
      isDoubtful = wasDoubtful || (fault.status >= 500 && fault.status !== 503);
      fault.mayBeDone = wasDoubtful;
      throw fault;
    });
  }

  async open(request: StoreRequest, expected: readonly number[]): Promise<OpenedAnswer> {
    return this.untilDone(request.signal, async () => {
      const answer = await this.outgoing.open(this.signed(request), { deadlineMs: this.deadlineMs });
      if (expected.includes(answer.status)) return answer;
      throw faultOf({ ...answer, body: await beginningOf(answer) });
    });
  }

  /** Tries again after a pause, of which a part is chance, where the failure may pass. */
  async untilDone<T>(signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    const { tries = 4, pause = pauseFor } = this.options;
    for (let tried = 1; ; tried += 1) {
      signal?.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (tried >= tries || signal?.aborted || !mayPass(error)) throw error;
        await pause(pauseAfter(tried, error), signal);
      }
    }
  }

  private get deadlineMs(): number {
    return this.options.deadlineMs ?? MINUTE_MS;
  }

  private signed({ method, name, query = {}, headers = {}, body = EMPTY, signal }: StoreRequest) {
    const { bucket, prefix, region, style } = this.place;
    const { now = () => new Date() } = this.options;
    const url = new URL(this.origin);
    const key = name === undefined ? '' : keyOf(prefix, name);
    url.pathname = style === 'path' ? `/${bucket}${name === undefined ? '' : `/${key}`}` : `/${key}`;
    url.search = Object.entries(query)
      .map(([one, value]) => `${encoded(one)}=${encoded(value)}`)
      .join('&');
    const digest = createHash('sha256').update(body).digest('hex');
    const own = { ...headers, 'x-amz-content-sha256': digest };
    const scope = { region, service: 's3', now: now(), path: 'as-it-stands' } as const;
    const added = signRequest({ method, url, headers: own, body, digest }, this.credential, scope);
    return {
      url: url.href,
      method,
      headers: { ...own, ...added },
      ...(body.length === 0 ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    };
  }
}

/** Dots would change the address under way. */
function keyOf(prefix: string, name: string): string {
  const key = prefix + name;
  const parts = key.split('/');
  if (name === '' || Buffer.byteLength(key) > 1_024) throw new Error('a name has from 1 to 1,024 bytes');
  if (parts.some((part) => part === '.' || part === '..'))
    throw new Error('no part of a name is one or two dots');
  return parts.map(encoded).join('/');
}

const mayPass = (error: unknown): boolean =>
  error instanceof StoreFault
    ? error.isPassing
    : !(error instanceof AddressRefused) && !(error instanceof Fault);

function pauseAfter(tried: number, error: unknown): number {
  const asked = error instanceof StoreFault ? error.retryAfterMs : undefined;
  if (asked !== undefined) return Math.min(asked, LONGEST_RETRY_AFTER_MS);
  return Math.random() * Math.min(FIRST_PAUSE_MS * 2 ** tried, LONGEST_PAUSE_MS);
}

const pauseFor = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
  await delay(milliseconds, undefined, signal === undefined ? {} : { signal });
};

/** As much of an error as is worth reading. */
async function beginningOf({ body }: OpenedAnswer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MOST_ERROR_BYTES) break;
  }
  return Buffer.concat(pieces);
}
