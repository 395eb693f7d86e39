import { type ErrorMeaning, type ErrorSign, errorSigns } from './error-signs';

/** The parts of an error that its supplier provides. */
interface ErrorEvidence {
  readonly code?: string | number | undefined;
  readonly type?: string | undefined;
  /** Anthropic's `details.error_code` or Google's `details[].reason`. */
  readonly reason?: string | undefined;
  /** Undefined inside a stream and with a successful status. */
  readonly status?: number | undefined;
  readonly message: string;
}

const signsBy = (by: ErrorSign['by']): readonly ErrorSign[] => errorSigns.filter((row) => row.by === by);
const mapBy = (by: ErrorSign['by']): ReadonlyMap<unknown, ErrorMeaning> =>
  new Map(signsBy(by).map(({ match, means }) => [match, means]));

const codes = mapBy('code');
const reasons = mapBy('reason');
const statuses = mapBy('status');
const textSigns = signsBy('words').map(({ match, means }) => ({ pattern: match as RegExp, means }));

const MAX_TEXT_LENGTH = 2_000;
/** Matches messages that quote a request, so that a caller's text cannot mark the operator's account as spent. */
const QUOTED_REQUEST = /:\s|["'`]/;

const allowedByStatus: Readonly<Record<number, readonly ErrorMeaning[]>> = {
  401: ['account'],
  402: ['auth'],
  403: ['account', 'content_filter'],
  404: ['context_length', 'content_filter'],
  408: [],
  429: ['account'],
};
const allowedByDefault: readonly ErrorMeaning[] = [
  'context_length',
  'content_filter',
  'rate_limit',
  'account',
];
/** A busy supplier does not respond with 400, so such a message there is the caller's own text. */
const failureOnly: ReadonlySet<ErrorMeaning> = new Set(['rate_limit', 'overloaded']);

/**
 * Classifies an error by its code, then its reason, then its status, and last by its message, which vendors change most
 * often. General codes such as `invalid_request_error` leave the decision to the following steps.
 */
export function meaningOf(evidence: ErrorEvidence): ErrorMeaning {
  const { code, type, reason, status } = evidence;
  const byCode = codes.get(code === undefined ? code : String(code)) ?? codes.get(type);
  const byReason = reasons.get(reason);
  const specific = byReason ?? (byCode === undefined || byCode === 'invalid' ? undefined : byCode);
  if (status === undefined || (status < 400 && status >= 200))
    return specific ?? meaningOfText(evidence) ?? byCode ?? 'unknown';
  const byStatus = statuses.get(status) ?? (status >= 500 ? 'overloaded' : undefined);
  if (byStatus === undefined)
    return specific ?? meaningOfText(evidence) ?? byCode ?? (status >= 400 ? 'invalid' : 'unknown');
  const allowed = allowedByStatus[status] ?? allowedByDefault;
  const match = [specific, meaningOfText(evidence)].find((one) => one !== undefined && allowed.includes(one));
  return match ?? byStatus;
}

function meaningOfText({ message, status }: ErrorEvidence): ErrorMeaning | undefined {
  const text = message.slice(0, MAX_TEXT_LENGTH);
  const means = textSigns.find(({ pattern }) => pattern.test(text))?.means;
  const isRefusal = status !== undefined && status >= 400 && status < 500;
  if (means === 'account' && QUOTED_REQUEST.test(text)) return undefined;
  return means !== undefined && isRefusal && failureOnly.has(means) ? undefined : means;
}
