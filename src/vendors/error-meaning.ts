import { type ErrorMeaning, type ErrorWord, errorWords } from './error-words';

/** An error says this, as far as its supplier says it. */
interface ErrorEvidence {
  readonly code?: string | number | undefined;
  readonly type?: string | undefined;
  /** It is Anthropic's `details.error_code` or Google's `details[].reason`. */
  readonly reason?: string | undefined;
  /** It is absent inside a stream and under a status of success. */
  readonly status?: number | undefined;
  readonly message: string;
}

const rowsBy = (by: ErrorWord['by']): readonly ErrorWord[] => errorWords.filter((row) => row.by === by);
const mapBy = (by: ErrorWord['by']): ReadonlyMap<unknown, ErrorMeaning> =>
  new Map(rowsBy(by).map(({ match, means }) => [match, means]));

const codes = mapBy('code');
const reasons = mapBy('reason');
const statuses = mapBy('status');
const wordings = rowsBy('words').map(({ match, means }) => ({ pattern: match as RegExp, means }));

const LONGEST_READ = 2_000;
/** A vendor repeats a request in quotes or before a colon: no caller may spend our account by words. */
const REPEATING = /:\s|["'`]/;

/** An answer with this status may mean these beside what the status says. */
const open: Readonly<Record<number, readonly ErrorMeaning[]>> = {
  401: ['account'],
  402: ['auth'],
  403: ['account', 'content_filter'],
  404: ['context_length', 'content_filter'],
  408: [],
  429: ['account'],
};
const openToFailures: readonly ErrorMeaning[] = ['context_length', 'content_filter', 'rate_limit', 'account'];
/** A supplier that is busy does not answer 400, so its wording there is the caller's own text. */
const onlyOfFailures: ReadonlySet<ErrorMeaning> = new Set(['rate_limit', 'overloaded']);

/**
 * The meaning of an error: by its code, then its reason, then its status; its wording last, for vendors change that.
 * General codes such as `invalid_request_error` leave the decision to what follows.
 */
export function meaningOf(evidence: ErrorEvidence): ErrorMeaning {
  const { code, type, reason, status } = evidence;
  const named = codes.get(code === undefined ? code : String(code)) ?? codes.get(type);
  const reasoned = reasons.get(reason);
  const told = reasoned ?? (named === undefined || named === 'invalid' ? undefined : named);
  if (status === undefined || (status < 400 && status >= 200))
    return told ?? worded(evidence) ?? named ?? 'unknown';
  const byStatus = statuses.get(status) ?? (status >= 500 ? 'overloaded' : undefined);
  if (byStatus === undefined)
    return told ?? worded(evidence) ?? named ?? (status >= 400 ? 'invalid' : 'unknown');
  const allowed = open[status] ?? openToFailures;
  const found = [told, worded(evidence)].find((one) => one !== undefined && allowed.includes(one));
  return found ?? byStatus;
}

function worded({ message, status }: ErrorEvidence): ErrorMeaning | undefined {
  const text = message.slice(0, LONGEST_READ);
  const means = wordings.find(({ pattern }) => pattern.test(text))?.means;
  const isRefusal = status !== undefined && status >= 400 && status < 500;
  if (means === 'account' && REPEATING.test(text)) return undefined;
  return means !== undefined && isRefusal && onlyOfFailures.has(means) ? undefined : means;
}
