import type { OutgoingAnswer } from '../outgoing';
import { textOf } from './store-xml';

const LONGEST_WORDS = 300;

// Amazon S3 API Reference, "Error responses" and "Error best practices": these pass by themselves.
const passingStatuses = new Set([408, 429, 500, 502, 503, 504]);
const passingCodes = new Set([
  'ConditionalRequestConflict',
  'InternalError',
  'OperationAborted',
  'RequestLimitExceeded',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
]);

/** What a store answered instead of doing what it was asked. */
export class StoreFault extends Error {
  /** An earlier try of the same request may have been carried out, though nobody heard of it. */
  mayBeDone = false;

  constructor(
    readonly status: number,
    /** Such as `NoSuchKey`; empty where the answer was not the store's own. */
    readonly code: string,
    words: string,
    readonly retryAfterMs?: number,
  ) {
    super(`the store answered ${status}${code === '' ? '' : ` ${code}`}${words === '' ? '' : `: ${words}`}`);
    this.name = 'StoreFault';
  }

  /** The same request may succeed later. */
  get isPassing(): boolean {
    return passingStatuses.has(this.status) || passingCodes.has(this.code);
  }

  /** The store lacks nothing but the right: another key, bucket or region is needed. */
  get isDenied(): boolean {
    return !this.isPassing && ([301, 307, 401, 403].includes(this.status) || deniedCodes.has(this.code));
  }
}

const deniedCodes = new Set([
  'AuthorizationHeaderMalformed',
  'ExpiredToken',
  'IllegalLocationConstraintException',
  'InvalidAccessKeyId',
  'InvalidToken',
  'NoSuchBucket',
  'PermanentRedirect',
]);

export function faultOf({ status, headers, body }: OutgoingAnswer): StoreFault {
  const xml = body.toString('utf8');
  const code = textOf(xml, 'Code') ?? '';
  const region = textOf(xml, 'Region') ?? headers['x-amz-bucket-region'];
  const words = [textOf(xml, 'Message') ?? '', typeof region === 'string' ? `(region ${region})` : '']
    .filter((part) => part !== '')
    .join(' ')
    .slice(0, LONGEST_WORDS);
  const seconds = /^\d{1,6}$/.exec(String(headers['retry-after'] ?? ''))?.[0];
  return new StoreFault(
    status,
    /^\w{1,64}$/.test(code) ? code : '',
    words,
    seconds === undefined ? undefined : Number(seconds) * 1_000,
  );
}
