/** Query for discrepancies: `what`, `expected` and `found`. A row is fine if expected and found are equal. */
export interface MoneyCheckQuery {
  readonly name: string;
  readonly sql: string;
  /** `since` takes the seal, or a distant past, as `$1`. `full` is skipped when only new records are read. */
  readonly reads: 'since' | 'all' | 'full';
}

/** Filter for records after the seal; `$1` is the seal, or a distant past for a full check. */
export const sinceSeal = `$1::timestamptz`;

/** Maximum duration of a transaction: older ones were committed or never will be. */
export const maxTransactionDuration = `interval '10 minutes'`;

/** Hour from which all records are kept: older ones were dropped by month. */
export const keptRecords = `
  SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'`;

/** Scopes whose spending is named in records; wallets are covered by the ledger. */
export const scopes = [
  'key',
  'project',
  'department',
  'user',
  'organisation',
  'key_model',
  'user_budget',
] as const;

export const columnOf = (scope: (typeof scopes)[number]): string =>
  scope === 'user_budget' ? 'user_id' : `${scope}_id`;

/** Distinct columns: both budgets of a user are counted by the same column. */
export const ownerColumns = [...new Set(scopes.map(columnOf))];

interface GroupSources {
  /** SELECT that returns the identity columns, then the sums. */
  readonly expected: string;
  readonly found: string;
}

/**
 * Returns the groups that differ between two sources, with the sums that differ; a missing group counts as zeros. Each
 * source is read once, and null is an ordinary value.
 */
export function differingGroups(
  { expected, found }: GroupSources,
  identity: readonly string[],
  sums: readonly string[],
): string {
  const columns = [...identity, ...sums].join(', ');
  const sumOf = (sum: string, source: string): string =>
    `coalesce(sum(${sum}) FILTER (WHERE side = '${source}'), 0)`;
  const differs = (sum: string): string => `${sumOf(sum, 'expected')} <> ${sumOf(sum, 'found')}`;
  const describeSide = (source: string): string =>
    `concat_ws(', ', ${sums
      .map((sum) => `CASE WHEN ${differs(sum)} THEN ${sumOf(sum, source)} || ' ${labelOf(sum)}' END`)
      .join(', ')})`;
  return `
    SELECT ${describeIdentity(identity)} AS what, ${describeSide('expected')} AS expected, ${describeSide('found')} AS found
      FROM (SELECT 'expected' AS side, ${columns} FROM (${expected}) AS one (${columns})
            UNION ALL SELECT 'found', ${columns} FROM (${found}) AS other (${columns})) AS sides
     GROUP BY ${identity.join(', ')} HAVING ${sums.map(differs).join(' OR ')}`;
}

/** Names every column that is not null, so that the row can be found. */
const describeIdentity = (identity: readonly string[]): string =>
  `concat_ws(', ', ${identity.map((column) => `'${labelOf(column)} ' || ${column}`).join(', ')})`;

const labelOf = (column: string): string =>
  column
    .replace(/_nano$/, ' in nano-dollars')
    .replace(/_id$/, '')
    .replaceAll('_', ' ');
