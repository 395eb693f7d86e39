import { Injectable } from '@nestjs/common';
import { Database, everyRow, Keyset, type Page, type PageRequest } from '../platform';
import { columns, valueOfRow } from './record-columns';
import type { RequestRecord } from './request-record';
import { SqlParameters } from './sql-parameters';

export type RequestEntry = Omit<RequestRecord, 'settlementId'>;

export interface RecordFilter extends PageRequest {
  readonly from?: Date | null;
  /** Exclusive. */
  readonly to?: Date | null;
  readonly model?: string | null;
}

type RequestEntryRow = Readonly<Record<string, unknown>>;

const newestFirst = new Keyset(
  [
    { sql: 'created_at', kind: 'instant' },
    { sql: 'request_id', kind: 'uuid' },
  ],
  'descending',
);

/** A caller can reuse a request id: the newest executed request wins, then the newest refused one. */
const ONE = `
  SELECT * FROM request_record WHERE request_id = $1 AND key_id = $2
   ORDER BY (usage_source = 'none'), created_at DESC LIMIT 1`;

const PAGE_SIZE = 1_000;

/** Reads request records by keyset pages along the indexes, never by offset. */
@Injectable()
export class RequestRecordQuery {
  constructor(private readonly database: Database) {}

  async ofKey(keyId: number, filter: RecordFilter): Promise<Page<RequestEntry>> {
    const { from, to, model } = filter;
    const parameters = new SqlParameters();
    const conditions = [`key_id = ${parameters.add(keyId)}`];
    if (from) conditions.push(`created_at >= ${parameters.add(from)}`);
    if (to) conditions.push(`created_at < ${parameters.add(to)}`);
    const keyset = newestFirst.clause(filter, parameters.values.length + 1);
    parameters.values.push(...keyset.parameters);
    const limit = parameters.add(keyset.limit);
    const end = `ORDER BY ${keyset.orderBy} LIMIT ${limit}`;
    const branches = branchesOf(model ?? null, parameters).map(
      (branch) => `(SELECT *, ${newestFirst.positions} FROM request_record
        WHERE ${[branch, ...conditions, keyset.where].join(' AND ')} ${end})`,
    );
    const rows = await this.database.query<RequestEntryRow>(
      `SELECT * FROM (${branches.join(' UNION ALL ')}) AS page ${end}`,
      parameters.values,
    );
    const page = newestFirst.page(rows, filter);
    return { ...page, rows: page.rows.map(entryOf) };
  }

  allOfKey(keyId: number, filter: RecordFilter): AsyncGenerator<RequestEntry> {
    const { limit, cursor } = filter;
    return everyRow(limit, PAGE_SIZE, (page) => this.ofKey(keyId, { ...filter, ...page }), cursor);
  }

  async ofRequest(keyId: number, requestId: string): Promise<RequestEntry | null> {
    const [row] = await this.database.query<RequestEntryRow>(ONE, [requestId, keyId]);
    return row === undefined ? null : entryOf(row);
  }
}

/** Separate indexes cover the requested model, and the serving model if it differs. */
function branchesOf(model: string | null, parameters: SqlParameters): readonly string[] {
  if (model === null) return ['true'];
  const name = parameters.add(model);
  return [
    `model = ${name} AND served_model = ${name}`,
    `served_model = ${name} AND served_model IS DISTINCT FROM model`,
  ];
}

export function entryOf(row: RequestEntryRow): RequestEntry {
  const fields = columns.map((column) => [column.field, valueOfRow(column, row)]);
  return Object.fromEntries(fields) as RequestEntry;
}
