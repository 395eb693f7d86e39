import type { IncomingHttpHeaders } from 'node:http';
import { type Fault, fault } from '../../kernel';

/**
 * What a supplier's refusal means to the caller. Its wording is kept; its doubts about our credential are ours to
 * settle and never shown as the caller's.
 */
export function faultOfSupplier(status: number, headers: IncomingHttpHeaders, body: Buffer): Fault {
  const wording = wordingOf(body);
  const details = wording === null ? {} : { details: { supplier: wording } };
  if (status === 429)
    return fault('supplier_limit', { ...details, retryAfterSeconds: retryAfterOf(headers) });
  if (status === 404) return fault('model_not_available', details);
  if (status === 413) return fault('request_too_large', details);
  if (status >= 400 && status < 500 && status !== 401 && status !== 403)
    return fault('request_rejected', details);
  return fault('upstream_error', details);
}

const WORDING_LENGTH = 2_000;

function wordingOf(body: Buffer): string | null {
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { error?: unknown };
    const message: unknown =
      typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : error;
    return typeof message === 'string' ? message.slice(0, WORDING_LENGTH) : null;
  } catch {
    return null;
  }
}

const LONGEST_WAIT_SECONDS = 3_600;

function retryAfterOf(headers: IncomingHttpHeaders): number {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.ceil(seconds), LONGEST_WAIT_SECONDS) : 1;
}
