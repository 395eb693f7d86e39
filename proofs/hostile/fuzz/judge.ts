import { catalogue, type ErrorCode } from '#product/kernel';
import type { Draft } from './draft';
import type { WireOutcome, WireAnswer } from './wire';

/** Codes with more than one status: limits of the path or headers, and lack of capacity rather than of money. */
const otherStatuses: Readonly<Record<string, readonly number[]>> = {
  request_too_large: [414, 431],
  capacity_exceeded: [503],
  request_rejected: [400],
};
const fieldErrorCodes: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_input',
  'missing_model',
  'validation_error',
  'unsupported_parameter',
]);
/** Codes that reveal a gap: each case behind them should have a specific code. */
const unmappedCodes: ReadonlySet<string> = new Set(['internal_error', 'server_error', 'exception']);
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface FuzzVerdict {
  /** Error code, or the status of a response that is not an error. */
  readonly label: string;
  readonly wrong: string | null;
}

export function judge(draft: Draft, outcome: WireOutcome): FuzzVerdict {
  if (outcome.kind === 'refused') return { label: 'refused', wrong: 'nobody listens' };
  if (outcome.kind === 'silent') return { label: 'silent', wrong: 'neither answered nor hung up' };
  if (outcome.kind === 'closed')
    return { label: 'closed', wrong: draft.isIncomplete ? null : 'hung up without an answer' };
  const { answer } = outcome;
  if (!uuid.test(answer.headers['x-request-id'] ?? ''))
    return { label: String(answer.status), wrong: 'no request id' };
  if (answer.status < 400 || draft.method === 'HEAD') {
    return { label: String(answer.status), wrong: answer.status >= 500 ? `${answer.status} to HEAD` : null };
  }
  if (answer.headers['content-type']?.startsWith('text/html') === true) {
    return { label: `page ${answer.status}`, wrong: answer.status >= 500 ? 'a page of ours failed' : null };
  }
  return judgeError(draft, answer);
}

interface WireErrorFields {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly human_message?: unknown;
  readonly request_id?: unknown;
  readonly param?: unknown;
  readonly retryable?: unknown;
  readonly details?: { readonly supplier?: unknown };
}

function judgeError(draft: Draft, { status, headers, body }: WireAnswer): FuzzVerdict {
  const fields = readErrorFields(body);
  if (fields === null) return { label: String(status), wrong: `not an error of ours: ${body.slice(0, 200)}` };
  const code = String(fields.code);
  const wrong = (why: string): FuzzVerdict => ({
    label: code,
    wrong: `${why}: ${status} ${body.slice(0, 300)}`,
  });
  // A supplier's own code may be passed on for a mistake in the request.
  const entry = catalogue.get(isSuppliersOwn(fields, code) ? 'invalid_request' : (code as ErrorCode));
  if (entry === undefined) return wrong('a code that is not in the catalogue');
  if (unmappedCodes.has(code)) return wrong('unmapped');
  if (status !== entry.status && otherStatuses[code]?.includes(status) !== true && !isPortal422(status, code))
    return wrong(`a status that is not the code's`);
  if (fields.request_id !== headers['x-request-id']) return wrong('another request id in the body');
  if (fields.message !== `${code} - ${String(fields.human_message)}` && !hasMessagesWording(fields))
    return wrong('a message of another form');
  const wait = headers['retry-after'];
  if (fields.retryable === false && wait !== undefined)
    return wrong('Retry-After of what no repetition mends');
  const isTransient = (status === 429 || status === 503) && fields.retryable !== false;
  if (isTransient && !/^[1-9]\d*$/.test(wait ?? '')) return wrong('no Retry-After');
  if (lacksParam(draft, status, fields)) return wrong(`no param, though ${draft.field} was at fault`);
  return { label: code, wrong: null };
}

function isSuppliersOwn({ details }: WireErrorFields, code: string): boolean {
  const supplier = details?.supplier;
  return typeof supplier === 'object' && supplier !== null && Reflect.get(supplier, 'code') === code;
}

/** Reads the three error shapes: `error` around the fields, or the bare fields of the portal. */
function readErrorFields(body: string): WireErrorFields | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const error: unknown = Reflect.get(value, 'error');
  return typeof error === 'object' && error !== null ? error : value;
}

const isPortal422 = (status: number, code: string): boolean => status === 422 && code === 'validation_error';

/** In the Messages dialect, clients read the supplier's text in the message. */
const hasMessagesWording = (fields: WireErrorFields): boolean =>
  typeof fields.message === 'string' && fields.message.startsWith(`${String(fields.code)} - `);

/** Our own refusals name the field; a supplier's refusal may not. */
function lacksParam(draft: Draft, status: number, fields: WireErrorFields): boolean {
  if (status !== 400 || draft.field === null || !fieldErrorCodes.has(String(fields.code))) return false;
  return fields.details?.supplier === undefined && typeof fields.param !== 'string';
}
