/** A query for what disagrees: what it is, what is expected and what is found. A row in which these are equal is fine. */
export interface MoneyCheckQuery {
  readonly name: string;
  readonly sql: string;
  /** `since`: takes the seal as `$1`, or a distant past. `full`: is left out where only news are read. */
  readonly reads: 'since' | 'all' | 'full';
}

/** The check of records after the seal; `$1` is the seal, or a distant past for a full check. */
export const sinceSeal = `$1::timestamptz`;

/** No transaction takes longer than this, so older ones were committed or never will be. */
export const longestTransaction = `interval '10 minutes'`;

/** The hour from which on all records are kept: older ones were dropped with their months. */
export const keptRecords = `
  SELECT coalesce(min(to_date(right(c.relname, 6), 'YYYYMM')), '-infinity')::timestamptz AS since
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'`;

/** The kinds of limits whose spending records name; a wallet's is in its ledger. */
export const scopes = [
  'key',
  'project',
  'department',
  'user',
  'organisation',
  'key_model',
  'user_budget',
] as const;

/** The column of records and hours that names the owner of a limit. */
export const columnOf = (scope: (typeof scopes)[number]): string =>
  scope === 'user_budget' ? 'user_id' : `${scope}_id`;

/** Each once: the two budgets of a person are counted by the same column. */
export const ownerColumns = [...new Set(scopes.map(columnOf))];

interface Sides {
  /** Answers the columns of the identity, then the sums. */
  readonly expected: string;
  readonly found: string;
}

/**
 * The groups of two sources that differ, with the sums that do: a group that one of them lacks counts as zeros there.
 * Each is read once, so the cost grows with their rows alone, and null is a value like any other.
 */
export function differingGroups(
  { expected, found }: Sides,
  identity: readonly string[],
  sums: readonly string[],
): string {
  const columns = [...identity, ...sums].join(', ');
  const sumOf = (sum: string, side: string): string =>
    `coalesce(sum(${sum}) FILTER (WHERE side = '${side}'), 0)`;
  const differs = (sum: string): string => `${sumOf(sum, 'expected')} <> ${sumOf(sum, 'found')}`;
  const told = (side: string): string =>
    `concat_ws(', ', ${sums
      .map((sum) => `CASE WHEN ${differs(sum)} THEN ${sumOf(sum, side)} || ' ${wordsOf(sum)}' END`)
      .join(', ')})`;
  return `
    SELECT ${named(identity)} AS what, ${told('expected')} AS expected, ${told('found')} AS found
      FROM (SELECT 'expected' AS side, ${columns} FROM (${expected}) AS one (${columns})
            UNION ALL SELECT 'found', ${columns} FROM (${found}) AS other (${columns})) AS sides
     GROUP BY ${identity.join(', ')} HAVING ${sums.map(differs).join(' OR ')}`;
}

/** Names every column that is not empty, so that the line finds its rows. */
const named = (identity: readonly string[]): string =>
  `concat_ws(', ', ${identity.map((column) => `'${wordsOf(column)} ' || ${column}`).join(', ')})`;

const wordsOf = (column: string): string =>
  column
    .replace(/_nano$/, ' in nano-dollars')
    .replace(/_id$/, '')
    .replaceAll('_', ' ');
