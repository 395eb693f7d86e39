import type { KeysPort, KeyView, ListOf } from '#extension';
import { type Database, Keyset, type TableRow } from '../platform';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** Excludes what proves a key and what limits it. */
const COLUMNS = 'id, name, status, user_id, organisation_id, department_id, project_id, created_at';

type PortKeyRow = TableRow<
  'api_key',
  'id, name, status, user_id, organisation_id, department_id, project_id, created_at'
>;

const newestFirst = new Keyset([{ sql: 'id', kind: 'integer' }], 'descending');

export class DatabaseKeys implements KeysPort {
  constructor(private readonly database: Database) {}

  async get(id: number): Promise<KeyView | null> {
    if (!Number.isSafeInteger(id)) return null;
    const [row] = await this.database.rows<PortKeyRow>(
      `SELECT ${COLUMNS} FROM api_key WHERE id = $1::bigint`,
      [id],
    );
    return row === undefined ? null : viewOf(row);
  }

  async list({ organisationId, limit, cursor }: Parameters<KeysPort['list']>[0]): Promise<ListOf<KeyView>> {
    const page = { cursor: cursor ?? null, limit: readLimit(limit) };
    const keyset = newestFirst.clause(page, 3);
    const rows = await this.database.rows<PortKeyRow>(
      `SELECT ${COLUMNS}, ${newestFirst.positions} FROM api_key
        WHERE ($1::bigint IS NULL OR organisation_id = $1) AND ${keyset.where}
        ORDER BY ${keyset.orderBy} LIMIT $2`,
      [organisationId ?? null, keyset.limit, ...keyset.parameters],
    );
    const { rows: pageRows, next } = newestFirst.page(rows, page);
    return { items: pageRows.map(viewOf), cursor: next };
  }
}

const viewOf = (row: PortKeyRow): KeyView => ({
  id: row.id,
  name: row.name,
  status: row.status,
  user_id: row.userId,
  organisation_id: row.organisationId,
  department_id: row.departmentId,
  project_id: row.projectId,
  created_at: row.createdAt.toISOString(),
});

function readLimit(limit: unknown = DEFAULT_LIMIT): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= MAX_LIMIT)
    return limit as number;
  throw new RangeError(`limit is not from 1 to ${MAX_LIMIT}`);
}
