import type { IncomingHttpHeaders } from 'node:http';
import { type Fault, fault } from '../../kernel';
import type { AnswerHead } from '../../routing';

/** What a supplier's answer means for the request: good, somebody else's turn, or the caller's own fault. */
export type Answer =
  | { readonly kind: 'good' }
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly problem: Fault;
      readonly pauseMs: number;
    }
  | { readonly kind: 'refused'; readonly status: number; readonly problem: Fault };

/**
 * Judges a refusal by its status. The caller's mistakes go back to the caller with the supplier's wording; doubts
 * about our own credential are a failure of the lane and never shown as the caller's.
 */
export function judge({ status, headers }: AnswerHead, body: Buffer): Exclude<Answer, { kind: 'good' }> {
  const wording = wordingOf(body);
  const details = wording === null ? {} : { details: { supplier: wording } };
  if (status === 429) {
    const seconds = retryAfterOf(headers);
    const problem = fault('supplier_limit', { ...details, retryAfterSeconds: seconds ?? 1 });
    return { kind: 'failed', status, problem, pauseMs: (seconds ?? 0) * 1_000 };
  }
  if (status === 400 || status === 409 || status === 413 || status === 415 || status === 422) {
    const code = status === 413 ? 'request_too_large' : 'request_rejected';
    return { kind: 'refused', status, problem: fault(code, { ...details, status }) };
  }
  const pauseMs = (retryAfterOf(headers) ?? 0) * 1_000;
  return { kind: 'failed', status, problem: fault('upstream_error', details), pauseMs };
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

const LONGEST_PAUSE_SECONDS = 3_600;

function retryAfterOf(headers: IncomingHttpHeaders): number | null {
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.ceil(seconds), LONGEST_PAUSE_SECONDS) : null;
}
