import {
  type CatalogueService,
  type ModelAudience,
  type ModelView,
  type PriceView,
  SANDBOX_OWNER,
} from '../../catalogue';
import { type PriceFactor, markedUpRates, resolveRates, toJsonNumber } from '../../kernel';

/**
 * Public information about a model. Rates are nano-dollars per million tokens; the price is null if the model cannot be
 * sold now.
 */
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
  /** Model that replaces this one. */
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
  /** The lowest price: other lanes or longer requests cost more. */
  readonly isLowest: boolean;
  readonly soldByTokens: boolean;
  /** A chat model can have free output; other models without an output price have no output. */
  readonly hasOutput: boolean;
}

const publicAudience = { organisationId: null, departmentId: null };

/** Returns the models open to an audience, by default to everyone, in catalogue order and with current prices. */
export function publicModels(
  catalogue: CatalogueService,
  audience: ModelAudience = publicAudience,
  priceFactor: PriceFactor = null,
): PublicModel[] {
  const { snapshot } = catalogue;
  return snapshot.models
    .filter((model) => model.state === 'active' || model.state === 'paused')
    .filter((model) => snapshot.isOpenTo(model, audience))
    .map((model) => publicModel(model, catalogue, priceFactor))
    .filter((model) => !isObsoleteSandboxModel(model));
}

/** Models of a removed sandbox, which cannot be called any more. */
const isObsoleteSandboxModel = ({ owner, state }: PublicModel): boolean =>
  owner === SANDBOX_OWNER && state === 'unavailable';

function publicModel(model: ModelView, catalogue: CatalogueService, priceFactor: PriceFactor): PublicModel {
  const resolution = catalogue.resolve(model.name);
  const available = resolution.kind === 'found' ? resolution : null;
  const servedModel = available?.model ?? model;
  return {
    id: model.name,
    displayName: model.displayName,
    owner: model.ownedBy,
    kind: model.kind,
    state: model.state === 'paused' ? 'paused' : available === null ? 'unavailable' : 'active',
    contextTokens: servedModel.contextTokens,
    maxOutputTokens: servedModel.maxOutputTokens,
    inputModalities: servedModel.inputModalities,
    outputModalities: servedModel.outputModalities,
    capabilities: [...servedModel.capabilities].sort(),
    hasTools: servedModel.capabilities.has('tools'),
    regions: [...new Set(servedModel.lanes.map(({ region }) => region))].sort(),
    aliases: model.aliases,
    redirectsTo: servedModel.id === model.id ? null : servedModel.name,
    retiresAt: model.retiresAt === null ? null : new Date(model.retiresAt),
    price:
      available === null
        ? null
        : lowestPrice(
            available.lanes.map(({ price }) => price),
            servedModel.kind,
            priceFactor,
          ),
  };
}

/** Returns the price of the cheapest lane, by input rate and then by output rate. */
function lowestPrice(
  prices: readonly PriceView[],
  kind: ModelView['kind'],
  priceFactor: PriceFactor,
): PublicPrice | null {
  const distinct = [...new Map(prices.map((price) => [price.id, price])).values()];
  const [cheapest] = distinct.sort(
    ({ rates: a }, { rates: b }) => Number(a.input - b.input) || Number(a.output - b.output),
  );
  if (cheapest === undefined) return null;
  const rates = markedUpRates(cheapest.rates, priceFactor);
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
