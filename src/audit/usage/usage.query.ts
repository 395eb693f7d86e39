import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import type { RecordScope } from '../record-scope';
import { SqlParameters } from '../sql-parameters';
import { type UsageChoices, usageChoices } from './usage-choices';
import { groupNames } from './usage-names';
import { checkUsageRequest, boundariesOf, type UsageBucket, type UsageRequest } from './usage-request';
import { canUseDays, isLabel, usageStatement } from './usage-sql';
import { subtractSums, NO_SUMS, readSums, sumOf, type UsageSums } from './usage-sums';

export interface UsageGroup {
  /**
   * `named` is a single value of the group, `none` are requests without a value, and `others` is the less expensive
   * rest.
   */
  readonly kind: 'named' | 'none' | 'others';
  /** Value for a filter: a name or an id; null if there is none. */
  readonly value: string | null;
  readonly label: string | null;
  /** A key's id at `/v1/manage`. */
  readonly publicId: string | null;
  readonly sums: UsageSums;
  readonly buckets: readonly UsageSums[];
}

export interface UsageReport {
  /** Start of each bucket; each ends where the next starts, the last one at `to`. */
  readonly borders: readonly Date[];
  readonly total: UsageSums;
  readonly buckets: readonly UsageSums[];
  /** Most expensive first; empty without a grouping. A request with several tags counts under each. */
  readonly groups: readonly UsageGroup[];
}

interface CellNames {
  readonly bucket: number;
  readonly rank: number;
  readonly name: string | null;
}
type CellRow = CellNames & { readonly sums: string };
type Cell = CellNames & { readonly sums: UsageSums };

/** Buckets are in the zone's local time, so that a change of clocks moves no boundary. */
const BORDERS = `
  SELECT DISTINCT greatest(step AT TIME ZONE $4, $1::timestamptz) AS border
    FROM generate_series(date_trunc($3, $1::timestamptz AT TIME ZONE $4), $2::timestamptz AT TIME ZONE $4,
                         ('1 ' || $3)::interval) AS step
   WHERE step AT TIME ZONE $4 < $2::timestamptz ORDER BY 1`;

const DEFAULT_GROUPS = 50;
/** Maximum number of buckets times groups. */
const MAX_CELLS = 20_000;

@Injectable()
export class UsageQuery {
  constructor(private readonly database: Database) {}

  async read(scope: RecordScope, request: UsageRequest): Promise<UsageReport> {
    checkUsageRequest(request);
    const borders = await this.bordersOf(request);
    const maxByCells = Math.max(1, Math.floor(MAX_CELLS / borders.length));
    const maxGroups = request.groupBy ? Math.min(request.mostGroups ?? DEFAULT_GROUPS, maxByCells) : 0;
    const [cells, all] = await Promise.all([
      this.cells(scope, { ...request, mostGroups: maxGroups }, borders),
      // Labels do not partition requests: some requests have none, others several.
      isLabel(request.groupBy) ? this.cells(scope, { ...request, groupBy: null }, borders) : null,
    ]);
    const buckets = bucketsOf(all ?? cells, borders.length);
    const groups = request.groupBy ? groupsOf(cells, borders.length, maxGroups) : [];
    if (request.groupBy === 'end_user') groups.push(...unlabelledGroup(groups, buckets));
    const names = await groupNames(this.database, request.groupBy ?? null, groups);
    return {
      borders,
      total: sumOf(buckets),
      buckets,
      groups: groups.map((group) => {
        const name = names.get(group.value ?? '');
        return { ...group, label: name?.name ?? group.value, publicId: name?.publicId ?? null };
      }),
    };
  }

  choices(scope: RecordScope, period: Pick<UsageRequest, 'from' | 'to'>): Promise<UsageChoices> {
    return usageChoices(this.database, scope, period);
  }

  private async bordersOf({ from, to, bucket, zone }: UsageRequest): Promise<Date[]> {
    const rows = await this.database.query<{ border: Date }>(BORDERS, [
      from,
      to,
      bucket,
      zoneOf(bucket, zone),
    ]);
    return rows.map(({ border }) => border);
  }

  private async cells(scope: RecordScope, question: UsageRequest, borders: readonly Date[]): Promise<Cell[]> {
    const rows = await this.rows(scope, question, borders);
    return rows.map((row) => ({ ...row, sums: readSums(row.sums) }));
  }

  private async rows(
    scope: RecordScope,
    question: UsageRequest,
    borders: readonly Date[],
  ): Promise<CellRow[]> {
    const cuts = boundariesOf(borders, question.to, Date.now());
    const parameters = new SqlParameters();
    if (!canUseDays(scope, question)) {
      const statement = usageStatement(scope, question, cuts, new Set(), parameters);
      return this.database.query<CellRow>(statement, parameters.values);
    }
    // The list of summed days and their sums are read in one snapshot.
    return this.database.transaction(
      async (tx) => {
        const days = await tx.query<{ day: Date }[]>(MERGED, [cuts.borders[0], cuts.borders.at(-1)]);
        const merged = new Set(days.map(({ day }) => day.getTime()));
        const statement = usageStatement(scope, question, cuts, merged, parameters);
        return tx.query<CellRow[]>(statement, parameters.values);
      },
      { isolation: 'REPEATABLE READ', withoutActivity: 'reads alone' },
    );
  }
}

const MERGED = `SELECT day FROM usage_day_merged
  WHERE day >= date_trunc('day', $1::timestamptz, 'UTC') AND day < $2::timestamptz`;

/** Hours are those of UTC, so buckets start at half past in zones with a half-hour offset. */
const zoneOf = (bucket: UsageBucket, zone: string): string => (bucket === 'hour' ? 'UTC' : zone);

function bucketsOf(cells: readonly Cell[], count: number): UsageSums[] {
  const byBucket = Map.groupBy(cells, ({ bucket }) => bucket);
  return Array.from({ length: count }, (_bucket, index) => sumOfCells(byBucket.get(index + 1)));
}

function sumOfCells(cells: readonly Cell[] = []): UsageSums {
  const [first = { sums: NO_SUMS }, ...others] = cells;
  return others.length === 0 ? first.sums : sumOf(cells.map(({ sums }) => sums));
}

function groupsOf(cells: readonly Cell[], count: number, maxGroups: number): UsageGroup[] {
  return [...Map.groupBy(cells, ({ rank }) => rank)].map(([rank, groupCells]) => {
    const value = groupCells[0]?.name ?? null;
    return {
      kind: rank > maxGroups ? 'others' : value === null ? 'none' : 'named',
      value,
      label: null,
      publicId: null,
      sums: sumOfCells(groupCells),
      buckets: bucketsOf(groupCells, count),
    };
  });
}

function unlabelledGroup(groups: readonly UsageGroup[], all: readonly UsageSums[]): UsageGroup[] {
  const buckets = all.map((sums, index) =>
    groups.reduce((remaining, group) => subtractSums(remaining, group.buckets[index] ?? NO_SUMS), sums),
  );
  const sums = sumOf(buckets);
  return sums.requests === 0
    ? []
    : [{ kind: 'none', value: null, label: null, publicId: null, sums, buckets }];
}
