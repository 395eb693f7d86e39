import { catalogue, type ErrorCode } from '#product/kernel';
import type { Draft } from './draft';
import type { Outcome, WireAnswer } from './wire';

/** These codes have more than one status: over the limit of the path or of headers, out of room rather than of money. */
const otherStatuses: Readonly<Record<string, readonly number[]>> = {
  request_too_large: [414, 431],
  capacity_exceeded: [503],
  request_rejected: [400],
};
const aboutFields: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_input',
  'missing_model',
  'validation_error',
  'unsupported_parameter',
]);
/** Codes that show an omission: each case behind them has a code of its own. */
const unmapped: ReadonlySet<string> = new Set(['internal_error', 'server_error', 'exception']);
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface Verdict {
  /** The code of the error, or the status of what is none. */
  readonly label: string;
  readonly wrong: string | null;
}

export function judge(draft: Draft, outcome: Outcome): Verdict {
  if (outcome.kind === 'refused') return { label: 'refused', wrong: 'nobody listens' };
  if (outcome.kind === 'silent') return { label: 'silent', wrong: 'neither answered nor hung up' };
  if (outcome.kind === 'closed')
    return { label: 'closed', wrong: draft.broken ? null : 'hung up without an answer' };
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

interface Fields {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly human_message?: unknown;
  readonly request_id?: unknown;
  readonly param?: unknown;
  readonly retryable?: unknown;
  readonly details?: { readonly supplier?: unknown };
}

function judgeError(draft: Draft, { status, headers, body }: WireAnswer): Verdict {
  const fields = fieldsOf(body);
  if (fields === null) return { label: String(status), wrong: `not an error of ours: ${body.slice(0, 200)}` };
  const code = String(fields.code);
  const wrong = (why: string): Verdict => ({ label: code, wrong: `${why}: ${status} ${body.slice(0, 300)}` });
  // A supplier's own code is sent for a mistake in the request.
  const entry = catalogue.get(isSuppliersOwn(fields, code) ? 'invalid_request' : (code as ErrorCode));
  if (entry === undefined) return wrong('a code that is not in the catalogue');
  if (unmapped.has(code)) return wrong('unmapped');
  if (status !== entry.status && otherStatuses[code]?.includes(status) !== true && !isPortal422(status, code))
    return wrong(`a status that is not the code's`);
  if (fields.request_id !== headers['x-request-id']) return wrong('another request id in the body');
  if (fields.message !== `${code} - ${String(fields.human_message)}` && !isMessagesWording(fields))
    return wrong('a message of another form');
  const wait = headers['retry-after'];
  if (fields.retryable === false && wait !== undefined)
    return wrong('Retry-After of what no repetition mends');
  const isPassing = (status === 429 || status === 503) && fields.retryable !== false;
  if (isPassing && !/^[1-9]\d*$/.test(wait ?? '')) return wrong('no Retry-After');
  if (lacksParam(draft, status, fields)) return wrong(`no param, though ${draft.field} was at fault`);
  return { label: code, wrong: null };
}

function isSuppliersOwn({ details }: Fields, code: string): boolean {
  const supplier = details?.supplier;
  return typeof supplier === 'object' && supplier !== null && Reflect.get(supplier, 'code') === code;
}

/** The three shapes: `error` around the fields, or the fields themselves as the portal has them. */
function fieldsOf(body: string): Fields | null {
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

/** Clients of the messages dialect read a supplier's words in the message. */
const isMessagesWording = (fields: Fields): boolean =>
  typeof fields.message === 'string' && fields.message.startsWith(`${String(fields.code)} - `);

/** Our own refusals name the field; a supplier's refusal may not say. */
function lacksParam(draft: Draft, status: number, fields: Fields): boolean {
  if (status !== 400 || draft.field === null || !aboutFields.has(String(fields.code))) return false;
  return fields.details?.supplier === undefined && typeof fields.param !== 'string';
}
