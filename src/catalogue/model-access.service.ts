import { Injectable } from '@nestjs/common';
import { fault, type Scope } from '../kernel';
import { OnOrganisationMerge, type OrganisationMerger, readRows, type TableRow, type Tx } from '../platform';
import { IS_OPEN } from './access-list';
import { CatalogueEditor } from './catalogue-editor.service';
import { lockCatalogue, getModelByName, modelNotFoundError } from './catalogue-lock';
import { checkPolicy, type ModelPolicy } from './model-policy';

export interface OrganisationModelAccess {
  readonly granted: boolean;
  readonly enabled: boolean;
  readonly denied: boolean;
}

interface DepartmentModel {
  readonly model: string;
  readonly displayName: string;
  readonly allowed: boolean;
}

export interface DepartmentModelAccess {
  readonly id: number;
  readonly organisationId: number;
  readonly name: string;
  readonly models: readonly DepartmentModel[];
}

export interface BeforeAndAfter<T> {
  readonly before: T;
  readonly after: T;
}

const defaultAccess: OrganisationModelAccess = { granted: false, enabled: true, denied: false };
const noPolicy: ModelPolicy = { mode: 'all', patterns: [] };

/**
 * Reads and changes who is allowed to use which models. Objects outside a reader's scope do not exist for the reader.
 */
@Injectable()
export class ModelAccess {
  constructor(private readonly editor: CatalogueEditor) {}

  async setOrganisation(
    scope: Scope,
    tx: Tx,
    organisationId: number,
    modelName: string,
    change: Partial<OrganisationModelAccess>,
  ): Promise<BeforeAndAfter<OrganisationModelAccess>> {
    await lockCatalogue(tx);
    await this.requireOrganisation(scope, tx, organisationId);
    await this.requireOpen(scope, tx, organisationId, [modelName]);
    const before = await this.organisation(tx, organisationId, modelName);
    await this.editor.setOrganisationAccess(tx, modelName, organisationId, change);
    return { before, after: await this.organisation(tx, organisationId, modelName) };
  }

  /** Grants to a source become grants to the target; the sources' own switches are dropped. */
  @OnOrganisationMerge()
  async moveGrants(tx: Tx, { sourceIds, targetId }: OrganisationMerger): Promise<void> {
    await tx.query(
      `INSERT INTO model_organisation_access (model_id, organisation_id, granted, enabled)
       SELECT DISTINCT model_id, $2::integer, true, true FROM model_organisation_access
        WHERE organisation_id = ANY ($1::integer[]) AND granted
       ON CONFLICT (model_id, organisation_id) DO UPDATE SET granted = true`,
      [sourceIds, targetId],
    );
  }

  async policy(scope: Scope, tx: Tx, organisationId: number): Promise<ModelPolicy> {
    await this.requireOrganisation(scope, tx, organisationId);
    const [row] = await tx.query<TableRow<'model_policy', 'mode, patterns'>[]>(
      'SELECT mode, patterns FROM model_policy WHERE organisation_id = $1',
      [organisationId],
    );
    return row ?? noPolicy;
  }

  async setPolicy(
    scope: Scope,
    tx: Tx,
    organisationId: number,
    policy: ModelPolicy,
  ): Promise<BeforeAndAfter<ModelPolicy>> {
    await lockCatalogue(tx);
    const before = await this.policy(scope, tx, organisationId);
    const patterns = [...new Set(policy.patterns)].sort();
    const after = { mode: policy.mode, patterns };
    checkPolicy(after);
    await tx.query(
      `INSERT INTO model_policy (organisation_id, mode, patterns) VALUES ($1, $2, $3)
       ON CONFLICT (organisation_id) DO UPDATE SET mode = $2, patterns = $3`,
      [organisationId, after.mode, patterns],
    );
    return { before, after };
  }

  async department(scope: Scope, tx: Tx, departmentId: number): Promise<DepartmentModelAccess> {
    const [department] = await readRows<TableRow<'department', 'id, organisation_id, name'>>(
      tx,
      `SELECT id, organisation_id, name FROM department
        WHERE id = $1 AND ($2::integer IS NULL OR organisation_id = $2) AND ($3::integer IS NULL OR id = $3)`,
      [departmentId, organisationOf(scope), scope.kind === 'department' ? scope.departmentId : null],
    );
    if (department === undefined) throw fault('not_found', { param: 'dept_id' });
    const models = await tx.query<DepartmentModel[]>(
      `SELECT m.name AS model, m.display_name AS "displayName", coalesce(a.allowed, true) AS allowed
         FROM model m
         LEFT JOIN department_model_access a ON a.model_id = m.id AND a.department_id = $1
         LEFT JOIN model_organisation_access access ON access.model_id = m.id AND access.organisation_id = $2
        WHERE m.state <> 'deleted' AND ($3::boolean OR ${IS_OPEN}) ORDER BY m.display_order, m.name`,
      [departmentId, department.organisationId, scope.kind === 'platform'],
    );
    return { ...department, models };
  }

  async setDepartment(
    scope: Scope,
    tx: Tx,
    departmentId: number,
    permissions: ReadonlyMap<string, boolean>,
  ): Promise<BeforeAndAfter<DepartmentModelAccess>> {
    await lockCatalogue(tx);
    const before = await this.department(scope, tx, departmentId);
    await this.requireOpen(scope, tx, before.organisationId, [...permissions.keys()]);
    for (const [model, allowed] of permissions)
      await this.editor.setDepartmentAccess(tx, departmentId, model, allowed);
    return { before, after: await this.department(scope, tx, departmentId) };
  }

  /** A model that is not open to an organisation does not exist for it. */
  private async requireOpen(
    scope: Scope,
    tx: Tx,
    organisationId: number,
    names: readonly string[],
  ): Promise<void> {
    if (scope.kind === 'platform') return;
    const openModels = await tx.query<TableRow<'model', 'name'>[]>(
      `SELECT m.name FROM model m
         LEFT JOIN model_organisation_access access ON access.model_id = m.id AND access.organisation_id = $1
        WHERE m.name = ANY ($2::text[]) AND ${IS_OPEN}`,
      [organisationId, names],
    );
    const openNames = new Set(openModels.map(({ name }) => name));
    const missing = names.find((name) => !openNames.has(name));
    if (missing !== undefined) throw modelNotFoundError(missing);
  }

  private async organisation(
    tx: Tx,
    organisationId: number,
    modelName: string,
  ): Promise<OrganisationModelAccess> {
    const { id } = await getModelByName(tx, modelName);
    const [row] = await tx.query<OrganisationModelAccess[]>(
      `SELECT granted, enabled, denied FROM model_organisation_access
        WHERE model_id = $1 AND organisation_id = $2`,
      [id, organisationId],
    );
    return row ?? defaultAccess;
  }

  private async requireOrganisation(scope: Scope, tx: Tx, organisationId: number): Promise<void> {
    const ownOrganisationId = organisationOf(scope);
    const isInScope = ownOrganisationId === null || ownOrganisationId === organisationId;
    const rows = isInScope
      ? await tx.query<object[]>('SELECT 1 FROM organisation WHERE id = $1', [organisationId])
      : [];
    if (rows.length === 0) throw fault('not_found', { param: 'org_id' });
  }
}

/** Null for the platform, which sees every organisation; 0 matches none. */
const organisationOf = (scope: Scope): number | null =>
  scope.kind === 'platform' ? null : scope.kind === 'user' ? 0 : scope.organisationId;
