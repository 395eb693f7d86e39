import { Injectable } from '@nestjs/common';
import { Database } from '../../platform';
import type { RecordScope } from '../record-scope';
import { SqlParameters } from '../sql-parameters';
import { type UsageChoices, usageChoices } from './usage-choices';
import { groupNames } from './usage-names';
import { checkUsageQuestion, cutsOf, type UsageBucket, type UsageQuestion } from './usage-question';
import { isAskedOfDays, isLabel, usageStatement } from './usage-sql';
import { lessSums, NO_SUMS, readSums, sumOf, type UsageSums } from './usage-sums';

export interface UsageGroup {
  /** `named` is one value of the group, `none` are requests without a value, and `others` is the cheaper rest. */
  readonly kind: 'named' | 'none' | 'others';
  /** The value that a filter takes: a name, or an id; null where there is none. */
  readonly value: string | null;
  /** The display name. */
  readonly label: string | null;
  /** A key has its id at `/v1/manage` here. */
  readonly publicId: string | null;
  readonly sums: UsageSums;
  /** Each bucket has one. */
  readonly buckets: readonly UsageSums[];
}

export interface UsageAnswer {
  /** The first instant of each bucket; each ends where the next begins, the last one at `to`. */
  readonly borders: readonly Date[];
  readonly total: UsageSums;
  /** Each bucket has one. */
  readonly buckets: readonly UsageSums[];
  /** The costliest first; empty without a grouping. A request with several tags counts under each. */
  readonly groups: readonly UsageGroup[];
}

interface CellNames {
  readonly bucket: number;
  readonly rank: number;
  readonly name: string | null;
}
type CellRow = CellNames & { readonly sums: string };
type Cell = CellNames & { readonly sums: UsageSums };

/** Buckets are in the zone's own time, so that a change of clocks moves no boundary. */
const BORDERS = `
  SELECT DISTINCT greatest(step AT TIME ZONE $4, $1::timestamptz) AS border
    FROM generate_series(date_trunc($3, $1::timestamptz AT TIME ZONE $4), $2::timestamptz AT TIME ZONE $4,
                         ('1 ' || $3)::interval) AS step
   WHERE step AT TIME ZONE $4 < $2::timestamptz ORDER BY 1`;

const USUAL_GROUPS = 50;
/** Buckets times groups. */
const MOST_CELLS = 20_000;

/** Sums usage over a period by bucket and group. Every page, file and interface reads it here. */
@Injectable()
export class UsageQuery {
  constructor(private readonly database: Database) {}

  async ask(scope: RecordScope, question: UsageQuestion): Promise<UsageAnswer> {
    checkUsageQuestion(question);
    const borders = await this.bordersOf(question);
    const room = Math.max(1, Math.floor(MOST_CELLS / borders.length));
    const mostGroups = question.groupBy ? Math.min(question.mostGroups ?? USUAL_GROUPS, room) : 0;
    const [cells, all] = await Promise.all([
      this.cells(scope, { ...question, mostGroups }, borders),
      // Labels do not partition requests: some requests have none, others several.
      isLabel(question.groupBy) ? this.cells(scope, { ...question, groupBy: null }, borders) : null,
    ]);
    const buckets = bucketsOf(all ?? cells, borders.length);
    const groups = question.groupBy ? groupsOf(cells, borders.length, mostGroups) : [];
    if (question.groupBy === 'end_user') groups.push(...withoutLabel(groups, buckets));
    const names = await groupNames(this.database, question.groupBy ?? null, groups);
    return {
      borders,
      total: sumOf(buckets),
      buckets,
      groups: groups.map((group) => {
        const found = names.get(group.value ?? '');
        return { ...group, label: found?.name ?? group.value, publicId: found?.publicId ?? null };
      }),
    };
  }

  /** The options of the filters in this scope and period. */
  choices(scope: RecordScope, period: Pick<UsageQuestion, 'from' | 'to'>): Promise<UsageChoices> {
    return usageChoices(this.database, scope, period);
  }

  private async bordersOf({ from, to, bucket, zone }: UsageQuestion): Promise<Date[]> {
    const rows = await this.database.query<{ border: Date }>(BORDERS, [
      from,
      to,
      bucket,
      zoneOf(bucket, zone),
    ]);
    return rows.map(({ border }) => border);
  }

  private async cells(
    scope: RecordScope,
    question: UsageQuestion,
    borders: readonly Date[],
  ): Promise<Cell[]> {
    const rows = await this.rows(scope, question, borders);
    return rows.map((row) => ({ ...row, sums: readSums(row.sums) }));
  }

  private async rows(
    scope: RecordScope,
    question: UsageQuestion,
    borders: readonly Date[],
  ): Promise<CellRow[]> {
    const cuts = cutsOf(borders, question.to, Date.now());
    const parameters = new SqlParameters();
    if (!isAskedOfDays(scope, question)) {
      const statement = usageStatement(scope, question, cuts, new Set(), parameters);
      return this.database.query<CellRow>(statement, parameters.values);
    }
    // One snapshot reads the list of summed days and their sums.
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

/** Hours are those of UTC. In zones with a half-hour offset, buckets therefore begin at half past. */
const zoneOf = (bucket: UsageBucket, zone: string): string => (bucket === 'hour' ? 'UTC' : zone);

function bucketsOf(cells: readonly Cell[], count: number): UsageSums[] {
  const byBucket = Map.groupBy(cells, ({ bucket }) => bucket);
  return Array.from({ length: count }, (_bucket, place) => sumOfCells(byBucket.get(place + 1)));
}

function sumOfCells(cells: readonly Cell[] = []): UsageSums {
  const [first = { sums: NO_SUMS }, ...others] = cells;
  return others.length === 0 ? first.sums : sumOf(cells.map(({ sums }) => sums));
}

function groupsOf(cells: readonly Cell[], count: number, most: number): UsageGroup[] {
  return [...Map.groupBy(cells, ({ rank }) => rank)].map(([rank, some]) => {
    const value = some[0]?.name ?? null;
    return {
      kind: rank > most ? 'others' : value === null ? 'none' : 'named',
      value,
      label: null,
      publicId: null,
      sums: sumOfCells(some),
      buckets: bucketsOf(some, count),
    };
  });
}

function withoutLabel(groups: readonly UsageGroup[], all: readonly UsageSums[]): UsageGroup[] {
  const buckets = all.map((sums, place) =>
    groups.reduce((left, group) => lessSums(left, group.buckets[place] ?? NO_SUMS), sums),
  );
  const sums = sumOf(buckets);
  return sums.requests === 0
    ? []
    : [{ kind: 'none', value: null, label: null, publicId: null, sums, buckets }];
}
