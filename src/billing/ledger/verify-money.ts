import type { Database, Tx } from '../../platform';
import { paymentChecks } from '../processor/payment-checks';
import { promotionChecks } from '../promotions/promotion-checks';
import { agreementChecks } from './checks/agreements';
import { invoiceChecks } from './checks/invoice-checks';
import { accountSums, ledgerChecks } from './checks/ledger-checks';
import { limitChecks, recordedSince } from './checks/limit-checks';
import { keptRecords, maxTransactionDuration, type MoneyCheckQuery } from './checks/money-check';
import { usageChecks } from './checks/usage-checks';

export interface Discrepancy {
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

export interface MoneyCheck {
  readonly name: string;
  readonly wrong: readonly Discrepancy[];
}

export interface MoneyReport {
  readonly addsUp: boolean;
  readonly checks: readonly MoneyCheck[];
}

const MAX_DISCREPANCIES = 100;

/** `full` reads everything; otherwise the records since the seal, and sums of older ones. */
export interface VerifyMoneyOptions {
  readonly full?: boolean;
}

/** Verifies the equalities that hold at any moment, also under traffic, if nothing was lost or counted twice. */
export async function verifyMoney(
  database: Database,
  { full = true }: VerifyMoneyOptions = {},
): Promise<MoneyReport> {
  return database.transaction(async (tx) => allChecks(tx, full ? null : await findSeal(tx)), {
    isolation: 'REPEATABLE READ',
  });
}

/** Key of an advisory lock, an arbitrary constant. */
const verificationLock = 5_719_026;

/**
 * Verifies the money and seals verified records, which are not read again. Returns null if another node is verifying.
 */
export async function verifyMoneyExclusively(
  database: Database,
  { full = false }: VerifyMoneyOptions = {},
): Promise<MoneyReport | null> {
  return database.transaction(
    async (tx) => {
      const [lock] = await tx.query<{ free: boolean }[]>('SELECT pg_try_advisory_xact_lock($1) AS free', [
        verificationLock,
      ]);
      if (lock?.free !== true) return null;
      const since = full ? null : await findSeal(tx);
      const report = await allChecks(tx, since);
      if (report.addsUp) await seal(tx, since);
      return report;
    },
    { isolation: 'REPEATABLE READ' },
  );
}

/** Returns null if dropped records were settled after the seal, or shortly before it; everything is then read. */
async function findSeal(tx: Tx): Promise<string | null> {
  const [row] = await tx.query<{ sealed_to: string }[]>(
    `WITH kept AS (${keptRecords})
     SELECT sealed_to::text FROM money_seal, kept
      WHERE sealed_to >= kept.since + interval '3 days' OR kept.since <= (SELECT min(hour) FROM usage_hour)`,
  );
  return row?.sealed_to ?? null;
}

/** Seals all verified records, except those that running transactions can still change. */
async function seal(tx: Tx, since: string | null): Promise<void> {
  const [row] = await tx.query<{ until: string }[]>(
    `SELECT (transaction_timestamp() - ${maxTransactionDuration})::text AS until`,
  );
  const from = since ?? '-infinity';
  await tx.query(
    `INSERT INTO money_seal_account AS sealed (account_id, balance, spent)
     ${accountSums('t.created_at >= $1::timestamptz AND t.created_at < $2::timestamptz')}
     ON CONFLICT (account_id) DO UPDATE SET
       balance = CASE WHEN isfinite($1::timestamptz) THEN sealed.balance ELSE 0 END + excluded.balance,
       spent = CASE WHEN isfinite($1::timestamptz) THEN sealed.spent ELSE 0 END + excluded.spent`,
    [from, row?.until],
  );
  // Every window was found to be the sum of its records, so the seal is the sum minus the unsealed records.
  await tx.query(
    `WITH fresh AS MATERIALIZED (${recordedSince('$1::timestamptz')})
     INSERT INTO money_seal_window (window_id, starts_at, spent)
     SELECT w.id, w.starts_at, w.spent - coalesce((SELECT sum(f.spent) FROM fresh f
              WHERE f.kind = w.kind AND f.owner_id = w.owner_id AND f.hour >= w.starts_at AND f.hour < w.ends_at), 0)
       FROM spending_window w WHERE w.kind <> 'wallet'
     ON CONFLICT (window_id) DO UPDATE SET starts_at = excluded.starts_at, spent = excluded.spent`,
    [row?.until],
  );
  await tx.query(
    `INSERT INTO money_seal (sealed_to) VALUES ($1)
     ON CONFLICT (only_one) DO UPDATE SET sealed_to = greatest(money_seal.sealed_to, excluded.sealed_to)`,
    [row?.until],
  );
}

const moneyChecks = [
  ...limitChecks,
  ...usageChecks,
  ...ledgerChecks,
  ...invoiceChecks,
  ...paymentChecks,
  ...promotionChecks,
  ...agreementChecks,
];

async function allChecks(tx: Tx, since: string | null): Promise<MoneyReport> {
  const results: MoneyCheck[] = [];
  // Disables JIT: compiling these statements takes longer than running them.
  await tx.query('SET LOCAL jit = off');
  for (const check of moneyChecks) {
    if (since === null || check.reads !== 'full') results.push(await runCheck(tx, check, since));
  }
  return { addsUp: results.every(({ wrong }) => wrong.length === 0), checks: results };
}

async function runCheck(
  tx: Tx,
  { name, sql, reads }: MoneyCheckQuery,
  since: string | null,
): Promise<MoneyCheck> {
  const wrong = await tx.query<Discrepancy[]>(
    `SELECT what, expected, found FROM (${sql}) AS result WHERE expected <> found LIMIT ${MAX_DISCREPANCIES}`,
    reads === 'since' ? [since ?? '-infinity'] : [],
  );
  return { name, wrong };
}
