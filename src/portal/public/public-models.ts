import {
  type CatalogueService,
  type ModelAudience,
  type ModelView,
  type PriceView,
  SANDBOX_OWNER,
} from '../../catalogue';
import { type PriceFactor, ratesPaid, resolveRates, toJsonNumber } from '../../kernel';

/** Everybody may know this of a model. Rates are nano-dollars a million tokens; null where nothing can be sold now. */
export interface PublicModel {
  readonly id: string;
  readonly displayName: string;
  readonly owner: string;
  readonly kind: ModelView['kind'];
  readonly state: 'active' | 'paused' | 'unavailable';
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  readonly inputModalities: readonly string[];
  readonly outputModalities: readonly string[];
  readonly capabilities: readonly string[];
  readonly hasTools: boolean;
  readonly regions: readonly string[];
  readonly aliases: readonly string[];
  /** The model that answers in its place. */
  readonly redirectsTo: string | null;
  readonly retiresAt: Date | null;
  readonly price: PublicPrice | null;
}

interface PublicPrice {
  readonly input: bigint;
  readonly output: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly perCall: bigint;
  readonly perMinute: bigint;
  /** The price begins here: another lane, or a longer request, costs more. */
  readonly isLowest: boolean;
  readonly soldByTokens: boolean;
  /** Only chat models give output away; the others that charge nothing for it have none. */
  readonly hasOutput: boolean;
}

const nobody = { organisationId: null, departmentId: null };

/**
 * These models are open to everybody, or to this audience, in the order of the catalogue, with the prices in
 * force now.
 */
export function publicModels(
  catalogue: CatalogueService,
  audience: ModelAudience = nobody,
  paid: PriceFactor = null,
): PublicModel[] {
  const { snapshot } = catalogue;
  return snapshot.models
    .filter((model) => model.state === 'active' || model.state === 'paused')
    .filter((model) => snapshot.isOpenTo(model, audience))
    .map((model) => publicModel(model, catalogue, paid))
    .filter((model) => !isLeftOver(model));
}

/** A model of the sandbox that runs no longer: nobody can call it, and nobody should look for it. */
const isLeftOver = ({ owner, state }: PublicModel): boolean =>
  owner === SANDBOX_OWNER && state === 'unavailable';

function publicModel(model: ModelView, catalogue: CatalogueService, paid: PriceFactor): PublicModel {
  const resolution = catalogue.resolve(model.name);
  const found = resolution.kind === 'found' ? resolution : null;
  const served = found?.model ?? model;
  return {
    id: model.name,
    displayName: model.displayName,
    owner: model.ownedBy,
    kind: model.kind,
    state: model.state === 'paused' ? 'paused' : found === null ? 'unavailable' : 'active',
    contextTokens: served.contextTokens,
    maxOutputTokens: served.maxOutputTokens,
    inputModalities: served.inputModalities,
    outputModalities: served.outputModalities,
    capabilities: [...served.capabilities].sort(),
    hasTools: served.capabilities.has('tools'),
    regions: [...new Set(served.lanes.map(({ region }) => region))].sort(),
    aliases: model.aliases,
    redirectsTo: served.id === model.id ? null : served.name,
    retiresAt: model.retiresAt === null ? null : new Date(model.retiresAt),
    price:
      found === null
        ? null
        : lowestPrice(
            found.lanes.map(({ price }) => price),
            served.kind,
            paid,
          ),
  };
}

/** The cheapest lane's price: by its input, and by its output where that is equal. */
function lowestPrice(
  prices: readonly PriceView[],
  kind: ModelView['kind'],
  paid: PriceFactor,
): PublicPrice | null {
  const distinct = [...new Map(prices.map((price) => [price.id, price])).values()];
  const [lowest] = distinct.sort(
    ({ rates: a }, { rates: b }) => Number(a.input - b.input) || Number(a.output - b.output),
  );
  if (lowest === undefined) return null;
  const rates = ratesPaid(lowest.rates, paid);
  const { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite } = resolveRates(rates);
  return {
    input: rates.input,
    output: rates.output,
    cacheRead,
    cacheWrite,
    perCall: rates.perCallNano,
    perMinute: rates.perMinuteNano,
    isLowest: distinct.length > 1 || rates.tiers.length > 0,
    soldByTokens: rates.input > 0n || rates.output > 0n,
    hasOutput: kind === 'chat' || rates.output > 0n,
  };
}

/** A model as programs read it. */
export const presentPublicModel = (model: PublicModel) => ({
  id: model.id,
  object: 'model',
  display_name: model.displayName,
  owned_by: model.owner,
  kind: model.kind,
  state: model.state,
  context_tokens: model.contextTokens,
  max_output_tokens: model.maxOutputTokens,
  input_modalities: model.inputModalities,
  output_modalities: model.outputModalities,
  capabilities: model.capabilities,
  regions: model.regions,
  aliases: model.aliases,
  redirects_to: model.redirectsTo,
  retires_at: model.retiresAt?.toISOString() ?? null,
  price: model.price === null ? null : presentPrice(model.price),
});

const presentPrice = (price: PublicPrice) => ({
  currency: 'USD',
  input_per_million_tokens: toJsonNumber(price.input),
  output_per_million_tokens: toJsonNumber(price.output),
  cache_read_per_million_tokens: toJsonNumber(price.cacheRead),
  cache_write_per_million_tokens: toJsonNumber(price.cacheWrite),
  per_call: toJsonNumber(price.perCall),
  per_minute: toJsonNumber(price.perMinute),
  is_lowest: price.isLowest,
});
