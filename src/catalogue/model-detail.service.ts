import { Injectable } from '@nestjs/common';
import { In, IsNull, LessThanOrEqual } from 'typeorm';
import { fault, type PriceRates, priceRates, rejectStale, versionOf } from '../kernel';
import type { Tx } from '../platform';
import type { Wire } from '../vendors';
import { ensureAdminFixture, type FixtureOutcome } from './admin-fixture';
import { CatalogueEditor, type LaneInput, type ModelInput } from './catalogue-editor.service';
import { definedFields, lockCatalogue, getModelByName } from './catalogue-lock';
import { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';
import type { BeforeAndAfter } from './model-access.service';
import { columnsOf, ratesOf } from './price-codec';
import { PriceService } from './price.service';
import { refuseManaged } from './model-versions';

export interface ModelDetailLane {
  readonly id: number;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly weight: number;
  readonly retries: number;
  readonly facts: string | null;
  readonly wire: Wire | null;
  readonly enabled: boolean;
  readonly visible: boolean;
}

export interface ModelDetailPrice {
  readonly id: number;
  readonly rates: PriceRates;
  readonly validFrom: Date | null;
  readonly source: string;
}

export interface ModelDetailSchedule {
  readonly id: number;
  readonly price: ModelDetailPrice;
  readonly startsAt: Date;
  readonly endsAt: Date | null;
}

export interface ModelDetail {
  readonly model: Readonly<Model>;
  readonly redirectTo: string | null;
  readonly overflowTo: string | null;
  readonly aliases: readonly string[];
  readonly lanes: readonly ModelDetailLane[];
  readonly price: ModelDetailPrice | null;
  /** Versions of the model's own price, newest first; at most 20. */
  readonly history: readonly ModelDetailPrice[];
  readonly schedules: readonly ModelDetailSchedule[];
  /** Hash of the editable values: if it still matches, the model was not changed meanwhile. */
  readonly version: string;
}

export interface ModelChange {
  readonly fields: Partial<Omit<ModelInput, 'name'>>;
  readonly lanes?: readonly LaneInput[] | undefined;
  /** A model's name, or null to clear it. */
  readonly overflowTo?: string | null | undefined;
  readonly version?: string | undefined;
}

export interface ModelRateChange {
  readonly rates: Partial<PriceRates>;
  readonly source: string;
  /** Id of the price that the author saw; null if there was none. */
  readonly shown?: number | null | undefined;
}

const MAX_VERSIONS = 20;

@Injectable()
export class ModelDetailService {
  constructor(
    private readonly editor: CatalogueEditor,
    private readonly prices: PriceService,
  ) {}

  async read(tx: Tx, name: string): Promise<ModelDetail> {
    const model = await getModelByName(tx, name);
    const targets = await tx.findBy(Model, { id: In([model.redirectTo ?? 0, model.overflowTo ?? 0]) });
    const nameOf = (id: number | null): string | null => targets.find((one) => one.id === id)?.name ?? null;
    const lanes = await readLanes(tx, model.id);
    const aliases = await tx.find(ModelAlias, { where: { modelId: model.id }, order: { name: 'ASC' } });
    const history = await readPrices(tx, model.id);
    const { id: _id, displayOrder: _order, createdAt: _created, redirectTo: _redirect, ...fields } = model;
    return {
      model,
      redirectTo: nameOf(model.redirectTo),
      overflowTo: nameOf(model.overflowTo),
      aliases: aliases.map((alias) => alias.name),
      lanes,
      price: history.find(({ validFrom }) => validFrom !== null && validFrom <= new Date()) ?? null,
      history,
      schedules: await readSchedules(tx, model.id),
      version: versionOf({ fields, lanes }),
    };
  }

  async create(tx: Tx, input: ModelInput, change: Omit<ModelChange, 'fields'>): Promise<ModelDetail> {
    await lockCatalogue(tx);
    if (await tx.existsBy(Model, { name: input.name }))
      throw fault('conflict', { param: 'model', message: 'A model has this name.' });
    await this.editor.upsertModel(tx, input);
    await this.write(tx, input.name, { fields: {}, ...change });
    return this.read(tx, input.name);
  }

  async ensureFixture(
    tx: Tx,
    name: string,
  ): Promise<{
    readonly before: ModelDetail | null;
    readonly after: ModelDetail;
    readonly result: FixtureOutcome;
  }> {
    await lockCatalogue(tx);
    const before = (await tx.existsBy(Model, { name })) ? await this.read(tx, name) : null;
    const result = await ensureAdminFixture(tx, name);
    return { before, after: await this.read(tx, name), result };
  }

  async change(tx: Tx, name: string, change: ModelChange): Promise<BeforeAndAfter<ModelDetail>> {
    await lockCatalogue(tx);
    const before = await this.read(tx, name);
    refuseManaged(before.model);
    rejectStale(change.version, before.version);
    await this.write(tx, name, change);
    return { before, after: await this.read(tx, name) };
  }

  /**
   * Adds a version of the model's own price, unless it equals the one in force. Every way to set a price uses this
   * method.
   */
  async changeRates(
    tx: Tx,
    name: string,
    { rates, source, shown }: ModelRateChange,
  ): Promise<BeforeAndAfter<ModelDetail>> {
    await lockCatalogue(tx);
    const before = await this.read(tx, name);
    refuseManaged(before.model);
    const { price, model } = before;
    if (shown !== undefined && shown !== (price?.id ?? null)) throw stalePriceError();
    const newRates = mergeRates(model, price?.rates ?? null, rates);
    if (price !== null && haveSameRates(price.rates, newRates)) return { before, after: before };
    await this.prices.addPrice(tx, { model: name, rates: newRates, source });
    return { before, after: await this.read(tx, name) };
  }

  private async write(tx: Tx, name: string, { fields, lanes, overflowTo }: ModelChange): Promise<void> {
    await this.editor.upsertModel(tx, { name, ...fields });
    if (lanes !== undefined) await this.editor.setLanes(tx, name, lanes);
    if (overflowTo !== undefined) await this.editor.setOverflow(tx, name, overflowTo);
  }
}

const stalePriceError = (): Error =>
  fault('conflict', { message: 'The price has changed since it was shown. Look again, then set it.' });

const haveSameRates = (one: PriceRates, other: PriceRates): boolean =>
  versionOf(columnsOf(one)) === versionOf(columnsOf(other));

async function readLanes(tx: Tx, modelId: number): Promise<ModelDetailLane[]> {
  const lanes = await tx.find(Lane, {
    where: { modelId, removedAt: IsNull() },
    order: { priority: 'ASC', id: 'ASC' },
  });
  const providers = await tx.findBy(Provider, { id: In(lanes.map(({ providerId }) => providerId)) });
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  return lanes.map(({ id, providerId, upstreamModel, region, weight, retries, facts, wire, enabled }) => {
    const provider = byId.get(providerId);
    const visible = provider?.visible === true;
    const name = provider?.name ?? '';
    return { id, provider: name, upstreamModel, region, weight, retries, facts, wire, enabled, visible };
  });
}

async function readPrices(tx: Tx, modelId: number): Promise<ModelDetailPrice[]> {
  const rows = await tx.find(Price, {
    where: { modelId, laneId: IsNull(), validFrom: LessThanOrEqual(new Date(8.64e15)) },
    order: { validFrom: 'DESC', id: 'DESC' },
    take: MAX_VERSIONS,
  });
  return rows.map(toDetailPrice);
}

async function readSchedules(tx: Tx, modelId: number): Promise<ModelDetailSchedule[]> {
  const schedules = await tx.find(PriceSchedule, { where: { modelId }, order: { startsAt: 'ASC' } });
  const prices = await tx.findBy(Price, { id: In(schedules.map(({ priceId }) => priceId)) });
  const byId = new Map(prices.map((price) => [price.id, toDetailPrice(price)]));
  return schedules.flatMap(({ id, priceId, startsAt, endsAt }) => {
    const price = byId.get(priceId);
    return price === undefined ? [] : [{ id, price, startsAt, endsAt }];
  });
}

const toDetailPrice = (price: Price): ModelDetailPrice => {
  const { id, validFrom, source } = price;
  return { id, rates: ratesOf(price), validFrom, source };
};

/**
 * Omitted rates keep their value. A first price needs at least one rate, and for a chat model input and output: nothing
 * is free by omission.
 */
export function mergeRates(
  { kind }: Pick<Model, 'kind'>,
  before: PriceRates | null,
  rates: ModelRateChange['rates'],
): PriceRates {
  if (before === null && kind === 'chat' && (rates.input === undefined || rates.output === undefined)) {
    throw fault('missing_fields', { details: { required: ['input_price', 'output_price'] } });
  }
  if (before === null && !Object.values(rates).some((rate: unknown) => typeof rate === 'bigint')) {
    throw fault('missing_fields', {
      details: { required: ['input_price', 'output_price', 'or another rate'] },
    });
  }
  return priceRates({ ...before, ...definedFields(rates) });
}
