import type { Tx } from '../platform';
import type { ModelPolicy } from './model-policy';

export interface OrganisationAccessInput {
  readonly granted?: boolean;
  readonly enabled?: boolean;
  /** The platform's refusal of a model that is open to others. A grant removes it. */
  readonly denied?: boolean;
}

export async function setAllowedRegions(
  tx: Tx,
  organisationId: number,
  regions: readonly string[] | null,
): Promise<void> {
  await tx.query('UPDATE organisation SET allowed_regions = $2 WHERE id = $1', [organisationId, regions]);
}

/** Omitted fields keep their value; a grant removes a refusal. */
export async function upsertOrganisationAccess(
  tx: Tx,
  modelId: number,
  organisationId: number,
  { granted, enabled, denied }: OrganisationAccessInput,
): Promise<void> {
  await tx.query(
    `INSERT INTO model_organisation_access AS known (model_id, organisation_id, granted, enabled, denied)
     VALUES ($1, $2, coalesce($3, false), coalesce($4, true), coalesce($5, false))
     ON CONFLICT (model_id, organisation_id) DO UPDATE
       SET granted = coalesce($3, known.granted), enabled = coalesce($4, known.enabled),
           denied = coalesce($5, known.denied)`,
    [modelId, organisationId, granted ?? null, enabled ?? null, denied ?? (granted === true ? false : null)],
  );
}

export async function upsertDepartmentAccess(
  tx: Tx,
  modelId: number,
  departmentId: number,
  allowed: boolean,
): Promise<void> {
  await tx.query(
    `INSERT INTO department_model_access (department_id, model_id, allowed) VALUES ($1, $2, $3)
     ON CONFLICT (department_id, model_id) DO UPDATE SET allowed = $3`,
    [departmentId, modelId, allowed],
  );
}

export async function upsertModelPolicy(
  tx: Tx,
  organisationId: number,
  { mode, patterns }: ModelPolicy,
): Promise<void> {
  await tx.query(
    `INSERT INTO model_policy (organisation_id, mode, patterns) VALUES ($1, $2, $3)
     ON CONFLICT (organisation_id) DO UPDATE SET mode = $2, patterns = $3`,
    [organisationId, mode, patterns],
  );
}

/** Grants to a source become grants to the target; the sources' own switches are dropped. */
export async function copyGrants(tx: Tx, sourceIds: readonly number[], targetId: number): Promise<void> {
  await tx.query(
    `INSERT INTO model_organisation_access (model_id, organisation_id, granted, enabled)
     SELECT DISTINCT model_id, $2::integer, true, true FROM model_organisation_access
      WHERE organisation_id = ANY ($1::integer[]) AND granted
     ON CONFLICT (model_id, organisation_id) DO UPDATE SET granted = true`,
    [sourceIds, targetId],
  );
}
