import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorCode, type Fault, fault } from '../../kernel';
import { type SupplierError, supplierFault } from '../../protocol';
import type { AnswerHead } from '../../routing';

/** What a supplier's refusal means for the request: another lane's turn, or the caller's own fault. */
export type Judgement =
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly problem: Fault;
      /** How long the supplier asks to be left alone. */
      readonly pauseMs: number;
    }
  | {
      readonly kind: 'refused';
      /** Null when the lane could not even be asked. */
      readonly status: number | null;
      readonly problem: Fault;
    };

/**
 * The caller's mistakes go back to the caller with the supplier's wording; everything else is a failure of the
 * lane, doubts about our own credential above all: those are never shown as the caller's.
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

/** A failure in place of an answer that had begun with this status: the caller's mistakes stay the caller's. */
export const judgeBegun = (status: number, problem: Fault): Judgement =>
  refusals.has(problem.code)
    ? { kind: 'refused', status, problem }
    : { kind: 'failed', status: null, problem, pauseMs: 0 };

/** The supplier refuses our credential, by its status or by its words. */
export const isCredentialRefused = ({ problem }: Pick<Judgement, 'problem'>): boolean =>
  problem.code === 'provider_unavailable';

/** A supplier may ask for more than the operator allows, and nothing could end it. */
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
