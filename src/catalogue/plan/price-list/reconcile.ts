import {
  type CurrentCatalogue,
  type CurrentLane,
  type CurrentModel,
  type CurrentPrice,
  type CurrentProvider,
} from '../current.query';
import { changesBetween, laneTexts, NO_TEXTS, priceTexts, routeName } from '../field-texts';
import { modelLabel, stepLabel, type Step } from '../step';
import type { Offer, PriceList } from './offer';

const NO_POSITION = { path: '', line: 1 };

export interface PriceImportOptions {
  /** Marks the prices of this import; prices without the mark were set by hand. */
  readonly source: string;
  readonly overwrite: boolean;
  readonly providers: ReadonlyMap<string, string>;
  /** Ids to import; omitted to import everything. */
  readonly only?: ReadonlySet<string>;
}

export interface PriceListReconciliation {
  readonly steps: readonly Step[];
  readonly gone: readonly string[];
  readonly kept: readonly string[];
  readonly untouched: readonly string[];
}

const IMPORTED = /^import /;

export function reconcile(
  list: PriceList,
  current: CurrentCatalogue,
  options: PriceImportOptions,
): PriceListReconciliation {
  const steps: Step[] = [];
  const kept: string[] = [];
  const gone: string[] = [];
  const listedModels = new Set<string>();
  for (const [name, listName] of options.providers) {
    const provider = current.providers.get(name);
    if (provider === undefined) continue;
    const offers = new Map(
      list.offers.filter((offer) => offer.provider === listName).map((offer) => [plainId(offer), offer]),
    );
    const selectedOffers = [...offers.values()].filter((offer) => isSelected(offer, options));
    for (const offer of selectedOffers) {
      const routes = routesTo(current, name, offer);
      if (routes.length > 0) {
        for (const route of routes) {
          listedModels.add(modelLabel(route.model.name));
          priceStep(route, offer, options, steps, kept);
        }
      } else if (current.models.has(plainId(offer)) || current.aliases.has(plainId(offer))) {
        kept.push(`${modelLabel(plainId(offer))} has no lane to ${name}`);
      } else steps.push(newModel(provider, offer, options));
    }
    gone.push(...missingFrom(offers, current, name));
  }
  const changedLabels = new Set(steps.map(stepLabel));
  const untouched = [...listedModels].filter(
    (name) => !changedLabels.has(name) && !kept.some((text) => text.startsWith(`${name}:`)),
  );
  return { steps, gone, kept, untouched };
}

/** Some lists prefix the model with the supplier. */
const plainId = ({ id, provider }: Offer): string =>
  id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id;

const isSelected = (offer: Offer, { only }: PriceImportOptions): boolean =>
  only === undefined || only.has(offer.id) || only.has(plainId(offer));

interface ModelRoute {
  readonly model: CurrentModel;
  readonly lane: CurrentLane;
  /** True to set the model's own price instead of the lane's. */
  readonly general: boolean;
}

function routesTo(current: CurrentCatalogue, provider: string, offer: Offer): ModelRoute[] {
  const isRouteToOffer = (lane: CurrentLane): boolean =>
    lane.provider === provider && (lane.upstreamModel === offer.id || lane.upstreamModel === plainId(offer));
  return [...current.models.values()].flatMap((model) => {
    const lanes = model.lanes.filter(isRouteToOffer);
    const general = lanes.length === model.lanes.length && model.lanes.every(({ price }) => price === null);
    return (general ? lanes.slice(0, 1) : lanes).map((lane) => ({ model, lane, general }));
  });
}

function priceStep(
  { model, lane, general }: ModelRoute,
  { rates }: Offer,
  { source, overwrite }: PriceImportOptions,
  steps: Step[],
  kept: string[],
): void {
  const inForce = lane.price ?? model.price;
  const prefix = general ? 'price ' : `${routeName(lane)} price `;
  const before = inForce === null ? NO_TEXTS : priceTexts(prefix, inForce.rates);
  const changes = changesBetween(before, priceTexts(prefix, rates));
  if (changes.length === 0) return;
  if (inForce !== null && isSetByHand(inForce) && !overwrite) {
    const texts = changes.map(
      ({ field, before: is, after }) => `${field} is ${is ?? 'none'}, in the list ${after ?? 'none'}`,
    );
    kept.push(`${modelLabel(model.name)}: ${texts.join('; ')} (set by ${inForce.source})`);
    return;
  }
  const laneId = general ? undefined : lane.id;
  steps.push({
    at: NO_POSITION,
    kind: 'model',
    name: model.name,
    mark: 'changed',
    changes,
    needs: [],
    run: (tx, { prices }) => prices.addPrice(tx, { model: model.name, laneId, rates, source }),
  });
}

const isSetByHand = ({ source }: CurrentPrice): boolean => !IMPORTED.test(source);

/** The new model is paused, so that nothing is served before an operator decides. */
function newModel(provider: CurrentProvider, offer: Offer, { source }: PriceImportOptions): Step {
  const name = plainId(offer);
  const region = provider.regions.find((one) => offer.regions.includes(one)) ?? provider.regions[0];
  const lane = {
    provider: provider.name,
    upstreamModel: name,
    region: region ?? offer.regions[0] ?? 'global',
  };
  const texts = new Map([
    ['kind', offer.kind],
    ['state', 'paused'],
    ...(offer.endOfLife === null ? [] : [['end of life', offer.endOfLife] as const]),
    ...laneTexts([{ ...lane, priority: 0, weight: 1, retries: 0, facts: null, wire: null, enabled: true }]),
    ...priceTexts('price ', offer.rates),
  ]);
  return {
    at: NO_POSITION,
    kind: 'model',
    name,
    mark: 'new',
    changes: changesBetween(NO_TEXTS, texts),
    needs: [],
    async run(tx, { editor, prices }) {
      await editor.upsertModel(tx, {
        name,
        displayName: offer.displayName,
        ownedBy: provider.name,
        kind: offer.kind,
        contextTokens: offer.contextTokens,
        maxOutputTokens: offer.maxOutputTokens,
        inputModalities: [...offer.inputModalities],
        outputModalities: [...offer.outputModalities],
        capabilities: [...offer.capabilities],
      });
      await editor.setState(tx, name, 'paused');
      await editor.setLanes(tx, name, [lane]);
      await prices.addPrice(tx, { model: name, rates: offer.rates, source });
    },
  };
}

function missingFrom(
  offers: ReadonlyMap<string, Offer>,
  current: CurrentCatalogue,
  provider: string,
): string[] {
  const ids = new Set([...offers.keys(), ...[...offers.values()].map(({ id }) => id)]);
  return [...current.models.values()].flatMap(({ name, state, lanes }) =>
    state === 'deleted'
      ? []
      : lanes
          .filter((lane) => lane.provider === provider && !ids.has(lane.upstreamModel))
          .map((lane) => `${modelLabel(name)}: ${lane.provider} · ${lane.upstreamModel}`),
  );
}
