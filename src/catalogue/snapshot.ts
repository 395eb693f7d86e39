import type { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';
import { allows, type ModelPolicy } from './model-policy';
import type { Row } from '../platform';
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

type OrganisationAccess = Row<'model_organisation_access'>;

type DepartmentAccess = Row<'department_model_access'>;

/** They are everything the catalogue holds, as of one revision. */
export interface CatalogueRows {
  readonly revision: bigint;
  readonly providers: readonly Provider[];
  readonly models: readonly Model[];
  readonly lanes: readonly Lane[];
  readonly aliases: readonly ModelAlias[];
  readonly prices: readonly Price[];
  readonly schedules: readonly PriceSchedule[];
  readonly organisationAccess: readonly OrganisationAccess[];
  readonly departmentAccess: readonly DepartmentAccess[];
  readonly policies: readonly Row<'model_policy'>[];
}

/** The catalogue of one revision, in memory. It never changes; a newer one takes its place. */
export class CatalogueSnapshot {
  readonly revision: bigint;
  /** They are in the order in which they are shown. */
  readonly models: readonly ModelView[];
  readonly providers: readonly ProviderView[];
  /** They are the regions of every lane, also of those that are switched off. */
  readonly regions: ReadonlySet<string>;
  private readonly byId: ReadonlyMap<number, ModelView>;
  private readonly byName: ReadonlyMap<string, ModelView>;
  private readonly byAlias: ReadonlyMap<string, ModelView>;
  private readonly prices: ReadonlyMap<number, PriceView>;
  /** Rows are found by model, then by whom they are about. */
  private readonly organisationAccess: ReadonlyMap<number, ReadonlyMap<number, OrganisationAccess>>;
  private readonly departmentAccess: ReadonlyMap<number, ReadonlyMap<number, DepartmentAccess>>;
  private readonly policies: ReadonlyMap<number, ModelPolicy>;
  /** Models that an organisation's policy leaves open, computed on first use. */
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

  /** A name leads over aliases and redirects to a model, with the lanes and prices in force at that instant. */
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

  /** It finds a model by its own name or an alias, in any state; redirects are not followed. */
  model(name: string): ModelView | undefined {
    return this.byName.get(name) ?? this.byAlias.get(name);
  }

  modelOf(id: number): ModelView | undefined {
    return this.byId.get(id);
  }

  /** A pinned price, which may no longer be in force. */
  price(id: number): PriceView | undefined {
    return this.prices.get(id);
  }

  /** The platform, the organisation, its policy and the department all have to leave the model open to them. */
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

  /** An organisation chose this policy for itself; without one, it has every model. */
  policyOf(organisationId: number): ModelPolicy | undefined {
    return this.policies.get(organisationId);
  }

  private isWithinPolicy(model: ModelView, organisationId: number): boolean {
    const policy = this.policies.get(organisationId);
    if (policy === undefined || policy.mode === 'all') return true;
    let open = this.openByPolicy.get(organisationId);
    if (open === undefined) {
      open = new Set(this.models.filter(({ name }) => allows(policy, name)).map(({ id }) => id));
      this.openByPolicy.set(organisationId, open);
    }
    return open.has(model.id);
  }
}

/** A redirect of the operator is looked at before. */
export const isRetired = ({ retiresAt }: Pick<ModelView, 'retiresAt'>, at: number): boolean =>
  retiresAt !== null && retiresAt <= at;

function byModel<Access extends { readonly modelId: number }>(
  rows: readonly Access[],
  idOf: (row: Access) => number,
): ReadonlyMap<number, ReadonlyMap<number, Access>> {
  const models = new Map<number, Map<number, Access>>();
  for (const row of rows) {
    const ofModel = models.get(row.modelId);
    if (ofModel === undefined) models.set(row.modelId, new Map([[idOf(row), row]]));
    else ofModel.set(idOf(row), row);
  }
  return models;
}

/**
 * The price of a lane at an instant. A running schedule wins over versions, and a lane's own price over the model's.
 * Among versions the latest one that has begun wins.
 */
function priceAt(model: ModelView, laneId: number | null, at: number): PriceView | undefined {
  for (const schedule of model.schedules) {
    const running = schedule.startsAt <= at && (schedule.endsAt === null || at < schedule.endsAt);
    if (running && covers(schedule.price, laneId)) return schedule.price;
  }
  let general: PriceView | undefined;
  for (const price of model.prices) {
    if (price.validFrom === null || price.validFrom > at || !covers(price, laneId)) continue;
    if (price.laneId !== null) return price;
    general ??= price;
  }
  return general;
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
    const { managed: _managed, fixture, ...shown } = model;
    return Object.freeze({
      ...shown,
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
