import { Injectable, Optional } from '@nestjs/common';
import { IsNull } from 'typeorm';
import {
  defineTransitions,
  fault,
  missingFields,
  rejectStale,
  normaliseRegion,
  normaliseRegions,
} from '../kernel';
import { AddressGuard, Settings, type Tx } from '../platform';
import type { Wire } from '../vendors';
import { definedFields, lockCatalogue, getModelByNameOrAlias, getModelByName } from './catalogue-lock';
import { originsOf } from './credential';
import { ProviderCredential, wipedFields } from './credential.entity';
import { Lane, Model, MODEL_STATES, ModelAlias, type ModelState, Provider } from './entities';
import { checkEgress } from './egress';
import { checkAddresses, checkName, checkProvider, checkRedirects, checkTarget } from './catalogue-rules';
import { refuseUnknownRegions } from './known-regions';
import { setAllowedRegions, upsertDepartmentAccess, upsertOrganisationAccess } from './model-access.store';
import { aliasesVersion, redirectVersion, stateVersion } from './model-versions';
import type { OrganisationAccessInput } from './model-access.store';

/** Looked up by id or name; omitted fields keep their value. */
export type ProviderInput = { readonly id?: number } & Partial<
  Pick<
    Provider,
    'name' | 'style' | 'baseUrl' | 'regions' | 'visible' | 'settings' | 'timeouts' | 'breaker' | 'managed'
  >
>;

/** Looked up by name; omitted fields keep their value. */
export type ModelInput = Pick<Model, 'name'> &
  Partial<Omit<Model, 'id' | 'name' | 'state' | 'redirectTo' | 'overflowTo' | 'createdAt'>>;

export interface LaneInput {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  /** Defaults to the index in the list. */
  readonly priority?: number;
  readonly weight?: number;
  readonly retries?: number;
  readonly facts?: string | null;
  readonly wire?: Wire | null;
  readonly enabled?: boolean;
}

const modelTransitions = defineTransitions<ModelState>({
  active: MODEL_STATES,
  paused: MODEL_STATES,
  hidden: MODEL_STATES,
  deleted: MODEL_STATES,
});

@Injectable()
export class CatalogueEditor {
  /**
   * Without `guard` and `settings`, as for the built-in sandbox, addresses and proxies are checked only when a
   * connection is opened.
   */
  constructor(
    @Optional() private readonly guard?: AddressGuard,
    @Optional() private readonly settings?: Settings,
  ) {}

  async upsertProvider(tx: Tx, input: ProviderInput): Promise<Provider> {
    await lockCatalogue(tx);
    const { id, ...fields } = input;
    checkProvider(fields);
    checkEgress(fields.settings, this.settings);
    if (this.guard !== undefined) checkAddresses(this.guard, fields);
    const existing = await this.findProvider(tx, id, fields.name);
    if (fields.name !== undefined && existing !== null && existing.name !== fields.name) {
      const taken = await tx.existsBy(Provider, { name: fields.name, removedAt: IsNull() });
      if (taken) throw fault('conflict', { param: 'name', message: 'Another provider has this name.' });
    }
    if (existing === null) {
      const { name, style, baseUrl } = fields;
      if (name === undefined || style === undefined || baseUrl === undefined) {
        throw fault('missing_fields', { details: { required: ['name', 'style', 'base_url'] } });
      }
      return tx.save(Provider, { ...definedFields(fields), name, style, baseUrl });
    }
    const updatedProvider = await this.change(tx, Provider, existing.id, fields);
    if (originsOf(updatedProvider) !== originsOf(existing)) await this.wipeSecrets(tx, existing.id);
    return updatedProvider;
  }

  async removeProvider(tx: Tx, id: number): Promise<void> {
    await lockCatalogue(tx);
    const provider = await this.findProvider(tx, id, undefined);
    const lanes = await tx.countBy(Lane, { providerId: id, removedAt: IsNull() });
    if (lanes > 0) {
      throw fault('conflict', { message: 'Models are still assigned to this provider.', details: { lanes } });
    }
    await this.wipeSecrets(tx, id);
    await tx.update(Provider, { id: provider?.id }, { removedAt: new Date() });
  }

  async upsertModel(tx: Tx, input: ModelInput): Promise<Model> {
    await lockCatalogue(tx);
    const existing = await tx.findOneBy(Model, { name: input.name });
    if (existing !== null) {
      if (input.kind !== undefined && input.kind !== existing.kind)
        await this.checkLinks(tx, { ...existing, kind: input.kind });
      return this.change(tx, Model, existing.id, input);
    }
    checkName(input.name, 'model');
    if (await tx.existsBy(ModelAlias, { name: input.name }))
      throw nameTakenError('model', 'An alias has this name.');
    const { kind, ownedBy } = input;
    if (kind === undefined || ownedBy === undefined) {
      throw missingFields({ kind, owned_by: ownedBy });
    }
    return tx.save(Model, { displayName: input.name, ...definedFields(input), kind, ownedBy });
  }

  /** Replaces the lanes of a model. Remaining lanes keep their id and any omitted field. */
  async setLanes(tx: Tx, modelName: string, inputs: readonly LaneInput[]): Promise<Lane[]> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, modelName);
    const existing = new Map(
      (await tx.findBy(Lane, { modelId: model.id })).map((lane) => [routeOf(lane), lane]),
    );
    const listedRoutes = new Set<string>();
    for (const [index, input] of inputs.entries()) {
      const { provider: providerName, priority = index, region: regionName, ...rest } = input;
      const region = normaliseRegion(regionName);
      const providerId = await this.providerFor(tx, providerName, region);
      const fields = { ...definedFields(rest), priority, providerId, modelId: model.id, removedAt: null };
      const route = routeOf({ ...input, region, providerId });
      if (listedRoutes.has(route))
        throw fault('validation_error', { param: 'lanes', message: 'A lane is listed twice.' });
      listedRoutes.add(route);
      const lane = existing.get(route);
      if (lane === undefined)
        await tx.insert(Lane, { ...fields, upstreamModel: input.upstreamModel, region });
      else await tx.update(Lane, { id: lane.id }, fields);
    }
    for (const [route, lane] of existing) {
      if (!listedRoutes.has(route) && lane.removedAt === null)
        await tx.update(Lane, { id: lane.id }, { removedAt: new Date() });
    }
    return tx.find(Lane, {
      where: { modelId: model.id, removedAt: IsNull() },
      order: { priority: 'ASC', id: 'ASC' },
    });
  }

  /**
   * `expectedVersion` is the version of the aliases that the author saw. Adding an existing alias again changes
   * nothing.
   */
  async addAlias(tx: Tx, name: string, modelName: string, expectedVersion?: string): Promise<void> {
    await lockCatalogue(tx);
    checkName(name, 'alias');
    const model = await getModelByName(tx, modelName);
    const existing = await tx.findOneBy(ModelAlias, { name });
    if (existing?.modelId === model.id) return;
    const aliases = await tx.findBy(ModelAlias, { modelId: model.id });
    rejectStale(expectedVersion, aliasesVersion(aliases.map((alias) => alias.name)));
    if (existing !== null) throw nameTakenError('alias', 'The alias points at another model.');
    if (await tx.existsBy(Model, { name })) throw nameTakenError('alias', 'A model has this name.');
    await tx.insert(ModelAlias, { name, modelId: model.id });
  }

  async removeAlias(tx: Tx, name: string): Promise<void> {
    await lockCatalogue(tx);
    const { affected } = await tx.delete(ModelAlias, { name });
    if (affected === 0) throw fault('not_found', { param: 'alias' });
  }

  async setState(tx: Tx, modelName: string, state: ModelState, expectedVersion?: string): Promise<void> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, modelName);
    rejectStale(expectedVersion, stateVersion(model.state));
    modelTransitions.assert(model.state, state);
    await tx.update(Model, { id: model.id }, { state });
  }

  /**
   * Null removes the redirect; loops and chains of more than five hops are rejected. `expectedVersion` is the version
   * of the redirect that the author saw.
   */
  async setRedirect(
    tx: Tx,
    modelName: string,
    targetName: string | null,
    expectedVersion?: string,
  ): Promise<void> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, modelName);
    rejectStale(expectedVersion, redirectVersion(model.redirectTo));
    const target = targetName === null ? null : await getModelByNameOrAlias(tx, targetName);
    if (target !== null) {
      checkTarget(model, target);
      const models = await tx.find(Model, { select: { id: true, redirectTo: true } });
      const redirects = new Map(models.map(({ id, redirectTo }) => [id, redirectTo]));
      checkRedirects(redirects.set(model.id, target.id));
    }
    await tx.update(Model, { id: model.id }, { redirectTo: target?.id ?? null });
  }

  /** Null removes the overflow target. Overflow follows a single hop, so loops are harmless. */
  async setOverflow(tx: Tx, modelName: string, targetName: string | null): Promise<void> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, modelName);
    const target = targetName === null ? null : await getModelByNameOrAlias(tx, targetName);
    if (target?.id === model.id) {
      throw fault('validation_error', {
        param: 'overflow_to',
        message: 'A model cannot take over from itself.',
      });
    }
    await tx.update(Model, { id: model.id }, { overflowTo: target?.id ?? null });
  }

  /** Regions that are allowed to serve the organisation's requests; null allows any. */
  async setOrganisationRegions(tx: Tx, organisationId: number, regions: string[] | null): Promise<void> {
    await refuseUnknownRegions(tx, 'regions', regions ?? []);
    await setAllowedRegions(tx, organisationId, regions === null ? null : normaliseRegions(regions));
  }

  async setOrganisationAccess(
    tx: Tx,
    modelName: string,
    organisationId: number,
    access: OrganisationAccessInput,
  ): Promise<void> {
    const model = await getModelByName(tx, modelName);
    await upsertOrganisationAccess(tx, model.id, organisationId, access);
  }

  async setDepartmentAccess(
    tx: Tx,
    departmentId: number,
    modelName: string,
    allowed: boolean,
  ): Promise<void> {
    const model = await getModelByName(tx, modelName);
    await upsertDepartmentAccess(tx, model.id, departmentId, allowed);
  }

  private async checkLinks(tx: Tx, model: Model): Promise<void> {
    const target = model.redirectTo === null ? null : await tx.findOneBy(Model, { id: model.redirectTo });
    if (target !== null) checkTarget(model, target);
    for (const source of await tx.findBy(Model, { redirectTo: model.id })) checkTarget(source, model);
  }

  private async findProvider(
    tx: Tx,
    id: number | undefined,
    name: string | undefined,
  ): Promise<Provider | null> {
    const existing =
      id === undefined
        ? name === undefined
          ? null
          : await tx.findOneBy(Provider, { name, removedAt: IsNull() })
        : await tx.findOneBy(Provider, { id, removedAt: IsNull() });
    if (existing === null && id !== undefined) throw fault('not_found', { param: 'provider_id' });
    return existing;
  }

  private async providerFor(tx: Tx, name: string, region: string): Promise<number> {
    const provider = await this.findProvider(tx, undefined, name);
    if (provider === null)
      throw fault('invalid_provider', { param: 'provider', message: `There is no provider "${name}".` });
    if (provider.regions.length > 0 && !provider.regions.includes(region)) {
      throw fault('validation_error', {
        param: 'region',
        message: `Provider "${name}" does not serve region "${region}".`,
      });
    }
    return provider.id;
  }

  /** A secret belongs to the address it was entered for and is wiped when that address changes. */
  private async wipeSecrets(tx: Tx, providerId: number): Promise<void> {
    await tx.update(ProviderCredential, { providerId, disabledAt: IsNull() }, wipedFields());
  }

  private async change<Target extends Model | Provider>(
    tx: Tx,
    entity: new () => Target,
    id: number,
    fields: object,
  ): Promise<Target> {
    const changes = definedFields(fields);
    if (Object.keys(changes).length > 0) await tx.update(entity, id, changes);
    return tx.createQueryBuilder(entity, 'row').where('row.id = :id', { id }).getOneOrFail();
  }
}

function routeOf(lane: Pick<Lane, 'providerId' | 'upstreamModel' | 'region'>): string {
  return JSON.stringify([lane.providerId, lane.upstreamModel, lane.region]);
}

function nameTakenError(param: 'model' | 'alias', message: string): Error {
  return fault('alias_redirect_conflict', { param, message });
}
