import { Injectable } from '@nestjs/common';
import { fault, type Scope } from '../kernel';
import { OnOrganisationMerge, type OrganisationMerger, type Tx } from '../platform';
import { CatalogueEditor } from './catalogue-editor.service';
import { lockCatalogue, getModelByName, modelNotFoundError } from './catalogue-lock';
import {
  type DepartmentModel,
  findDepartment,
  findModelPolicy,
  findOrganisationAccess,
  listDepartmentModels,
  listOpenModels,
  organisationExists,
  type OrganisationModelAccess,
} from './model-access.query';
import { copyGrants, upsertModelPolicy } from './model-access.store';
import { checkPolicy, type ModelPolicy } from './model-policy';

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
    await copyGrants(tx, sourceIds, targetId);
  }

  async policy(scope: Scope, tx: Tx, organisationId: number): Promise<ModelPolicy> {
    await this.requireOrganisation(scope, tx, organisationId);
    return (await findModelPolicy(tx, organisationId)) ?? noPolicy;
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
    await upsertModelPolicy(tx, organisationId, after);
    return { before, after };
  }

  async department(scope: Scope, tx: Tx, departmentId: number): Promise<DepartmentModelAccess> {
    const department = await findDepartment(tx, departmentId, {
      organisationId: organisationOf(scope),
      departmentId: scope.kind === 'department' ? scope.departmentId : null,
    });
    if (department === undefined) throw fault('not_found', { param: 'dept_id' });
    const models = await listDepartmentModels(tx, department, scope.kind === 'platform');
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
    const openNames = new Set(await listOpenModels(tx, organisationId, names));
    const missing = names.find((name) => !openNames.has(name));
    if (missing !== undefined) throw modelNotFoundError(missing);
  }

  private async organisation(
    tx: Tx,
    organisationId: number,
    modelName: string,
  ): Promise<OrganisationModelAccess> {
    const { id } = await getModelByName(tx, modelName);
    return (await findOrganisationAccess(tx, id, organisationId)) ?? defaultAccess;
  }

  private async requireOrganisation(scope: Scope, tx: Tx, organisationId: number): Promise<void> {
    const ownOrganisationId = organisationOf(scope);
    const isInScope = ownOrganisationId === null || ownOrganisationId === organisationId;
    if (!isInScope || !(await organisationExists(tx, organisationId)))
      throw fault('not_found', { param: 'org_id' });
  }
}

/** Null for the platform, which sees every organisation; 0 matches none. */
const organisationOf = (scope: Scope): number | null =>
  scope.kind === 'platform' ? null : scope.kind === 'user' ? 0 : scope.organisationId;
