import type { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';
import { allows, type ModelPolicy } from './model-policy';
import type { TableRow } from '../platform';
import { chosenWire } from './chosen-wire';
import { factsOfLane } from './facts-of-lane';
import { ratesOf } from './price-codec';
import type {
  LaneView,
  ModelAudience,
  ModelView,
  PricedLane,
  PriceView,
  ProviderView,
  Resolution,
  ScheduleView,
} from './views';

export const MAX_REDIRECTS = 5;

type OrganisationAccessRow = TableRow<'model_organisation_access'>;

type DepartmentAccessRow = TableRow<'department_model_access'>;

export interface CatalogueRows {
  readonly revision: bigint;
  readonly providers: readonly Provider[];
  readonly models: readonly Model[];
  readonly lanes: readonly Lane[];
  readonly aliases: readonly ModelAlias[];
  readonly prices: readonly Price[];
  readonly schedules: readonly PriceSchedule[];
  readonly organisationAccess: readonly OrganisationAccessRow[];
  readonly departmentAccess: readonly DepartmentAccessRow[];
  readonly policies: readonly TableRow<'model_policy'>[];
}

/** Immutable copy of one catalogue revision; a newer snapshot replaces it. */
export class CatalogueSnapshot {
  readonly revision: bigint;
  readonly models: readonly ModelView[];
  readonly providers: readonly ProviderView[];
  readonly regions: ReadonlySet<string>;
  private readonly byId: ReadonlyMap<number, ModelView>;
  private readonly byName: ReadonlyMap<string, ModelView>;
  private readonly byAlias: ReadonlyMap<string, ModelView>;
  private readonly prices: ReadonlyMap<number, PriceView>;
  private readonly organisationAccess: ReadonlyMap<number, ReadonlyMap<number, OrganisationAccessRow>>;
  private readonly departmentAccess: ReadonlyMap<number, ReadonlyMap<number, DepartmentAccessRow>>;
  private readonly policies: ReadonlyMap<number, ModelPolicy>;
  private readonly openByPolicy = new Map<number, ReadonlySet<number>>();

  constructor(rows: CatalogueRows) {
    const views = viewsOf(rows);
    this.revision = rows.revision;
    this.providers = Object.freeze([...views.providers.values()]);
    this.regions = new Set(rows.lanes.map(({ region }) => region));
    this.models = Object.freeze(views.models);
    this.prices = views.prices;
    this.byId = new Map(views.models.map((model) => [model.id, model]));
    this.byName = new Map(views.models.map((model) => [model.name, model]));
    this.byAlias = new Map(
      views.models.flatMap((model) => model.aliases.map((alias) => [alias, model] as const)),
    );
    this.organisationAccess = byModel(rows.organisationAccess, ({ organisationId }) => organisationId);
    this.departmentAccess = byModel(rows.departmentAccess, ({ departmentId }) => departmentId);
    this.policies = new Map(rows.policies.map((row) => [row.organisationId, row]));
  }

  /** Follows aliases and redirects from a name to a model, with the lanes and prices in force at that instant. */
  resolve(name: string, at: number): Resolution {
    const names = [name];
    let model = this.model(name);
    if (model !== undefined && model.name !== name) names.push(model.name);
    for (let hops = 0; model !== undefined && model.redirectTo !== null; hops += 1) {
      if (hops === MAX_REDIRECTS) return { kind: 'refused', code: 'max_hops_exceeded', model };
      model = this.byId.get(model.redirectTo);
      if (model !== undefined) names.push(model.name);
    }
    if (model === undefined || model.state === 'deleted') {
      return { kind: 'refused', code: 'model_not_found', model };
    }
    if (model.state === 'paused' || isRetired(model, at))
      return { kind: 'refused', code: 'model_not_available', model };
    if (model.lanes.length === 0) return { kind: 'refused', code: 'model_not_configured', model };
    const lanes = pricedLanes(model, at);
    if (lanes.length === 0) return { kind: 'refused', code: 'supplier_price_unresolved', model };
    return { kind: 'found', model, names, lanes };
  }

  /** Finds a model by its name or an alias, in any state; redirects are not followed. */
  model(name: string): ModelView | undefined {
    return this.byName.get(name) ?? this.byAlias.get(name);
  }

  modelOf(id: number): ModelView | undefined {
    return this.byId.get(id);
  }

  /** A pinned price, possibly no longer in force. */
  price(id: number): PriceView | undefined {
    return this.prices.get(id);
  }

  /** A model is open only if the platform, the organisation, its policy and the department all allow it. */
  isOpenTo(model: ModelView, audience: ModelAudience): boolean {
    const { organisationId, departmentId } = audience;
    const organisation =
      organisationId === null ? undefined : this.organisationAccess.get(model.id)?.get(organisationId);
    if (model.restricted && organisation?.granted !== true) return false;
    if (organisation?.enabled === false || organisation?.denied === true) return false;
    if (organisationId !== null && !this.isWithinPolicy(model, organisationId)) return false;
    const department =
      departmentId === null ? undefined : this.departmentAccess.get(model.id)?.get(departmentId);
    return department?.allowed !== false;
  }

  /** Policy that the organisation chose; undefined if it can use every model. */
  policyOf(organisationId: number): ModelPolicy | undefined {
    return this.policies.get(organisationId);
  }

  private isWithinPolicy(model: ModelView, organisationId: number): boolean {
    const policy = this.policies.get(organisationId);
    if (policy === undefined || policy.mode === 'all') return true;
    let openModels = this.openByPolicy.get(organisationId);
    if (openModels === undefined) {
      openModels = new Set(this.models.filter(({ name }) => allows(policy, name)).map(({ id }) => id));
      this.openByPolicy.set(organisationId, openModels);
    }
    return openModels.has(model.id);
  }
}

/** A redirect takes precedence over retirement. */
export const isRetired = ({ retiresAt }: Pick<ModelView, 'retiresAt'>, at: number): boolean =>
  retiresAt !== null && retiresAt <= at;

function byModel<Access extends { readonly modelId: number }>(
  rows: readonly Access[],
  idOf: (row: Access) => number,
): ReadonlyMap<number, ReadonlyMap<number, Access>> {
  const models = new Map<number, Map<number, Access>>();
  for (const row of rows) {
    const modelRows = models.get(row.modelId);
    if (modelRows === undefined) models.set(row.modelId, new Map([[idOf(row), row]]));
    else modelRows.set(idOf(row), row);
  }
  return models;
}

/**
 * Returns the price of a lane at an instant. A running schedule beats versions, a lane's own price beats the model's,
 * and the latest started version wins.
 */
function priceAt(model: ModelView, laneId: number | null, at: number): PriceView | undefined {
  for (const schedule of model.schedules) {
    const isRunning = schedule.startsAt <= at && (schedule.endsAt === null || at < schedule.endsAt);
    if (isRunning && covers(schedule.price, laneId)) return schedule.price;
  }
  let modelPrice: PriceView | undefined;
  for (const price of model.prices) {
    if (price.validFrom === null || price.validFrom > at || !covers(price, laneId)) continue;
    if (price.laneId !== null) return price;
    modelPrice ??= price;
  }
  return modelPrice;
}

function covers(price: PriceView, laneId: number | null): boolean {
  return price.laneId === null || price.laneId === laneId;
}

function pricedLanes(model: ModelView, at: number): PricedLane[] {
  const lanes: PricedLane[] = [];
  for (const lane of model.lanes) {
    const price = priceAt(model, lane.id, at);
    if (price !== undefined) lanes.push({ lane, price });
  }
  return lanes;
}

function viewsOf(rows: CatalogueRows) {
  const providers = new Map(rows.providers.map((provider) => [provider.id, providerView(provider)]));
  const prices = new Map(rows.prices.map((price) => [price.id, priceView(price)]));
  const lanes = Map.groupBy(rows.lanes, (lane) => lane.modelId);
  const aliases = Map.groupBy(rows.aliases, (alias) => alias.modelId);
  const pricesOf = Map.groupBy(prices.values(), (price) => price.modelId);
  const schedules = Map.groupBy(rows.schedules, (schedule) => schedule.modelId);
  const models = rows.models.map((model): ModelView => {
    const { managed: _managed, fixture, ...fields } = model;
    return Object.freeze({
      ...fields,
      redirectTo: fixture ? null : model.redirectTo,
      capabilities: new Set(model.capabilities),
      retiresAt: model.retiresAt?.getTime() ?? null,
      createdAt: model.createdAt.getTime(),
      aliases: Object.freeze((aliases.get(model.id) ?? []).map((alias) => alias.name)),
      lanes: Object.freeze(fixture ? [] : laneViews(model, lanes.get(model.id) ?? [], providers)),
      prices: Object.freeze((pricesOf.get(model.id) ?? []).sort(newestFirst)),
      schedules: Object.freeze(scheduleViews(schedules.get(model.id) ?? [], prices)),
    });
  });
  models.sort((a, b) => a.displayOrder - b.displayOrder || (a.name < b.name ? -1 : 1));
  return { providers, prices, models };
}

function providerView(provider: Provider): ProviderView {
  const { id, name, style, baseUrl, regions, visible, settings, timeouts, breaker } = provider;
  return Object.freeze({ id, name, style, baseUrl, regions, visible, settings, timeouts, breaker });
}

function laneViews(
  model: Model,
  lanes: readonly Lane[],
  providers: ReadonlyMap<number, ProviderView>,
): LaneView[] {
  return lanes
    .flatMap(({ id, providerId, upstreamModel, region, priority, weight, retries, enabled, ...lane }) => {
      const provider = providers.get(providerId);
      if (!enabled || provider?.visible !== true) return [];
      const facts = factsOfLane({ facts: lane.facts, upstreamModel }, model, provider);
      const wire = chosenWire(lane, model, provider);
      return [Object.freeze({ id, provider, upstreamModel, region, priority, weight, retries, facts, wire })];
    })
    .sort((a, b) => a.priority - b.priority || a.id - b.id);
}

function priceView(price: Price): PriceView {
  const { id, modelId, laneId, source } = price;
  const validFrom = price.validFrom?.getTime() ?? null;
  return Object.freeze({ id, modelId, laneId, rates: ratesOf(price), validFrom, source });
}

function newestFirst(a: PriceView, b: PriceView): number {
  return (b.validFrom ?? 0) - (a.validFrom ?? 0) || b.id - a.id;
}

function scheduleViews(
  schedules: readonly PriceSchedule[],
  prices: ReadonlyMap<number, PriceView>,
): ScheduleView[] {
  return schedules.flatMap(({ id, priceId, startsAt, endsAt }) => {
    const price = prices.get(priceId);
    if (price === undefined) return [];
    return [Object.freeze({ id, price, startsAt: startsAt.getTime(), endsAt: endsAt?.getTime() ?? null })];
  });
}
