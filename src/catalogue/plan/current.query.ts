import { modelFields, type ModelValues } from '../entities';
import { ratesOf, type StoredRates } from '../price-codec';
import type { Wire } from '../../vendors';
import type { ProviderView } from '../views';
import {
  type Camel,
  camelCased,
  type PriceRates,
  type RateName,
  RATES,
  normaliseRegions,
} from '../../kernel';
import { readRows, type TableRow, type Tx } from '../../platform';

export interface CurrentCatalogue {
  readonly providers: ReadonlyMap<string, CurrentProvider>;
  readonly models: ReadonlyMap<string, CurrentModel>;
  readonly aliases: ReadonlyMap<string, string>;
  readonly organisations: ReadonlyMap<string, CurrentOrganisation>;
}

export interface CurrentProvider extends ProviderView {
  readonly managed: boolean;
  readonly credentials: Readonly<Record<string, string>>;
}

export interface CurrentModel extends ModelValues {
  readonly id: number;
  readonly name: string;
  readonly redirect: string | null;
  readonly overflow: string | null;
  readonly managed: boolean;
  readonly lanes: readonly CurrentLane[];
  readonly price: CurrentPrice | null;
  readonly schedules: readonly CurrentSchedule[];
}

export interface CurrentLane {
  readonly id: number;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly priority: number;
  readonly weight: number;
  readonly retries: number;
  readonly facts: string | null;
  readonly wire: Wire | null;
  readonly enabled: boolean;
  readonly price: CurrentPrice | null;
}

export interface CurrentPrice {
  readonly rates: PriceRates;
  readonly source: string;
}

export interface CurrentSchedule extends CurrentPrice {
  readonly id: number;
  readonly priceId: number;
  readonly startsAt: Date;
  readonly endsAt: Date | null;
}

export interface CurrentOrganisation {
  readonly id: number;
  readonly regions: readonly string[] | null;
  readonly access: Readonly<Record<string, boolean>>;
  readonly departments: ReadonlyMap<string, CurrentDepartment>;
}

interface CurrentDepartment {
  readonly id: number;
  readonly access: Readonly<Record<string, boolean>>;
}

export async function readCurrent(tx: Tx): Promise<CurrentCatalogue> {
  const providers = await readRows<CurrentProvider>(tx, PROVIDERS);
  const [models, aliases] = [await readModels(tx), await tx.query<AliasRow[]>(ALIASES)];
  return {
    providers: byName(providers.map((one) => ({ ...one, regions: normaliseRegions(one.regions) }))),
    models: byName(models),
    aliases: new Map(aliases.map(({ name, model }) => [name, model])),
    organisations: await readOrganisations(tx),
  };
}

const PROVIDERS = `
  SELECT id, name, style, base_url, regions, visible, settings, timeouts, breaker, managed,
         (SELECT coalesce(jsonb_object_agg(label, c.id), '{}') FROM provider_credential c
           WHERE c.provider_id = p.id AND disabled_at IS NULL) AS credentials
    FROM provider p WHERE removed_at IS NULL ORDER BY name`;

type AliasRow = TableRow<'model_alias', 'name'> & { readonly model: string };
const ALIASES =
  'SELECT a.name, m.name AS model FROM model_alias a JOIN model m ON m.id = a.model_id ORDER BY a.name';

type CurrentModelRow = Omit<CurrentModel, 'lanes' | 'price' | 'schedules'>;
const MODELS = `
  SELECT m.id, m.name, target.name AS redirect, larger.name AS overflow, m.managed, ${modelFields.selection('m')}
    FROM model m LEFT JOIN model target ON target.id = m.redirect_to
    LEFT JOIN model larger ON larger.id = m.overflow_to ORDER BY m.name`;

type LaneRow = Omit<CurrentLane, 'price'> & { readonly modelId: number };
const LANES = `
  SELECT l.id, l.model_id, p.name AS provider, l.upstream_model, lower(btrim(l.region)) AS region,
         l.priority, l.weight, l.retries, l.facts, l.wire, l.enabled
    FROM lane l JOIN provider p ON p.id = l.provider_id WHERE l.removed_at IS NULL ORDER BY l.priority, l.id`;

type PriceRow = TableRow<'price'> & Pick<StoredRates, 'tiers' | 'fees'>;
/** Newest started version for every model and lane with prices. */
const PRICES = `
  SELECT DISTINCT ON (model_id, lane_id) * FROM price WHERE valid_from <= $1
   ORDER BY model_id, lane_id, valid_from DESC, id DESC`;
const SCHEDULES = `
  SELECT p.*, s.id AS schedule_id, s.starts_at, s.ends_at FROM price_schedule s JOIN price p ON p.id = s.price_id
   WHERE coalesce(s.ends_at > $1, true) ORDER BY s.starts_at`;

async function readModels(tx: Tx): Promise<CurrentModel[]> {
  const now = new Date();
  const lanes = Map.groupBy(await readRows<LaneRow>(tx, LANES), ({ modelId }) => modelId);
  const prices = (await readRows<PriceRow>(tx, PRICES, [now])).map(priceOf);
  const schedules = (await readRows<ScheduleRow>(tx, SCHEDULES, [now])).map(scheduleOf);
  const schedulesByModel = Map.groupBy(schedules, ({ modelId }) => modelId);
  const modelPrices = new Map(
    prices.filter(({ laneId }) => laneId === null).map((one) => [one.modelId, one]),
  );
  const lanePrices = new Map(prices.map((one) => [one.laneId, one]));
  return (await tx.query<CurrentModelRow[]>(MODELS)).map((model) => ({
    ...model,
    lanes: (lanes.get(model.id) ?? []).map((lane) => ({ ...lane, price: lanePrices.get(lane.id) ?? null })),
    price: modelPrices.get(model.id) ?? null,
    schedules: schedulesByModel.get(model.id) ?? [],
  }));
}

interface CurrentPriceVersion extends CurrentPrice {
  readonly id: number;
  readonly modelId: number;
  readonly laneId: number | null;
}

function priceOf(row: PriceRow): CurrentPriceVersion {
  const { id, modelId, laneId, source } = row;
  return { id, modelId, laneId, source, rates: ratesOf({ ...row, ...amountsIn(row) }) };
}

const amountsIn = (row: PriceRow): Pick<StoredRates, RateName> =>
  Object.fromEntries(
    RATES.map(({ name, word }) => [name, nanoOf(row[camelCased(word) as Camel<typeof word>])]),
  ) as Pick<StoredRates, RateName>;

const nanoOf = (value: string | null): bigint | null => (value === null ? null : BigInt(value));

type ScheduleRow = PriceRow &
  TableRow<'price_schedule', 'starts_at, ends_at'> & { readonly scheduleId: number };

function scheduleOf(row: ScheduleRow): CurrentSchedule & { readonly modelId: number } {
  const { id: priceId, modelId, rates, source } = priceOf(row);
  return {
    id: row.scheduleId,
    modelId,
    priceId,
    rates,
    source,
    startsAt: row.startsAt,
    endsAt: row.endsAt,
  };
}

type OrganisationRow = TableRow<'organisation', 'id, slug'> & {
  readonly regions: string[] | null;
  readonly access: Record<string, boolean>;
};
/** A model is open to an organisation if the platform granted it and the organisation has not switched it off. */
const ORGANISATIONS = `
  SELECT o.id, o.slug, o.allowed_regions AS regions,
         (SELECT coalesce(jsonb_object_agg(m.name, a.granted AND a.enabled), '{}')
            FROM model_organisation_access a JOIN model m ON m.id = a.model_id
           WHERE a.organisation_id = o.id AND a.granted = a.enabled) AS access
    FROM organisation o`;

type DepartmentRow = TableRow<'department', 'id, organisation_id, name'> & {
  readonly access: Record<string, boolean>;
};
const DEPARTMENTS = `
  SELECT d.id, d.organisation_id, d.name,
         (SELECT coalesce(jsonb_object_agg(m.name, a.allowed), '{}')
            FROM department_model_access a JOIN model m ON m.id = a.model_id
           WHERE a.department_id = d.id) AS access
    FROM department d`;

async function readOrganisations(tx: Tx): Promise<Map<string, CurrentOrganisation>> {
  const departments = Map.groupBy(
    await readRows<DepartmentRow>(tx, DEPARTMENTS),
    ({ organisationId }) => organisationId,
  );
  const rows = await tx.query<OrganisationRow[]>(ORGANISATIONS);
  return new Map(
    rows.map(({ slug, ...organisation }) => [
      slug,
      {
        ...organisation,
        regions: organisation.regions === null ? null : normaliseRegions(organisation.regions),
        departments: byName(departments.get(organisation.id) ?? []),
      },
    ]),
  );
}

const byName = <Row extends { readonly name: string }>(rows: readonly Row[]): Map<string, Row> =>
  new Map(rows.map((row) => [row.name, row]));
