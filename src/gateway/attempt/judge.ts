import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorCode, type Fault, fault } from '../../kernel';
import { type SupplierError, supplierFault } from '../../protocol';
import type { AnswerHead } from '../../routing';

/** The meaning of a supplier's refusal: failover to another lane, or the caller's own fault. */
export type Judgement =
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly problem: Fault;
      /** The supplier asks to be left alone for so long (Retry-After). */
      readonly pauseMs: number;
    }
  | {
      readonly kind: 'refused';
      /** It is null when the lane was never asked. */
      readonly status: number | null;
      readonly problem: Fault;
    };

/**
 * A caller's mistake is returned with the supplier's wording. Everything else is a failure of the lane, above all a
 * rejected credential: callers never see that.
 */
export function judge(
  { status, headers }: AnswerHead,
  error: SupplierError,
  longestPauseMs: number,
): Judgement {
  const seconds = retryAfterOf(headers, longestPauseMs);
  const pauseMs = (seconds ?? 0) * 1_000;
  const told = supplierFault(error);
  switch (error.kind) {
    case 'context_length':
    case 'content_filter':
      return { kind: 'refused', status, problem: told };
    case 'invalid':
      return {
        kind: 'refused',
        status,
        problem: status === 413 ? fault('request_too_large', told.options) : told,
      };
    case 'rate_limit': {
      const problem = fault('supplier_limit', { ...told.options, retryAfterSeconds: seconds ?? 1 });
      return { kind: 'failed', status, problem, pauseMs };
    }
    case 'auth':
    case 'account':
    case 'overloaded':
    case 'not_found':
    case 'unknown':
      return { kind: 'failed', status, problem: told, pauseMs };
  }
}

const refusals: ReadonlySet<ErrorCode> = new Set([
  'context_length_exceeded',
  'request_rejected',
  'invalid_request',
]);

/** The supplier finds fault with the request, and not with itself or our account. */
export const isRefusal = ({ code }: Fault): boolean => refusals.has(code);

/** A failure inside an answer with this status: a caller's mistake stays the caller's. */
export const judgeBegun = (status: number, problem: Fault): Judgement =>
  isRefusal(problem)
    ? { kind: 'refused', status, problem }
    : { kind: 'failed', status: null, problem, pauseMs: 0 };

/** The supplier refuses our credential, by its status or by its words. */
export const isCredentialRefused = ({ problem }: Pick<Judgement, 'problem'>): boolean =>
  problem.code === 'provider_unavailable';

/** Retry-After is capped: a supplier may ask for more than the operator allows. */
function retryAfterOf(headers: IncomingHttpHeaders, longestPauseMs: number): number | null {
  const milliseconds = Number(headers['retry-after-ms'] || NaN);
  const text = headers['retry-after'] ?? '';
  // An instant is by the supplier's clock, and so is the date of its answer; this machine's may be another.
  const saidAt = Date.parse(headers.date ?? '') || Date.now();
  const named = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - saidAt) / 1_000;
  const seconds = Number.isNaN(milliseconds) ? named : milliseconds / 1_000;
  if (!Number.isFinite(seconds) || seconds <= 0) return null;
  return Math.min(Math.ceil(seconds), Math.max(1, Math.floor(longestPauseMs / 1_000)));
}
