import { readRows, type TableRow, type Tx } from '../platform';
import { IS_OPEN } from './access-list.query';
import type { ModelPolicy } from './model-policy';

export interface OrganisationModelAccess {
  readonly granted: boolean;
  readonly enabled: boolean;
  readonly denied: boolean;
}

export interface DepartmentModel {
  readonly model: string;
  readonly displayName: string;
  readonly allowed: boolean;
}

type DepartmentRow = TableRow<'department', 'id, organisation_id, name'>;

export async function findModelPolicy(tx: Tx, organisationId: number): Promise<ModelPolicy | undefined> {
  const [row] = await tx.query<TableRow<'model_policy', 'mode, patterns'>[]>(
    'SELECT mode, patterns FROM model_policy WHERE organisation_id = $1',
    [organisationId],
  );
  return row;
}

/** Undefined outside the organisation and department, of which null stands for any. */
export async function findDepartment(
  tx: Tx,
  id: number,
  within: { readonly organisationId: number | null; readonly departmentId: number | null },
): Promise<DepartmentRow | undefined> {
  const [department] = await readRows<DepartmentRow>(
    tx,
    `SELECT id, organisation_id, name FROM department
      WHERE id = $1 AND ($2::integer IS NULL OR organisation_id = $2) AND ($3::integer IS NULL OR id = $3)`,
    [id, within.organisationId, within.departmentId],
  );
  return department;
}

export function listDepartmentModels(
  tx: Tx,
  { id, organisationId }: DepartmentRow,
  includesClosed: boolean,
): Promise<DepartmentModel[]> {
  return tx.query<DepartmentModel[]>(
    `SELECT m.name AS model, m.display_name AS "displayName", coalesce(a.allowed, true) AS allowed
       FROM model m
       LEFT JOIN department_model_access a ON a.model_id = m.id AND a.department_id = $1
       LEFT JOIN model_organisation_access access ON access.model_id = m.id AND access.organisation_id = $2
      WHERE m.state <> 'deleted' AND ($3::boolean OR ${IS_OPEN}) ORDER BY m.display_order, m.name`,
    [id, organisationId, includesClosed],
  );
}

/** Returns those of the models that are open to the organisation. */
export async function listOpenModels(
  tx: Tx,
  organisationId: number,
  names: readonly string[],
): Promise<string[]> {
  const models = await tx.query<TableRow<'model', 'name'>[]>(
    `SELECT m.name FROM model m
       LEFT JOIN model_organisation_access access ON access.model_id = m.id AND access.organisation_id = $1
      WHERE m.name = ANY ($2::text[]) AND ${IS_OPEN}`,
    [organisationId, names],
  );
  return models.map(({ name }) => name);
}

export async function findOrganisationAccess(
  tx: Tx,
  modelId: number,
  organisationId: number,
): Promise<OrganisationModelAccess | undefined> {
  const [row] = await tx.query<OrganisationModelAccess[]>(
    `SELECT granted, enabled, denied FROM model_organisation_access
      WHERE model_id = $1 AND organisation_id = $2`,
    [modelId, organisationId],
  );
  return row;
}

export async function organisationExists(tx: Tx, id: number): Promise<boolean> {
  return (await tx.query<object[]>('SELECT 1 FROM organisation WHERE id = $1', [id])).length > 0;
}
