import { Controller, Get, Head, Param, Query, Req } from '@nestjs/common';
import { CatalogueService, type ModelView, presentPrice } from '../catalogue';
import { fault, type JsonFields, type PriceFactor, markedUpRates } from '../kernel';
import { type Caller, priceFactorAt } from '../keys';
import { AUTO } from './intake';
import { SupplierStyles } from '../routing';
import { Access, type HttpRequest } from '../web';
import { callableModels, RegisteredChooser, sharedLaneFacts } from './admission';
import { callerOf } from './intake';

const MAX_PAGE_SIZE = 1_000;

interface GatewayModelEntry {
  readonly id: string;
  readonly shown: () => JsonFields;
}

/** Serves both SDK families: the response is a list with the pagination fields of both. */
@Controller()
export class GatewayModelsController {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly chooser: RegisteredChooser,
    private readonly styles: SupplierStyles,
  ) {}

  @Get('/v1/models')
  @Access.eitherHeader()
  async list(
    @Req() request: HttpRequest,
    @Query('limit') limit?: string,
    @Query('after_id') after?: string,
    @Query('before_id') before?: string,
  ) {
    const all = await this.listModels(callerOf(request));
    const size = parsePageSize(limit);
    const start = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const end =
      before === undefined
        ? all.length
        : Math.max(
            0,
            all.findIndex(({ id }) => id === before),
          );
    const page =
      before === undefined ? all.slice(start, start + size) : all.slice(Math.max(0, end - size), end);
    return {
      object: 'list',
      data: page.map(({ shown }) => shown()),
      has_more: before === undefined ? start + size < all.length : end - size > 0,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
    };
  }

  @Get('/v1/models/:model')
  @Access.eitherHeader()
  async get(@Req() request: HttpRequest, @Param('model') name: string) {
    const caller = callerOf(request);
    const namedModel = this.catalogue.snapshot.model(name);
    const model = this.callable(caller).find(({ id }) => id === namedModel?.id);
    if (model !== undefined) return this.present(model, currentPriceFactor(caller));
    const auto = name === AUTO ? await this.chooser.modelFor(caller) : null;
    if (auto === null) throw fault('model_not_found', { param: 'model' });
    return auto;
  }

  /** Some clients probe for the service before they authenticate. */
  @Head('/api/hello')
  @Access.probe()
  hello(): void {
    return;
  }

  private present(model: ModelView, priceFactor: PriceFactor): JsonFields {
    return presentModel(model, this.styles.kindOf(model), this.priceOf(model, priceFactor));
  }

  /** Current price of the cheapest lane, as the caller pays it; null if no lane can be sold now. */
  private priceOf({ name }: ModelView, priceFactor: PriceFactor) {
    const resolution = this.catalogue.resolve(name);
    if (resolution.kind !== 'found') return null;
    const prices = new Map(resolution.lanes.map(({ price }) => [price.id, price.rates]));
    const [cheapest] = [...prices.values()].sort(
      (a, b) => Number(a.input - b.input) || Number(a.output - b.output),
    );
    if (cheapest === undefined) return null;
    return {
      currency: 'USD',
      ...presentPrice(markedUpRates(cheapest, priceFactor)),
      is_lowest: prices.size > 1,
    };
  }

  /** `auto` comes last, so that no client takes it for the default model. */
  private async listModels(caller: Caller): Promise<GatewayModelEntry[]> {
    const priceFactor = currentPriceFactor(caller);
    const models = this.callable(caller).map((model) => ({
      id: model.name,
      shown: () => this.present(model, priceFactor),
    }));
    const auto = await this.chooser.modelFor(caller);
    return auto === null ? models : [...models, { id: AUTO, shown: () => auto }];
  }

  private callable(caller: Caller): ModelView[] {
    return callableModels(caller, this.catalogue.snapshot);
  }
}

const currentPriceFactor = (caller: Caller): PriceFactor => priceFactorAt(caller, Date.now());

function parsePageSize(limit: string | undefined): number {
  if (limit === undefined) return MAX_PAGE_SIZE;
  const size = Number(limit);
  if (Number.isInteger(size) && size >= 1 && size <= MAX_PAGE_SIZE) return size;
  throw fault('invalid_request', {
    param: 'limit',
    message: `limit must be a whole number from 1 to ${MAX_PAGE_SIZE}.`,
  });
}

function presentModel(model: ModelView, kind: string, price: JsonFields | null) {
  return {
    id: model.name,
    object: 'model',
    type: 'model',
    owned_by: model.ownedBy,
    created: Math.floor(model.createdAt / 1_000),
    created_at: new Date(model.createdAt).toISOString(),
    display_name: model.displayName,
    kind,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    capabilities: [...model.capabilities],
    ...sharedLaneFacts(model.lanes),
    retires_at: model.retiresAt === null ? null : new Date(model.retiresAt).toISOString(),
    price,
  };
}
