import { Injectable } from '@nestjs/common';
import { DAY_MS, type Scope } from '../../kernel';
import { Database, everyRow, Keyset, type Page, type PageRequest, type Row } from '../../platform';
import type { Span } from '../span';
import { SqlParameters } from '../sql-parameters';
import type { LoggedAction, ObjectType } from './action-names';
import type { ActivityActor } from './activity';
import type { Changes } from './changes';
import { KEY_IDS, type ObjectIds, withObjectIds } from './object-ids';
import { searchSpans } from './search-spans';

export interface ActivityEntry {
  readonly id: string;
  readonly occurredAt: Date;
  readonly action: LoggedAction;
  readonly actor: {
    readonly kind: ActivityActor['kind'];
    readonly userId: number | null;
    readonly keyId: string | null;
    readonly role: string | null;
    readonly organisationId: number | null;
    readonly label: string;
  };
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly object: {
    readonly type: ObjectType;
    /** A key has its number here, whichever of its ids the entry was sealed with. */
    readonly id: string | null;
    readonly label: string | null;
    /** A key has its id at `/v1/manage` here. */
    readonly keyPublicId: string | null;
  };
  readonly changes: Changes | null;
  readonly reason: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface ActivityFilter extends PageRequest {
  readonly from?: Date | null;
  /** It is exclusive. */
  readonly to?: Date | null;
  readonly action?: LoggedAction | null;
  readonly actorUserId?: number | null;
  /** It is any part of the actor's label. */
  readonly actorText?: string | null;
  readonly object?: { readonly type: ObjectType; readonly id?: string | null } | null;
  /** It is the object's id, or any part of its label. */
  readonly objectText?: string | null;
  /** It is any part of the actor's or the object's label. */
  readonly text?: string | null;
}

type Unpaged = Omit<ActivityFilter, keyof PageRequest> & ObjectIds;

type EntryRow = Row<'activity'> & {
  readonly action: LoggedAction;
  readonly actorKind: ActivityActor['kind'];
  readonly objectType: ObjectType;
  readonly keyNumber: string | null;
  readonly keyPublicId: string | null;
  readonly changes: Changes | null;
  readonly host: string | null;
};

export interface ActivityPage extends Page<ActivityEntry> {
  /** The position where the search ran out of time before the page was full; it continues with `next` or `previous`. */
  readonly searchedTo: Date | null;
}

export interface ActivityDays {
  readonly days: readonly ActivityDay[];
  /** Counting ran out of time at this position. */
  readonly countedTo: Date | null;
}

interface ActivityDay {
  /** It is a day in the zone asked for, as YYYY-MM-DD. */
  readonly day: string;
  readonly count: number;
}

const ROWS_AT_ONCE = 1_000;
const newestFirst = new Keyset(
  [
    { sql: 'occurred_at', kind: 'instant' },
    { sql: 'id', kind: 'integer' },
  ],
  'descending',
);

const MOST_BY_WORDS = 1_000;
const CANCELLED = '57014';

/** The source of a page: all entries of the filter, entries by number, or those of a span of time. */
interface Within {
  readonly ids?: readonly string[];
  readonly span?: Span;
}

/**
 * Reads the activity log, newest first. A filter that one index covers is read along it. Others use the index of
 * words, else they search one span of time after another.
 */
@Injectable()
export class ActivityQuery {
  /** The time limit of a page's search in milliseconds, first in the index of words, then from span to span. */
  protected readonly wordsMs: number = 25;
  protected readonly searchMs: number = 40;

  constructor(private readonly database: Database) {}

  async page(scope: Scope, asked: ActivityFilter): Promise<ActivityPage> {
    const filter = await withObjectIds(this.database, asked);
    const ids = isIndexed(scope, filter) ? undefined : await this.idsByWords(scope, filter);
    if (ids === null) return this.search(scope, filter);
    return { ...pageOf(await this.read(scope, filter, { ids }), filter), searchedTo: null };
  }

  /** The same entries over as many pages as needed. */
  all(scope: Scope, filter: ActivityFilter): AsyncGenerator<ActivityEntry> {
    return everyRow(filter.limit, ROWS_AT_ONCE, (page) => this.page(scope, { ...filter, ...page }));
  }

  /**
   * The number of entries by day of the zone, as far back as the time limit allows; days without entries are left
   * out.
   */
  async days(scope: Scope, asked: Unpaged, timeZone: string): Promise<ActivityDays> {
    const filter = await withObjectIds(this.database, asked);
    const ids = await this.idsByWords(scope, filter);
    if (ids !== null)
      return { days: await this.countWithin({ ids }, scope, filter, timeZone), countedTo: null };
    const counts = new Map<string, number>();
    const spans = searchSpans(await this.periodOf(filter), true, this.searchMs);
    for (;;) {
      const { done, value } = spans.next();
      if (done === true) {
        const days = [...counts].map(([day, count]) => ({ day, count }));
        return { days: days.sort((a, b) => (a.day < b.day ? -1 : 1)), countedTo: value };
      }
      for (const { day, count } of await this.countWithin({ span: value }, scope, filter, timeZone))
        counts.set(day, (counts.get(day) ?? 0) + count);
    }
  }

  private countWithin(
    within: Within,
    scope: Scope,
    filter: Unpaged,
    timeZone: string,
  ): Promise<ActivityDay[]> {
    const parameters = new SqlParameters();
    const where = conditionsOf(filter, within, parameters);
    const zone = parameters.add(timeZone);
    const parts = branchesOf(scope, parameters).map(
      (branch) => `SELECT occurred_at FROM activity WHERE ${[branch, ...where].join(' AND ')}`,
    );
    // Days of all zones begin at a quarter of an hour, so only quarters are converted to text.
    return this.database.query<ActivityDay>(
      `SELECT to_char(quarter AT TIME ZONE ${zone}, 'YYYY-MM-DD') AS day, sum(count)::integer AS count
         FROM (SELECT date_bin('15 minutes', occurred_at, 'epoch') AS quarter, count(*) AS count
                 FROM (${parts.join(' UNION ALL ')}) AS found GROUP BY 1) AS quarters GROUP BY 1 ORDER BY 1`,
      parameters.values,
    );
  }

  private read(
    scope: Scope,
    filter: ActivityFilter & ObjectIds,
    within: Within,
    most?: number,
  ): Promise<EntryRow[]> {
    const parameters = new SqlParameters();
    const where = conditionsOf(filter, within, parameters);
    const keyset = newestFirst.clause(filter, parameters.values.length + 1);
    parameters.values.push(...keyset.parameters);
    const limit = parameters.add(most ?? keyset.limit);
    const parts = branchesOf(scope, parameters).map(
      (branch) => `(SELECT *, host(address) AS host, ${newestFirst.positions} FROM activity
        WHERE ${[branch, ...where, keyset.where].join(' AND ')} ORDER BY ${keyset.orderBy} LIMIT ${limit})`,
    );
    return this.database.rows<EntryRow>(
      `SELECT *, ${KEY_IDS} FROM (${parts.join(' UNION ALL ')}) AS page ORDER BY ${keyset.orderBy} LIMIT ${limit}`,
      parameters.values,
    );
  }

  /** The entries that contain these words, where few enough match for the index to find them at once; else null. */
  private async idsByWords(scope: Scope, filter: Unpaged): Promise<string[] | null> {
    const parameters = new SqlParameters();
    const words = wordConditions(filter, parameters);
    if (words.length === 0) return null;
    const where = [...words, ...conditionsOf(filter, {}, parameters)];
    const branches = branchesOf(scope, parameters).map((branch) => `(${branch})`);
    const statement = `SELECT id FROM activity WHERE ${where.join(' AND ')} AND (${branches.join(' OR ')})
      LIMIT ${MOST_BY_WORDS + 1}`;
    try {
      const found = await this.database.transaction(
        async (tx) => {
          await tx.query(`SET LOCAL statement_timeout = ${this.wordsMs}`);
          return tx.query<Row<'activity', 'id'>[]>(statement, parameters.values);
        },
        { withoutActivity: 'reads alone' },
      );
      return found.length > MOST_BY_WORDS ? null : found.map(({ id }) => id);
    } catch (error) {
      if ((error as { code?: unknown }).code === CANCELLED) return null;
      throw error;
    }
  }

  private async search(scope: Scope, filter: ActivityFilter & ObjectIds): Promise<ActivityPage> {
    const { orderBy, limit, parameters } = newestFirst.clause(filter, 1);
    const isDown = orderBy.endsWith('DESC');
    const at = parameters[0] === undefined ? null : Number(parameters[0]) / 1_000;
    const period = await this.periodOf(filter);
    const edge = at === null ? {} : isDown ? { to: new Date(at + 1) } : { from: new Date(Math.floor(at)) };
    const rows: EntryRow[] = [];
    const spans = searchSpans({ ...period, ...edge }, isDown, this.searchMs);
    for (;;) {
      const { done, value } = spans.next();
      if (done === true)
        return value === null
          ? { ...pageOf(rows, filter), searchedTo: null }
          : brokenOff(rows, filter, isDown, value);
      rows.push(...(await this.read(scope, filter, { span: value }, limit - rows.length)));
      if (rows.length >= limit) return { ...pageOf(rows, filter), searchedTo: null };
    }
  }

  private async periodOf({ from, to }: Pick<ActivityFilter, 'from' | 'to'>): Promise<Span> {
    const [oldest] = await this.database.query<{ at: Date | null }>(
      'SELECT min(occurred_at) AS at FROM activity',
    );
    const end = to ?? new Date(Date.now() + DAY_MS);
    const begin = Math.max(from?.getTime() ?? 0, oldest?.at?.getTime() ?? end.getTime());
    return { from: new Date(Math.min(begin, end.getTime())), to: end };
  }
}

function pageOf(rows: readonly EntryRow[], filter: ActivityFilter): Page<ActivityEntry> {
  const page = newestFirst.page(rows, filter);
  return { ...page, rows: page.rows.map(entryOf) };
}

/** A page that is not full although more may exist: its cursor stands at the edge of the searched span. */
function brokenOff(
  rows: readonly EntryRow[],
  filter: ActivityFilter,
  isDown: boolean,
  edge: Date,
): ActivityPage {
  const cursor = newestFirst.cursorAt(isDown ? 'next' : 'previous', [String(edge.getTime() * 1_000), '0']);
  return {
    ...pageOf(rows, filter),
    ...(isDown ? { next: cursor } : { previous: cursor }),
    searchedTo: edge,
  };
}

/** One index returns all entries of such a filter in their order. */
function isIndexed(scope: Scope, filter: ActivityFilter): boolean {
  const { action, actorUserId, actorText, object, objectText, text } = filter;
  if (actorText || objectText || text || (object && !object.id)) return false;
  const narrowed = [scope.kind !== 'platform', action, actorUserId, object].filter(Boolean);
  return narrowed.length <= 1;
}

const WORD = /[\p{L}\p{N}]{3}/u;
/** The labels are normalised as in the index of words. */
const WORDS = `lower(actor_label || E'\\n' || coalesce(object_label, '') || E'\\n' || coalesce(object_id, ''))`;

/** An additional condition for the index, which has no words of fewer than three letters or digits. */
function wordConditions(
  { actorText, objectText, objectIds, text }: Unpaged,
  parameters: SqlParameters,
): string[] {
  const like = (words: string): string =>
    `${WORDS} LIKE '%' || lower(${parameters.add(words.replace(/[\\%_]/g, '\\$&'))}) || '%'`;
  const alternatives = [[actorText], objectText ? [objectText, ...(objectIds ?? [])] : [], [text]];
  return alternatives.flatMap((some) => {
    const words = [...new Set(some.flatMap((one) => one || []))];
    const isIndexed = words.length > 0 && words.every((one) => WORD.test(one));
    return isIndexed ? [`(${words.map(like).join(' OR ')})`] : [];
  });
}

/**
 * The rows that a scope may read, as mutually exclusive conditions: each is read along an index of its own. A person
 * reads entries about their account and entries of their own actions.
 */
function branchesOf(scope: Scope, parameters: SqlParameters): string[] {
  switch (scope.kind) {
    case 'platform':
      return ['true'];
    case 'organisation':
      return [`organisation_id = ${parameters.add(scope.organisationId)}`];
    case 'department': {
      const department = `(organisation_id = ${parameters.add(scope.organisationId)} AND department_id = ${parameters.add(scope.departmentId)})`;
      const own = ownBranches(scope.userId, parameters);
      return [department, ...own.map((branch) => `${branch} AND ${department} IS NOT TRUE`)];
    }
    case 'user':
      return ownBranches(scope.userId, parameters);
  }
}

function ownBranches(userId: number, parameters: SqlParameters): string[] {
  const user = parameters.add(userId);
  return [`user_id = ${user}`, `(actor_user_id = ${user} AND user_id IS DISTINCT FROM ${user})`];
}

function conditionsOf(filter: Unpaged, { ids, span }: Within, parameters: SqlParameters): string[] {
  const { from, to } = { ...filter, ...span };
  const { action, actorUserId, actorText, object, objectText, objectIds, text } = filter;
  const conditions: string[] = [];
  const narrow = (value: unknown, condition: (parameter: string) => string): void => {
    if (value !== null && value !== undefined && value !== '')
      conditions.push(condition(parameters.add(value)));
  };
  narrow(ids, (parameter) => `id = ANY (${parameter}::bigint[])`);
  narrow(from, (parameter) => `occurred_at >= ${parameter}`);
  narrow(to, (parameter) => `occurred_at < ${parameter}`);
  narrow(action, (parameter) => `action = ${parameter}`);
  narrow(actorUserId, (parameter) => `actor_user_id = ${parameter}`);
  narrow(actorText, (parameter) => `strpos(lower(actor_label), lower(${parameter})) > 0`);
  narrow(object?.type, (parameter) => `object_type = ${parameter}`);
  narrow(object?.id && objectIds, (parameter) => `object_id = ANY (${parameter}::text[])`);
  narrow(
    objectText,
    (parameter) =>
      `(object_id = ANY (${parameters.add(objectIds)}::text[]) OR strpos(lower(object_label), lower(${parameter})) > 0)`,
  );
  narrow(
    text,
    (parameter) =>
      `(strpos(lower(actor_label), lower(${parameter})) > 0 OR strpos(lower(object_label), lower(${parameter})) > 0)`,
  );
  return conditions;
}

const entryOf = (row: EntryRow): ActivityEntry => ({
  id: row.id,
  occurredAt: row.occurredAt,
  action: row.action,
  actor: {
    kind: row.actorKind,
    userId: row.actorUserId,
    keyId: row.actorKeyId,
    role: row.actorRole,
    organisationId: row.actorOrganisationId,
    label: row.actorLabel,
  },
  userId: row.userId,
  organisationId: row.organisationId,
  departmentId: row.departmentId,
  object: {
    type: row.objectType,
    id: row.keyNumber ?? row.objectId,
    label: row.objectLabel,
    keyPublicId: row.keyPublicId,
  },
  changes: row.changes,
  reason: row.reason,
  address: row.host,
  requestId: row.requestId,
});
