import { Injectable } from '@nestjs/common';
import { DAY_MS, type Scope } from '../../kernel';
import { Database, everyRow, Keyset, type Page, type PageRequest, type TableRow } from '../../platform';
import type { TimeSpan } from '../span';
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
    /** A key's number, whichever of its ids the entry was sealed with. */
    readonly id: string | null;
    readonly label: string | null;
    /** A key's id at `/v1/manage`. */
    readonly keyPublicId: string | null;
  };
  readonly changes: Changes | null;
  readonly reason: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface ActivityFilter extends PageRequest {
  readonly from?: Date | null;
  /** Exclusive. */
  readonly to?: Date | null;
  readonly action?: LoggedAction | null;
  readonly actorUserId?: number | null;
  /** Matches any part of the actor's label. */
  readonly actorText?: string | null;
  readonly object?: { readonly type: ObjectType; readonly id?: string | null } | null;
  /** Matches the object's id, or any part of its label. */
  readonly objectText?: string | null;
  /** Matches any part of the actor's or the object's label. */
  readonly text?: string | null;
}

type UnpagedActivityFilter = Omit<ActivityFilter, keyof PageRequest> & ObjectIds;

type EntryRow = TableRow<'activity'> & {
  readonly action: LoggedAction;
  readonly actorKind: ActivityActor['kind'];
  readonly objectType: ObjectType;
  readonly keyNumber: string | null;
  readonly keyPublicId: string | null;
  readonly changes: Changes | null;
  readonly host: string | null;
};

export interface ActivityPage extends Page<ActivityEntry> {
  /** Position where the search ran out of time before the page was full; `next` or `previous` continues from there. */
  readonly searchedTo: Date | null;
}

export interface ActivityDays {
  readonly days: readonly ActivityDay[];
  readonly countedTo: Date | null;
}

interface ActivityDay {
  /** Day in the requested zone, as YYYY-MM-DD. */
  readonly day: string;
  readonly count: number;
}

const PAGE_SIZE = 1_000;
const newestFirst = new Keyset(
  [
    { sql: 'occurred_at', kind: 'instant' },
    { sql: 'id', kind: 'integer' },
  ],
  'descending',
);

const MAX_TEXT_MATCHES = 1_000;
const QUERY_CANCELLED = '57014';

interface EntrySource {
  readonly ids?: readonly string[];
  readonly span?: TimeSpan;
}

/**
 * Reads the activity log, newest first. A filter that one index covers is read along it; others use the text index, or
 * else search span by span.
 */
@Injectable()
export class ActivityQuery {
  /** Time limits of a page's search in milliseconds: first in the text index, then span by span. */
  protected readonly wordsMs: number = 25;
  protected readonly searchMs: number = 40;

  constructor(private readonly database: Database) {}

  async page(scope: Scope, input: ActivityFilter): Promise<ActivityPage> {
    const filter = await withObjectIds(this.database, input);
    const ids = isIndexed(scope, filter) ? undefined : await this.idsByWords(scope, filter);
    if (ids === null) return this.search(scope, filter);
    return { ...pageOf(await this.read(scope, filter, { ids }), filter), searchedTo: null };
  }

  all(scope: Scope, filter: ActivityFilter): AsyncGenerator<ActivityEntry> {
    return everyRow(filter.limit, PAGE_SIZE, (page) => this.page(scope, { ...filter, ...page }));
  }

  /** Counts entries per day of the zone, as far back as the time limit allows; days without entries are omitted. */
  async days(scope: Scope, input: UnpagedActivityFilter, timeZone: string): Promise<ActivityDays> {
    const filter = await withObjectIds(this.database, input);
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
    source: EntrySource,
    scope: Scope,
    filter: UnpagedActivityFilter,
    timeZone: string,
  ): Promise<ActivityDay[]> {
    const parameters = new SqlParameters();
    const where = conditionsOf(filter, source, parameters);
    const zone = parameters.add(timeZone);
    const parts = branchesOf(scope, parameters).map(
      (branch) => `SELECT occurred_at FROM activity WHERE ${[branch, ...where].join(' AND ')}`,
    );
    // Days of all zones start on a quarter of an hour, so only quarters are converted to text.
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
    source: EntrySource,
    maxRows?: number,
  ): Promise<EntryRow[]> {
    const parameters = new SqlParameters();
    const where = conditionsOf(filter, source, parameters);
    const keyset = newestFirst.clause(filter, parameters.values.length + 1);
    parameters.values.push(...keyset.parameters);
    const limit = parameters.add(maxRows ?? keyset.limit);
    const parts = branchesOf(scope, parameters).map(
      (branch) => `(SELECT *, host(address) AS host, ${newestFirst.positions} FROM activity
        WHERE ${[branch, ...where, keyset.where].join(' AND ')} ORDER BY ${keyset.orderBy} LIMIT ${limit})`,
    );
    return this.database.rows<EntryRow>(
      `SELECT *, ${KEY_IDS} FROM (${parts.join(' UNION ALL ')}) AS page ORDER BY ${keyset.orderBy} LIMIT ${limit}`,
      parameters.values,
    );
  }

  /** Ids of the entries that contain these words; null if too many match for the index to be fast. */
  private async idsByWords(scope: Scope, filter: UnpagedActivityFilter): Promise<string[] | null> {
    const parameters = new SqlParameters();
    const textConditions = buildTextConditions(filter, parameters);
    if (textConditions.length === 0) return null;
    const where = [...textConditions, ...conditionsOf(filter, {}, parameters)];
    const branches = branchesOf(scope, parameters).map((branch) => `(${branch})`);
    const statement = `SELECT id FROM activity WHERE ${where.join(' AND ')} AND (${branches.join(' OR ')})
      LIMIT ${MAX_TEXT_MATCHES + 1}`;
    try {
      const rows = await this.database.transaction(
        async (tx) => {
          await tx.query(`SET LOCAL statement_timeout = ${this.wordsMs}`);
          return tx.query<TableRow<'activity', 'id'>[]>(statement, parameters.values);
        },
        { withoutActivity: 'reads alone' },
      );
      return rows.length > MAX_TEXT_MATCHES ? null : rows.map(({ id }) => id);
    } catch (error) {
      if ((error as { code?: unknown }).code === QUERY_CANCELLED) return null;
      throw error;
    }
  }

  private async search(scope: Scope, filter: ActivityFilter & ObjectIds): Promise<ActivityPage> {
    const { orderBy, limit, parameters } = newestFirst.clause(filter, 1);
    const isDescending = orderBy.endsWith('DESC');
    const at = parameters[0] === undefined ? null : Number(parameters[0]) / 1_000;
    const period = await this.periodOf(filter);
    const edge =
      at === null ? {} : isDescending ? { to: new Date(at + 1) } : { from: new Date(Math.floor(at)) };
    const rows: EntryRow[] = [];
    const spans = searchSpans({ ...period, ...edge }, isDescending, this.searchMs);
    for (;;) {
      const { done, value } = spans.next();
      if (done === true)
        return value === null
          ? { ...pageOf(rows, filter), searchedTo: null }
          : partialPage(rows, filter, isDescending, value);
      rows.push(...(await this.read(scope, filter, { span: value }, limit - rows.length)));
      if (rows.length >= limit) return { ...pageOf(rows, filter), searchedTo: null };
    }
  }

  private async periodOf({ from, to }: Pick<ActivityFilter, 'from' | 'to'>): Promise<TimeSpan> {
    const [oldest] = await this.database.query<{ at: Date | null }>(
      'SELECT min(occurred_at) AS at FROM activity',
    );
    const end = to ?? new Date(Date.now() + DAY_MS);
    const start = Math.max(from?.getTime() ?? 0, oldest?.at?.getTime() ?? end.getTime());
    return { from: new Date(Math.min(start, end.getTime())), to: end };
  }
}

function pageOf(rows: readonly EntryRow[], filter: ActivityFilter): Page<ActivityEntry> {
  const page = newestFirst.page(rows, filter);
  return { ...page, rows: page.rows.map(entryOf) };
}

/** A page that is not full although more may exist: its cursor is at the edge of the searched span. */
function partialPage(
  rows: readonly EntryRow[],
  filter: ActivityFilter,
  isDescending: boolean,
  edge: Date,
): ActivityPage {
  const cursor = newestFirst.cursorAt(isDescending ? 'next' : 'previous', [
    String(edge.getTime() * 1_000),
    '0',
  ]);
  return {
    ...pageOf(rows, filter),
    ...(isDescending ? { next: cursor } : { previous: cursor }),
    searchedTo: edge,
  };
}

function isIndexed(scope: Scope, filter: ActivityFilter): boolean {
  const { action, actorUserId, actorText, object, objectText, text } = filter;
  if (actorText || objectText || text || (object && !object.id)) return false;
  const activeFilters = [scope.kind !== 'platform', action, actorUserId, object].filter(Boolean);
  return activeFilters.length <= 1;
}

const WORD = /[\p{L}\p{N}]{3}/u;
const WORDS = `lower(actor_label || E'\\n' || coalesce(object_label, '') || E'\\n' || coalesce(object_id, ''))`;

/** Additional conditions for the text index, which has no words of fewer than three letters or digits. */
function buildTextConditions(
  { actorText, objectText, objectIds, text }: UnpagedActivityFilter,
  parameters: SqlParameters,
): string[] {
  const like = (term: string): string =>
    `${WORDS} LIKE '%' || lower(${parameters.add(term.replace(/[\\%_]/g, '\\$&'))}) || '%'`;
  const alternatives = [[actorText], objectText ? [objectText, ...(objectIds ?? [])] : [], [text]];
  return alternatives.flatMap((group) => {
    const terms = [...new Set(group.flatMap((one) => one || []))];
    const isIndexed = terms.length > 0 && terms.every((one) => WORD.test(one));
    return isIndexed ? [`(${terms.map(like).join(' OR ')})`] : [];
  });
}

/**
 * Rows that a scope is allowed to read, as mutually exclusive conditions, each read along its own index. Users read
 * entries about their account and entries of their own actions.
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

function conditionsOf(
  filter: UnpagedActivityFilter,
  { ids, span }: EntrySource,
  parameters: SqlParameters,
): string[] {
  const { from, to } = { ...filter, ...span };
  const { action, actorUserId, actorText, object, objectText, objectIds, text } = filter;
  const conditions: string[] = [];
  const addCondition = (value: unknown, condition: (parameter: string) => string): void => {
    if (value !== null && value !== undefined && value !== '')
      conditions.push(condition(parameters.add(value)));
  };
  addCondition(ids, (parameter) => `id = ANY (${parameter}::bigint[])`);
  addCondition(from, (parameter) => `occurred_at >= ${parameter}`);
  addCondition(to, (parameter) => `occurred_at < ${parameter}`);
  addCondition(action, (parameter) => `action = ${parameter}`);
  addCondition(actorUserId, (parameter) => `actor_user_id = ${parameter}`);
  addCondition(actorText, (parameter) => `strpos(lower(actor_label), lower(${parameter})) > 0`);
  addCondition(object?.type, (parameter) => `object_type = ${parameter}`);
  addCondition(object?.id && objectIds, (parameter) => `object_id = ANY (${parameter}::text[])`);
  addCondition(
    objectText,
    (parameter) =>
      `(object_id = ANY (${parameters.add(objectIds)}::text[]) OR strpos(lower(object_label), lower(${parameter})) > 0)`,
  );
  addCondition(
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
