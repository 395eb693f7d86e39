import type { OutgoingResponse } from '../outgoing';
import { textOf } from './store-xml';

const MAX_DETAIL_LENGTH = 300;

// Amazon S3 API Reference, "Error responses" and "Error best practices": these errors are transient.
const transientStatuses = new Set([408, 429, 500, 502, 503, 504]);
const transientCodes = new Set([
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

export class StoreFault extends Error {
  /** True if an earlier attempt of the same request might have been carried out without a response. */
  mightBeDone = false;

  constructor(
    readonly status: number,
    /** Such as `NoSuchKey`; empty if the response was not the store's own. */
    readonly code: string,
    detail: string,
    readonly retryAfterMs?: number,
  ) {
    super(
      `the store answered ${status}${code === '' ? '' : ` ${code}`}${detail === '' ? '' : `: ${detail}`}`,
    );
    this.name = 'StoreFault';
  }

  get isTransient(): boolean {
    return transientStatuses.has(this.status) || transientCodes.has(this.code);
  }

  /** True if access is denied: another key, bucket or region is needed. */
  get isDenied(): boolean {
    return !this.isTransient && ([301, 307, 401, 403].includes(this.status) || deniedCodes.has(this.code));
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

export function faultOf({ status, headers, body }: OutgoingResponse): StoreFault {
  const xml = body.toString('utf8');
  const code = textOf(xml, 'Code') ?? '';
  const region = textOf(xml, 'Region') ?? headers['x-amz-bucket-region'];
  const detail = [textOf(xml, 'Message') ?? '', typeof region === 'string' ? `(region ${region})` : '']
    .filter((part) => part !== '')
    .join(' ')
    .slice(0, MAX_DETAIL_LENGTH);
  const seconds = /^\d{1,6}$/.exec(String(headers['retry-after'] ?? ''))?.[0];
  return new StoreFault(
    status,
    /^\w{1,64}$/.test(code) ? code : '',
    detail,
    seconds === undefined ? undefined : Number(seconds) * 1_000,
  );
}
