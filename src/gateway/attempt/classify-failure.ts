import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorCode, type Fault, fault } from '../../kernel';
import { type SupplierError, supplierFault } from '../../protocol';
import type { ResponseHead } from '../../routing';

/** A failed attempt: `failed` leads to failover, `refused` is the caller's mistake. */
export type FailedAttempt =
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly problem: Fault;
      readonly pauseMs: number;
    }
  | {
      readonly kind: 'refused';
      /** Null if the lane was not called. */
      readonly status: number | null;
      readonly problem: Fault;
    };

/**
 * Returns a caller's mistake with the supplier's wording. Everything else is a failure of the lane, above all a
 * rejected credential, which callers never see.
 */
export function classifyFailure(
  { status, headers }: ResponseHead,
  error: SupplierError,
  maxPauseMs: number,
): FailedAttempt {
  const seconds = retryAfterSeconds(headers, maxPauseMs);
  const pauseMs = (seconds ?? 0) * 1_000;
  const supplierProblem = supplierFault(error);
  switch (error.kind) {
    case 'context_length':
    case 'content_filter':
      return { kind: 'refused', status, problem: supplierProblem };
    case 'invalid':
      return {
        kind: 'refused',
        status,
        problem: status === 413 ? fault('request_too_large', supplierProblem.options) : supplierProblem,
      };
    case 'rate_limit': {
      const problem = fault('supplier_limit', {
        ...supplierProblem.options,
        retryAfterSeconds: seconds ?? 1,
      });
      return { kind: 'failed', status, problem, pauseMs };
    }
    case 'auth':
    case 'account':
    case 'overloaded':
    case 'not_found':
    case 'unknown':
      return { kind: 'failed', status, problem: supplierProblem, pauseMs };
  }
}

const refusalCodes: ReadonlySet<ErrorCode> = new Set([
  'context_length_exceeded',
  'request_rejected',
  'invalid_request',
]);

/** Returns true if the supplier rejects the request itself, not our account or its own state. */
export const isRefusal = ({ code }: Fault): boolean => refusalCodes.has(code);

export const classifyResponseFailure = (status: number, problem: Fault): FailedAttempt =>
  isRefusal(problem)
    ? { kind: 'refused', status, problem }
    : { kind: 'failed', status: null, problem, pauseMs: 0 };

export const isCredentialRefused = ({ problem }: Pick<FailedAttempt, 'problem'>): boolean =>
  problem.code === 'provider_unavailable';

/** Retry-After in seconds, capped to what the operator allows; null if absent. */
function retryAfterSeconds(headers: IncomingHttpHeaders, maxPauseMs: number): number | null {
  const milliseconds = Number(headers['retry-after-ms'] || NaN);
  const text = headers['retry-after'] ?? '';
  // A date is relative to the supplier's clock, which the Date header gives; this machine's clock can differ.
  const respondedAt = Date.parse(headers.date ?? '') || Date.now();
  const headerSeconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - respondedAt) / 1_000;
  const seconds = Number.isNaN(milliseconds) ? headerSeconds : milliseconds / 1_000;
  if (!Number.isFinite(seconds) || seconds <= 0) return null;
  return Math.min(Math.ceil(seconds), Math.max(1, Math.floor(maxPauseMs / 1_000)));
}
