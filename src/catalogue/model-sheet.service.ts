import { Injectable } from '@nestjs/common';
import { In, IsNull, LessThanOrEqual } from 'typeorm';
import { fault, type PriceRates, priceRates, refuseStale, versionOf } from '../kernel';
import type { Tx } from '../platform';
import type { Wire } from '../vendors';
import { ensureAdminFixture, type FixtureOutcome } from './admin-fixture';
import { CatalogueEditor, type LaneInput, type ModelInput } from './catalogue-editor.service';
import { given, lockCatalogue, modelNamed } from './catalogue-lock';
import { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from './entities';
import type { Changed } from './model-access.service';
import { columnsOf, ratesOf } from './price-codec';
import { PriceService } from './price.service';
import { refuseManaged } from './sheet-version';

export interface SheetLane {
  readonly id: number;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly weight: number;
  readonly retries: number;
  readonly facts: string | null;
  readonly wire: Wire | null;
  readonly enabled: boolean;
  /** A hidden provider's lanes rest. */
  readonly visible: boolean;
}

export interface SheetPrice {
  readonly id: number;
  readonly rates: PriceRates;
  readonly validFrom: Date | null;
  readonly source: string;
}

export interface SheetSchedule {
  readonly id: number;
  readonly price: SheetPrice;
  readonly startsAt: Date;
  readonly endsAt: Date | null;
}

/** A model as its page shows it. */
export interface ModelSheet {
  readonly model: Readonly<Model>;
  readonly redirectTo: string | null;
  readonly overflowTo: string | null;
  readonly aliases: readonly string[];
  /** The primary first. */
  readonly lanes: readonly SheetLane[];
  readonly price: SheetPrice | null;
  /** These are versions of the model's own price, the newest first; at most twenty. */
  readonly history: readonly SheetPrice[];
  readonly schedules: readonly SheetSchedule[];
  /** A hash of the editable values: if it still matches, the model was not changed meanwhile. */
  readonly version: string;
}

export interface ModelChange {
  readonly fields: Partial<Omit<ModelInput, 'name'>>;
  readonly lanes?: readonly LaneInput[] | undefined;
  /** A model's name, or null to clear it. */
  readonly overflowTo?: string | null | undefined;
  /** The version that was shown. */
  readonly version?: string | undefined;
}

export interface RateChange {
  readonly rates: Partial<PriceRates>;
  readonly source: string;
  /** The displayed price; null: there was none. */
  readonly shown?: number | null | undefined;
}

const MOST_VERSIONS = 20;

/** Reads whole models and changes them with optimistic locking. */
@Injectable()
export class ModelSheets {
  constructor(
    private readonly editor: CatalogueEditor,
    private readonly prices: PriceService,
  ) {}

  async read(tx: Tx, name: string): Promise<ModelSheet> {
    const model = await modelNamed(tx, name);
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

  async create(tx: Tx, input: ModelInput, change: Omit<ModelChange, 'fields'>): Promise<ModelSheet> {
    await lockCatalogue(tx);
    if (await tx.existsBy(Model, { name: input.name }))
      throw fault('conflict', { param: 'model', message: 'A model has this name.' });
    await this.editor.upsertModel(tx, input);
    await this.write(tx, input.name, { fields: {}, ...change });
    return this.read(tx, input.name);
  }

  /** Its record tells all that a repair undoes. */
  async ensureFixture(
    tx: Tx,
    name: string,
  ): Promise<{
    readonly before: ModelSheet | null;
    readonly after: ModelSheet;
    readonly result: FixtureOutcome;
  }> {
    await lockCatalogue(tx);
    const before = (await tx.existsBy(Model, { name })) ? await this.read(tx, name) : null;
    const result = await ensureAdminFixture(tx, name);
    return { before, after: await this.read(tx, name), result };
  }

  async change(tx: Tx, name: string, change: ModelChange): Promise<Changed<ModelSheet>> {
    await lockCatalogue(tx);
    const before = await this.read(tx, name);
    refuseManaged(before.model);
    refuseStale(change.version, before.version);
    await this.write(tx, name, change);
    return { before, after: await this.read(tx, name) };
  }

  /** Adds a version of the model's own price, unless it equals the one in force. All ways to set a price use this. */
  async changeRates(
    tx: Tx,
    name: string,
    { rates, source, shown }: RateChange,
  ): Promise<Changed<ModelSheet>> {
    await lockCatalogue(tx);
    const before = await this.read(tx, name);
    refuseManaged(before.model);
    const { price, model } = before;
    if (shown !== undefined && shown !== (price?.id ?? null)) throw staleFault();
    const wanted = ratesUpon(model, price?.rates ?? null, rates);
    if (price !== null && isSame(price.rates, wanted)) return { before, after: before };
    await this.prices.addPrice(tx, { model: name, rates: wanted, source });
    return { before, after: await this.read(tx, name) };
  }

  private async write(tx: Tx, name: string, { fields, lanes, overflowTo }: ModelChange): Promise<void> {
    await this.editor.upsertModel(tx, { name, ...fields });
    if (lanes !== undefined) await this.editor.setLanes(tx, name, lanes);
    if (overflowTo !== undefined) await this.editor.setOverflow(tx, name, overflowTo);
  }
}

const staleFault = (): Error =>
  fault('conflict', { message: 'The price has changed since it was shown. Look again, then set it.' });

const isSame = (one: PriceRates, other: PriceRates): boolean =>
  versionOf(columnsOf(one)) === versionOf(columnsOf(other));

async function readLanes(tx: Tx, modelId: number): Promise<SheetLane[]> {
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

async function readPrices(tx: Tx, modelId: number): Promise<SheetPrice[]> {
  const rows = await tx.find(Price, {
    where: { modelId, laneId: IsNull(), validFrom: LessThanOrEqual(new Date(8.64e15)) },
    order: { validFrom: 'DESC', id: 'DESC' },
    take: MOST_VERSIONS,
  });
  return rows.map(sheetPrice);
}

async function readSchedules(tx: Tx, modelId: number): Promise<SheetSchedule[]> {
  const schedules = await tx.find(PriceSchedule, { where: { modelId }, order: { startsAt: 'ASC' } });
  const prices = await tx.findBy(Price, { id: In(schedules.map(({ priceId }) => priceId)) });
  const byId = new Map(prices.map((price) => [price.id, sheetPrice(price)]));
  return schedules.flatMap(({ id, priceId, startsAt, endsAt }) => {
    const price = byId.get(priceId);
    return price === undefined ? [] : [{ id, price, startsAt, endsAt }];
  });
}

const sheetPrice = (price: Price): SheetPrice => {
  const { id, validFrom, source } = price;
  return { id, rates: ratesOf(price), validFrom, source };
};

/**
 * Rates that are left out stay as they were. A first price names at least one rate, and that of a chat model both kinds
 * of tokens: nothing is free by omission.
 */
export function ratesUpon(
  { kind }: Pick<Model, 'kind'>,
  before: PriceRates | null,
  rates: RateChange['rates'],
): PriceRates {
  if (before === null && kind === 'chat' && (rates.input === undefined || rates.output === undefined)) {
    throw fault('missing_fields', { details: { required: ['input_price', 'output_price'] } });
  }
  if (before === null && !Object.values(rates).some((rate: unknown) => typeof rate === 'bigint')) {
    throw fault('missing_fields', {
      details: { required: ['input_price', 'output_price', 'or another rate'] },
    });
  }
  return priceRates({ ...before, ...given(rates) });
}
