import type { CatalogueRows } from '../../../src/catalogue/snapshot';
import { columnsOf } from '../../../src/catalogue/price-codec';
import { priceRates } from '../../../src/kernel';
import { modelFields } from '../../../src/catalogue/entities/model-fields';
import { Lane, Model, ModelAlias, Price, PriceSchedule, Provider } from '../../../src/catalogue/entities';

const createdAt = new Date('2026-01-01T00:00:00Z');

export const provider = (fields: Partial<Provider> = {}): Provider =>
  Object.assign(new Provider(), {
    id: 1,
    name: 'north',
    style: 'openai-style',
    baseUrl: 'https://north.example/v1',
    regions: [],
    visible: true,
    settings: {},
    timeouts: {},
    breaker: {},
    managed: false,
    createdAt: createdAt,
    removedAt: null,
    ...fields,
  });

export const model = (fields: Partial<Model> = {}): Model =>
  Object.assign(new Model(), {
    id: 1,
    name: 'm',
    ...modelFields.pick({ displayName: 'M', ownedBy: 'north', capabilities: ['tools'] }),
    redirectTo: null,
    managed: false,
    createdAt: createdAt,
    ...fields,
  });

export const lane = (fields: Partial<Lane> = {}): Lane =>
  Object.assign(new Lane(), {
    id: 1,
    modelId: 1,
    providerId: 1,
    upstreamModel: 'm-upstream',
    region: 'eu',
    priority: 0,
    weight: 1,
    retries: 0,
    facts: null,
    wire: null,
    enabled: true,
    removedAt: null,
    ...fields,
  });

export const alias = (name: string, modelId = 1): ModelAlias =>
  Object.assign(new ModelAlias(), { name, modelId, createdAt: createdAt });

export const price = (fields: Partial<Price> = {}): Price =>
  Object.assign(new Price(), {
    id: 1,
    modelId: 1,
    laneId: null,
    ...columnsOf(priceRates({ input: 1n, output: 1n })),
    validFrom: createdAt,
    source: 'test',
    createdAt: createdAt,
    ...fields,
  });

export const schedule = (fields: Partial<PriceSchedule>): PriceSchedule =>
  Object.assign(new PriceSchedule(), {
    id: 1,
    modelId: 1,
    priceId: 1,
    startsAt: createdAt,
    endsAt: null,
    createdAt: createdAt,
    ...fields,
  });

/** A single model on one lane with one price, unless overridden. */
export const rows = (fields: Partial<CatalogueRows> = {}): CatalogueRows => ({
  revision: 7n,
  providers: [provider()],
  models: [model()],
  lanes: [lane()],
  aliases: [],
  prices: [price()],
  schedules: [],
  organisationAccess: [],
  departmentAccess: [],
  policies: [],
  ...fields,
});
