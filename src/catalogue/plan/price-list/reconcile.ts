import { CatalogueEditor } from '../../catalogue-editor.service';
import { PriceService } from '../../price.service';
import type { Tx } from '../../../platform';
import {
  type Current,
  type CurrentLane,
  type CurrentModel,
  type CurrentPrice,
  type CurrentProvider,
} from '../current';
import { changesBetween, laneTexts, noTexts, priceTexts, routeName } from '../field-texts';
import { modelNamed, nameOf, type Step } from '../step';
import type { Offer, PriceList } from './offer';

const editor = new CatalogueEditor();
const prices = new PriceService();
const nowhere = { path: '', line: 1 };

export interface ImportOptions {
  /** Prices of this import are marked with it; those without the mark were set by hand. */
  readonly source: string;
  readonly overwrite: boolean;
  /** Our provider has the list's name for it here. */
  readonly providers: ReadonlyMap<string, string>;
  /** Left out, it means everything. */
  readonly only?: ReadonlySet<string>;
}

export interface Reconciliation {
  readonly steps: readonly Step[];
  /** These are in our catalogue, and no longer in the list. */
  readonly gone: readonly string[];
  /** These differ in the list, and are left alone. */
  readonly kept: readonly string[];
  /** The same here and in the list. */
  readonly untouched: readonly string[];
}

const IMPORTED = /^import /;

/** The list would make these changes to the models of the providers. */
export function reconcile(list: PriceList, current: Current, options: ImportOptions): Reconciliation {
  const steps: Step[] = [];
  const kept: string[] = [];
  const gone: string[] = [];
  const routed = new Set<string>();
  for (const [name, theirs] of options.providers) {
    const provider = current.providers.get(name);
    if (provider === undefined) continue;
    const offers = new Map(
      list.offers.filter((offer) => offer.provider === theirs).map((offer) => [plainId(offer), offer]),
    );
    const wanted = [...offers.values()].filter((offer) => isWanted(offer, options));
    for (const offer of wanted) {
      const routes = routesTo(current, name, offer);
      if (routes.length > 0) {
        for (const route of routes) {
          routed.add(modelNamed(route.model.name));
          priceStep(route, offer, options, steps, kept);
        }
      } else if (current.models.has(plainId(offer)) || current.aliases.has(plainId(offer))) {
        kept.push(`${modelNamed(plainId(offer))} has no lane to ${name}`);
      } else steps.push(newModel(provider, offer, options));
    }
    gone.push(...missingFrom(offers, current, name));
  }
  const differing = new Set(steps.map(nameOf));
  const untouched = [...routed].filter(
    (name) => !differing.has(name) && !kept.some((text) => text.startsWith(`${name}:`)),
  );
  return { steps, gone, kept, untouched };
}

/** Some lists write the supplier in front of the model. */
const plainId = ({ id, provider }: Offer): string =>
  id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id;

const isWanted = (offer: Offer, { only }: ImportOptions): boolean =>
  only === undefined || only.has(offer.id) || only.has(plainId(offer));

interface Route {
  readonly model: CurrentModel;
  readonly lane: CurrentLane;
  /** The price to set is that of the model itself. */
  readonly general: boolean;
}

function routesTo(current: Current, provider: string, offer: Offer): Route[] {
  const leadsThere = (lane: CurrentLane): boolean =>
    lane.provider === provider && (lane.upstreamModel === offer.id || lane.upstreamModel === plainId(offer));
  return [...current.models.values()].flatMap((model) => {
    const lanes = model.lanes.filter(leadsThere);
    const general = lanes.length === model.lanes.length && model.lanes.every(({ price }) => price === null);
    return (general ? lanes.slice(0, 1) : lanes).map((lane) => ({ model, lane, general }));
  });
}

function priceStep(
  { model, lane, general }: Route,
  { rates }: Offer,
  { source, overwrite }: ImportOptions,
  steps: Step[],
  kept: string[],
): void {
  const inForce = lane.price ?? model.price;
  const prefix = general ? 'price ' : `${routeName(lane)} price `;
  const before = inForce === null ? noTexts : priceTexts(prefix, inForce.rates);
  const changes = changesBetween(before, priceTexts(prefix, rates));
  if (changes.length === 0) return;
  if (inForce !== null && isByHand(inForce) && !overwrite) {
    const texts = changes.map(
      ({ field, before: is, after }) => `${field} is ${is ?? 'none'}, in the list ${after ?? 'none'}`,
    );
    kept.push(`${modelNamed(model.name)}: ${texts.join('; ')} (set by ${inForce.source})`);
    return;
  }
  const laneId = general ? undefined : lane.id;
  steps.push({
    at: nowhere,
    kind: 'model',
    name: model.name,
    mark: 'changed',
    changes,
    needs: [],
    run: (tx: Tx) => prices.addPrice(tx, { model: model.name, laneId, rates, source }),
  });
}

const isByHand = ({ source }: CurrentPrice): boolean => !IMPORTED.test(source);

/** Paused, so that nothing is served before an operator decides so. */
function newModel(provider: CurrentProvider, offer: Offer, { source }: ImportOptions): Step {
  const name = plainId(offer);
  const region = provider.regions.find((one) => offer.regions.includes(one)) ?? provider.regions[0];
  const lane = {
    provider: provider.name,
    upstreamModel: name,
    region: region ?? offer.regions[0] ?? 'global',
  };
  const facts = new Map([
    ['kind', offer.kind],
    ['state', 'paused'],
    ...(offer.endOfLife === null ? [] : [['end of life', offer.endOfLife] as const]),
    ...laneTexts([{ ...lane, priority: 0, weight: 1, retries: 0, facts: null, wire: null, enabled: true }]),
    ...priceTexts('price ', offer.rates),
  ]);
  return {
    at: nowhere,
    kind: 'model',
    name,
    mark: 'new',
    changes: changesBetween(noTexts, facts),
    needs: [],
    async run(tx) {
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

function missingFrom(offers: ReadonlyMap<string, Offer>, current: Current, provider: string): string[] {
  const ids = new Set([...offers.keys(), ...[...offers.values()].map(({ id }) => id)]);
  return [...current.models.values()].flatMap(({ name, state, lanes }) =>
    state === 'deleted'
      ? []
      : lanes
          .filter((lane) => lane.provider === provider && !ids.has(lane.upstreamModel))
          .map((lane) => `${modelNamed(name)}: ${lane.provider} · ${lane.upstreamModel}`),
  );
}
