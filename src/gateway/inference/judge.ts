import type { IncomingHttpHeaders } from 'node:http';
import { type Fault, fault } from '../../kernel';
import { type Dialect, type SupplierError, supplierFault } from '../../protocol';
import type { AnswerHead } from '../../routing';

/** What a supplier's refusal means for the request: somebody else's turn, or the caller's own fault. */
export type Judgement =
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly problem: Fault;
      /** How long the supplier asks to be left alone. */
      readonly pauseMs: number;
    }
  | { readonly kind: 'refused'; readonly status: number; readonly problem: Fault };

/** Statuses that say something about the request; every other one says something about the supplier. */
const callersOwn = new Set([400, 409, 413, 415, 422]);

/**
 * Judges a refusal. The caller's mistakes go back to the caller with the supplier's wording; doubts about our own
 * credential are a failure of the lane and never shown as the caller's.
 */
export function judge({ status, headers }: AnswerHead, body: Buffer, dialect: Dialect): Judgement {
  const error = readError(body, dialect);
  const told = error === undefined ? undefined : supplierFault(error);
  const seconds = retryAfterOf(headers);
  if (status === 429) {
    const problem = fault('supplier_limit', { ...told?.options, retryAfterSeconds: seconds ?? 1 });
    return { kind: 'failed', status, problem, pauseMs: (seconds ?? 0) * 1_000 };
  }
  if (callersOwn.has(status) && error?.kind !== 'overloaded' && error?.kind !== 'auth') {
    return { kind: 'refused', status, problem: refusalOf(status, told) };
  }
  const problem = told ?? fault(status === 401 || status === 403 ? 'provider_unavailable' : 'upstream_error');
  return { kind: 'failed', status, problem, pauseMs: (seconds ?? 0) * 1_000 };
}

function refusalOf(status: number, told: Fault | undefined): Fault {
  if (status === 413) return fault('request_too_large', told?.options);
  if (told !== undefined && told.status < 500) return told;
  return fault('request_rejected', { ...told?.options, status: 400 });
}

function readError(body: Buffer, dialect: Dialect): SupplierError | undefined {
  try {
    return dialect.readError(JSON.parse(body.toString('utf8')));
  } catch {
    return undefined;
  }
}

const LONGEST_PAUSE_SECONDS = 3_600;

function retryAfterOf(headers: IncomingHttpHeaders): number | null {
  const text = headers['retry-after'];
  if (text === undefined) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(Math.ceil(seconds), LONGEST_PAUSE_SECONDS) : null;
}
