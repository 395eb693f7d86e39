import { type Database, Keyset, type Page, type PageRequest } from '../platform';
import type { ModelState } from './entities';

export interface AccessFilter extends PageRequest {
  readonly organisationId: number;
  readonly departmentId: number | null;
  /** Matches any part of the name or display name. */
  readonly text: string | null;
  readonly seesAll: boolean;
}

export const IS_OPEN = `(m.state IN ('active', 'paused') AND coalesce(access.denied, false) = false
                         AND (NOT m.restricted OR coalesce(access.granted, false)))`;

export interface ListedAccess {
  readonly model: string;
  readonly state: ModelState;
  readonly restricted: boolean;
  readonly granted: boolean;
  readonly denied: boolean;
  readonly enabled: boolean;
  readonly allowed: boolean;
}

const inOrder = new Keyset(
  [
    { sql: 'm.display_order', kind: 'integer' },
    { sql: 'm.name COLLATE "C"', kind: 'text' },
  ],
  'ascending',
);

export async function listAccess(
  database: Pick<Database, 'query'>,
  { organisationId, departmentId, text, seesAll, ...pageRequest }: AccessFilter,
): Promise<Page<ListedAccess>> {
  const keyset = inOrder.clause(pageRequest, 5);
  const rows = await database.query<ListedAccess & Record<string, unknown>>(
    `SELECT m.name AS model, m.state, m.restricted, coalesce(access.granted, false) AS granted,
            coalesce(access.denied, false) AS denied, coalesce(access.enabled, true) AS enabled,
            coalesce(d.allowed, true) AS allowed, ${inOrder.positions}
       FROM model m
       LEFT JOIN model_organisation_access access ON access.model_id = m.id AND access.organisation_id = $1
       LEFT JOIN department_model_access d ON d.model_id = m.id AND d.department_id = $2
      WHERE m.state <> 'deleted' AND ($3::text IS NULL OR strpos(lower(m.name || ' ' || m.display_name), lower($3)) > 0)
        AND ($4::boolean OR ${IS_OPEN}) AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
    [organisationId, departmentId, text, seesAll, ...keyset.parameters],
  );
  return inOrder.page(rows, pageRequest);
}

const MAX_DEPARTMENTS = 1_000;

export const listDepartments = (
  database: Pick<Database, 'query'>,
  organisationId: number,
): Promise<{ readonly id: number; readonly name: string }[]> =>
  database.query(
    `SELECT id, name FROM department WHERE organisation_id = $1 ORDER BY name LIMIT ${MAX_DEPARTMENTS}`,
    [organisationId],
  );
