import { Injectable, Optional } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { defineTransitions, fault, missingFields, refuseStale, regionNamed, regionsNamed } from '../kernel';
import { AddressGuard, Settings, type Tx } from '../platform';
import type { Wire } from '../vendors';
import { given, lockCatalogue, modelCalled, modelNamed } from './catalogue-lock';
import { originsOf } from './credential';
import { ProviderCredential, wiped } from './credential.entity';
import { Lane, Model, MODEL_STATES, ModelAlias, type ModelState, Provider } from './entities';
import { checkEgress } from './egress';
import { checkAddresses, checkName, checkProvider, checkRedirects, checkTarget } from './catalogue-rules';
import { refuseUnknownRegions } from './known-regions';
import { aliasesVersion, redirectVersion, stateVersion } from './sheet-version';

/** A provider is found by id, or by name; fields left out keep their value. */
export type ProviderInput = { readonly id?: number } & Partial<
  Pick<
    Provider,
    'name' | 'style' | 'baseUrl' | 'regions' | 'visible' | 'settings' | 'timeouts' | 'breaker' | 'managed'
  >
>;

/** A model is found by its name; fields left out keep their value. */
export type ModelInput = Pick<Model, 'name'> &
  Partial<Omit<Model, 'id' | 'name' | 'state' | 'redirectTo' | 'overflowTo' | 'createdAt'>>;

export interface LaneInput {
  /** The provider's name. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  /** Left out, it is the place in the list. */
  readonly priority?: number;
  readonly weight?: number;
  readonly retries?: number;
  readonly facts?: string | null;
  readonly wire?: Wire | null;
  readonly enabled?: boolean;
}

export interface OrganisationAccessInput {
  /** The platform's grant of a restricted model. */
  readonly granted?: boolean;
  /** The organisation's own switch. */
  readonly enabled?: boolean;
  /** The platform's refusal of a model that is open to others. A grant removes it. */
  readonly denied?: boolean;
}

/** An administrator may set any state; `deleted` keeps the record and can be undone. */
const modelTransitions = defineTransitions<ModelState>({
  active: MODEL_STATES,
  paused: MODEL_STATES,
  hidden: MODEL_STATES,
  deleted: MODEL_STATES,
});

/** Makes all changes of the catalogue except those of prices. */
@Injectable()
export class CatalogueEditor {
  /** Without both, as for the sandbox of our own, a way out is checked only when it is taken. */
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
    const known = await this.findProvider(tx, id, fields.name);
    if (fields.name !== undefined && known !== null && known.name !== fields.name) {
      const taken = await tx.existsBy(Provider, { name: fields.name, removedAt: IsNull() });
      if (taken) throw fault('conflict', { param: 'name', message: 'Another provider has this name.' });
    }
    if (known === null) {
      const { name, style, baseUrl } = fields;
      if (name === undefined || style === undefined || baseUrl === undefined) {
        throw fault('missing_fields', { details: { required: ['name', 'style', 'base_url'] } });
      }
      return tx.save(Provider, { ...given(fields), name, style, baseUrl });
    }
    const changed = await this.change(tx, Provider, known.id, fields);
    if (originsOf(changed) !== originsOf(known)) await this.wipeSecrets(tx, known.id);
    return changed;
  }

  /** Only a provider that no model uses can be removed. */
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
    const known = await tx.findOneBy(Model, { name: input.name });
    if (known !== null) {
      if (input.kind !== undefined && input.kind !== known.kind)
        await this.checkLinks(tx, { ...known, kind: input.kind });
      return this.change(tx, Model, known.id, input);
    }
    checkName(input.name, 'model');
    if (await tx.existsBy(ModelAlias, { name: input.name }))
      throw nameTaken('model', 'An alias has this name.');
    const { kind, ownedBy } = input;
    if (kind === undefined || ownedBy === undefined) {
      throw missingFields({ kind, owned_by: ownedBy });
    }
    return tx.save(Model, { displayName: input.name, ...given(input), kind, ownedBy });
  }

  /** Replaces the chain of a model. Remaining lanes keep their id and any field that is left out. */
  async setLanes(tx: Tx, modelName: string, inputs: readonly LaneInput[]): Promise<Lane[]> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, modelName);
    const known = new Map(
      (await tx.findBy(Lane, { modelId: model.id })).map((lane) => [routeOf(lane), lane]),
    );
    const kept = new Set<string>();
    for (const [index, input] of inputs.entries()) {
      const { provider: providerName, priority = index, region: named, ...rest } = input;
      const region = regionNamed(named);
      const providerId = await this.providerFor(tx, providerName, region);
      const fields = { ...given(rest), priority, providerId, modelId: model.id, removedAt: null };
      const route = routeOf({ ...input, region, providerId });
      if (kept.has(route))
        throw fault('validation_error', { param: 'lanes', message: 'A lane is listed twice.' });
      kept.add(route);
      const lane = known.get(route);
      if (lane === undefined)
        await tx.insert(Lane, { ...fields, upstreamModel: input.upstreamModel, region });
      else await tx.update(Lane, { id: lane.id }, fields);
    }
    for (const [route, lane] of known) {
      if (!kept.has(route) && lane.removedAt === null)
        await tx.update(Lane, { id: lane.id }, { removedAt: new Date() });
    }
    return tx.find(Lane, {
      where: { modelId: model.id, removedAt: IsNull() },
      order: { priority: 'ASC', id: 'ASC' },
    });
  }

  /** `shown` is the version of the names that its author saw. The same name again changes nothing. */
  async addAlias(tx: Tx, name: string, modelName: string, shown?: string): Promise<void> {
    await lockCatalogue(tx);
    checkName(name, 'alias');
    const model = await modelNamed(tx, modelName);
    const known = await tx.findOneBy(ModelAlias, { name });
    if (known?.modelId === model.id) return;
    const aliases = await tx.findBy(ModelAlias, { modelId: model.id });
    refuseStale(shown, aliasesVersion(aliases.map((alias) => alias.name)));
    if (known !== null) throw nameTaken('alias', 'The alias points at another model.');
    if (await tx.existsBy(Model, { name })) throw nameTaken('alias', 'A model has this name.');
    await tx.insert(ModelAlias, { name, modelId: model.id });
  }

  async removeAlias(tx: Tx, name: string): Promise<void> {
    await lockCatalogue(tx);
    const { affected } = await tx.delete(ModelAlias, { name });
    if (affected === 0) throw fault('not_found', { param: 'alias' });
  }

  /** `shown` is the version of the state that its author saw. */
  async setState(tx: Tx, modelName: string, state: ModelState, shown?: string): Promise<void> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, modelName);
    refuseStale(shown, stateVersion(model.state));
    modelTransitions.assert(model.state, state);
    await tx.update(Model, { id: model.id }, { state });
  }

  /**
   * Null removes it. A circle, or a chain of more than five hops, is refused. `shown` is the version of the redirect
   * that its author saw.
   */
  async setRedirect(tx: Tx, modelName: string, targetName: string | null, shown?: string): Promise<void> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, modelName);
    refuseStale(shown, redirectVersion(model.redirectTo));
    const target = targetName === null ? null : await modelCalled(tx, targetName);
    if (target !== null) {
      checkTarget(model, target);
      const models = await tx.find(Model, { select: { id: true, redirectTo: true } });
      const redirects = new Map(models.map(({ id, redirectTo }) => [id, redirectTo]));
      checkRedirects(redirects.set(model.id, target.id));
    }
    await tx.update(Model, { id: model.id }, { redirectTo: target?.id ?? null });
  }

  /** Null removes it. Only one step is taken, so circles do no harm. */
  async setOverflow(tx: Tx, modelName: string, targetName: string | null): Promise<void> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, modelName);
    const target = targetName === null ? null : await modelCalled(tx, targetName);
    if (target?.id === model.id) {
      throw fault('validation_error', {
        param: 'overflow_to',
        message: 'A model cannot take over from itself.',
      });
    }
    await tx.update(Model, { id: model.id }, { overflowTo: target?.id ?? null });
  }

  /** An organisation's requests may be served in these regions; null means anywhere. */
  async setOrganisationRegions(tx: Tx, organisationId: number, regions: string[] | null): Promise<void> {
    await refuseUnknownRegions(tx, 'regions', regions ?? []);
    await tx.query('UPDATE organisation SET allowed_regions = $2 WHERE id = $1', [
      organisationId,
      regions === null ? null : regionsNamed(regions),
    ]);
  }

  async setOrganisationAccess(
    tx: Tx,
    modelName: string,
    organisationId: number,
    access: OrganisationAccessInput,
  ): Promise<void> {
    const model = await modelNamed(tx, modelName);
    await tx.query(
      `INSERT INTO model_organisation_access AS known (model_id, organisation_id, granted, enabled, denied)
       VALUES ($1, $2, coalesce($3, false), coalesce($4, true), coalesce($5, false))
       ON CONFLICT (model_id, organisation_id) DO UPDATE
         SET granted = coalesce($3, known.granted), enabled = coalesce($4, known.enabled),
             denied = coalesce($5, known.denied)`,
      [
        model.id,
        organisationId,
        access.granted ?? null,
        access.enabled ?? null,
        access.denied ?? (access.granted === true ? false : null),
      ],
    );
  }

  async setDepartmentAccess(
    tx: Tx,
    departmentId: number,
    modelName: string,
    allowed: boolean,
  ): Promise<void> {
    const model = await modelNamed(tx, modelName);
    await tx.query(
      `INSERT INTO department_model_access (department_id, model_id, allowed) VALUES ($1, $2, $3)
       ON CONFLICT (department_id, model_id) DO UPDATE SET allowed = $3`,
      [departmentId, model.id, allowed],
    );
  }

  /** A model keeps its kind while it is redirected, or others are redirected to it. */
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
    const known =
      id === undefined
        ? name === undefined
          ? null
          : await tx.findOneBy(Provider, { name, removedAt: IsNull() })
        : await tx.findOneBy(Provider, { id, removedAt: IsNull() });
    if (known === null && id !== undefined) throw fault('not_found', { param: 'provider_id' });
    return known;
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

  /** A secret belongs to the address it was entered for, and is wiped when that changes. */
  private async wipeSecrets(tx: Tx, providerId: number): Promise<void> {
    await tx.update(ProviderCredential, { providerId, disabledAt: IsNull() }, wiped());
  }

  private async change<Row extends Model | Provider>(
    tx: Tx,
    entity: new () => Row,
    id: number,
    fields: object,
  ): Promise<Row> {
    const changes = given(fields);
    if (Object.keys(changes).length > 0) await tx.update(entity, id, changes);
    return tx.createQueryBuilder(entity, 'row').where('row.id = :id', { id }).getOneOrFail();
  }
}

function routeOf(lane: Pick<Lane, 'providerId' | 'upstreamModel' | 'region'>): string {
  return JSON.stringify([lane.providerId, lane.upstreamModel, lane.region]);
}

function nameTaken(param: 'model' | 'alias', message: string): Error {
  return fault('alias_redirect_conflict', { param, message });
}
