import { Resolver } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** The days for which a proof holds after the record was last seen. */
export const GRACE_DAYS = 7;

const LABEL = '_switchboard';
const PREFIX = 'switchboard-verification=';
const DEADLINE_MS = 5_000;
const TRY_MS = 1_500;
const LONGEST_FOUND = 200;

/** A look-up of the record has brought this; `found` is shown to administrators. */
export interface RecordFound {
  readonly result: 'seen' | 'other' | 'absent' | 'unanswered';
  readonly found: string | null;
}

/** A condition on rows of `reseller_domain`. */
export const isProven = (table: string): string =>
  `(${table}.proven_at IS NOT NULL AND coalesce(${table}.seen_at > now() - interval '${GRACE_DAYS} days', false))`;

/** It depends on the name alone: one record proves it for every port, each with its own value. */
export const recordNameOf = (host: string): string => `${LABEL}.${host.replace(/:\d+$/, '')}`;

export const recordValueOf = (proofValue: string): string => PREFIX + proofValue;

/** Asks the name servers, for five seconds at most. */
export async function findRecord(
  host: string,
  proofValue: string,
  servers: readonly string[],
): Promise<RecordFound> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  const answered = new AbortController();
  const late = delay(DEADLINE_MS, undefined, { signal: answered.signal, ref: false }).then(
    () => resolver.cancel(),
    () => undefined,
  );
  try {
    const records = await resolver.resolveTxt(recordNameOf(host));
    return judged(
      records.map((parts) => parts.join('').trim()),
      recordValueOf(proofValue),
    );
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    // The name or its TXT records do not exist: an answer too.
    if (code === 'ENOTFOUND' || code === 'ENODATA') return { result: 'absent', found: null };
    return { result: 'unanswered', found: code.slice(0, LONGEST_FOUND) };
  } finally {
    answered.abort();
    await late;
  }
}

function judged(records: readonly string[], wanted: string): RecordFound {
  if (records.includes(wanted)) return { result: 'seen', found: null };
  const other = records.find((record) => record.startsWith(PREFIX));
  return other === undefined
    ? { result: 'absent', found: null }
    : { result: 'other', found: other.slice(0, LONGEST_FOUND) };
}
