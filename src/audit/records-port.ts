import type { ListOf, RecordQuery, RecordsPort, SettledRecord } from '#extension';
import { isUuid, MINUTE_MS } from '../kernel';
import { type Database, Keyset } from '../platform';
import { entryOf } from './request-record-query';
import { settledRecordOf } from './settled-record';
import { SqlParameters } from './sql-parameters';

type Row = Readonly<Record<string, unknown>>;

const USUAL_LIMIT = 100;
const MOST_RECORDS = 1_000;
/** No index has the records of everybody in their order: they are read backwards by spans of time that grow. */
const FIRST_SPAN_MS = MINUTE_MS;
const SPAN_GROWTH = 4;

const newestFirst = new Keyset(
  [
    { sql: 'created_at', kind: 'instant' },
    { sql: 'request_id', kind: 'uuid' },
  ],
  'descending',
);

/** A caller may reuse a request id: the newest executed request wins, then the newest refused one. */
const ONE = `
  SELECT * FROM request_record WHERE request_id = $1 ORDER BY (usage_source = 'none'), created_at DESC LIMIT 1`;

/** Settled requests, for the extensions that asked for them. */
export class DatabaseRecords implements RecordsPort {
  constructor(private readonly database: Database) {}

  async get(requestId: string): Promise<SettledRecord | null> {
    if (!isUuid(requestId)) return null;
    const [row] = await this.database.query<Row>(ONE, [requestId]);
    return row === undefined ? null : settledRecordOf(entryOf(row));
  }

  async list(query: RecordQuery): Promise<ListOf<SettledRecord>> {
    const { from, to, cursor = null } = query;
    verifyTime('from', from);
    verifyTime('to', to);
    const page = { cursor, limit: limitIn(query.limit) };
    const found = await this.find(query, page);
    const { rows, next } = newestFirst.page(found, page);
    return { items: rows.map((row) => settledRecordOf(entryOf(row))), cursor: next };
  }

  /** The rows of one page and one more, if there is one. */
  private async find(query: RecordQuery, page: { cursor: string | null; limit: number }): Promise<Row[]> {
    const isIndexed = query.keyId !== undefined || query.organisationId !== undefined;
    const found: Row[] = [];
    let to = this.latestOf(query, page.cursor);
    for (let span = FIRST_SPAN_MS; to > query.from; span *= SPAN_GROWTH) {
      const from = isIndexed ? query.from : new Date(Math.max(to.getTime() - span, query.from.getTime()));
      found.push(...(await this.within({ ...query, from, to }, page, page.limit + 1 - found.length)));
      if (found.length > page.limit) break;
      to = from;
    }
    return found;
  }

  /** What is newer than a cursor need not be looked at again; before the newest record there is nothing either. */
  private latestOf({ to }: RecordQuery, cursor: string | null): Date {
    const { parameters } = newestFirst.clause({ cursor, limit: 1 }, 1);
    const at =
      parameters[0] === undefined ? Date.now() + MINUTE_MS : Math.ceil(Number(parameters[0]) / 1_000);
    return new Date(Math.min(to.getTime(), at + 1));
  }

  private within(
    { from, to, keyId, organisationId }: RecordQuery,
    page: { cursor: string | null; limit: number },
    limit: number,
  ): Promise<Row[]> {
    const parameters = new SqlParameters();
    const conditions = [`created_at >= ${parameters.add(from)}`, `created_at < ${parameters.add(to)}`];
    if (keyId !== undefined) conditions.push(`key_id = ${parameters.add(keyId)}`);
    if (organisationId !== undefined) conditions.push(`organisation_id = ${parameters.add(organisationId)}`);
    const keyset = newestFirst.clause(page, parameters.values.length + 1);
    parameters.values.push(...keyset.parameters);
    return this.database.query<Row>(
      `SELECT *, ${newestFirst.positions} FROM request_record
        WHERE ${[...conditions, keyset.where].join(' AND ')}
        ORDER BY ${keyset.orderBy} LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
  }
}

function verifyTime(name: string, value: unknown): void {
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    throw new RangeError(`${name} is no valid Date`);
}

function limitIn(limit: unknown = USUAL_LIMIT): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MOST_RECORDS)
    return limit as number;
  throw new RangeError(`limit is not from 1 to ${MOST_RECORDS}`);
}
