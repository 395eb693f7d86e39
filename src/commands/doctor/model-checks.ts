import {
  chosenWire,
  type CurrentCatalogue,
  type CurrentLane,
  type CurrentModel,
  type CurrentProvider,
  factsOfLane,
  readCurrent,
} from '../../catalogue';
import { DAY_MS } from '../../kernel';
import type { SupplierStyles } from '../../routing';
import type { LaneFacts } from '../../vendors';
import { compareCatalogueWithVendors, differencesOf } from '../models-compare';
import { type CheckContext, type CheckFinding, ok, warn } from '../../checks';

const NOTICE_DAYS = 30;
const MAX_DIFFERENCES = 20;

interface ServedLane {
  readonly model: CurrentModel;
  readonly lane: CurrentLane;
  readonly provider: CurrentProvider;
  readonly facts: LaneFacts;
}

/** Checks the served models against vendor facts: unknown names, ends, and long-context rates without a price. */
export async function checkModels({ database, styles }: CheckContext): Promise<CheckFinding[]> {
  const served = listServedLanes(await database.transaction((tx) => readCurrent(tx)));
  return [
    ...unknownModels(served),
    ...assumedModels(served),
    ...ignoredWires(served, styles),
    ...endingModels(served, Date.now()),
    ...unpricedLongContext(served),
  ];
}

/** A vendor that cannot be reached is no failure: the lanes themselves report it. */
export async function compareVendorLists({
  database,
  settings,
  styles,
}: CheckContext): Promise<CheckFinding[]> {
  const compared = await compareCatalogueWithVendors(database, settings, styles);
  return compared.map(({ provider, listed, problem, models }) => {
    const what = `models of ${provider}`;
    if (listed === null)
      return warn(
        what,
        `could not be asked: ${problem ?? ''}`,
        'Its list of models is asked again next time.',
      );
    const lines = models.flatMap(differencesOf);
    if (lines.length === 0) return ok(what, `${listed} are listed, and nothing differs`);
    const listText = lines.slice(0, MAX_DIFFERENCES).join('; ');
    const more = lines.length - MAX_DIFFERENCES;
    const summary = more > 0 ? `${listText}; and ${more} more` : listText;
    return warn(
      what,
      summary,
      `"models compare --provider ${provider}" shows them, and takes figures over by --take.`,
    );
  });
}

function listServedLanes({ models, providers }: CurrentCatalogue): ServedLane[] {
  return [...models.values()]
    .filter(({ kind, state }) => kind === 'chat' && (state === 'active' || state === 'hidden'))
    .flatMap((model) =>
      model.lanes.flatMap((lane) => {
        const provider = providers.get(lane.provider);
        if (!lane.enabled || provider?.visible !== true || provider.style === 'sandbox') return [];
        return [{ model, lane, provider, facts: factsOfLane(lane, model, provider) }];
      }),
    );
}

function ignoredWires(served: readonly ServedLane[], styles: SupplierStyles): CheckFinding[] {
  return served.flatMap(({ model, lane, provider }) => {
    const wire = chosenWire(lane, model, provider);
    const actualWire = styles.dialectInsteadOf(wire, provider);
    if (wire === null || actualWire === null) return [];
    const problem = `${provider.name} does not speak ${wire}, so it is asked in ${actualWire}`;
    const advice =
      'Take the wire out of the lane, the facts of the model or the settings of the provider, or correct its profile.';
    return [warn(`wire of ${model.name}`, problem, advice)];
  });
}

function unknownModels(served: readonly ServedLane[]): CheckFinding[] {
  const unknown = served.filter(
    ({ facts, model }) =>
      facts.known === null && facts.assumed === undefined && Object.keys(model.facts).length === 0,
  );
  if (unknown.length === 0) return [];
  const advice =
    'Nothing is left out of their requests, and no window lowers what they set aside. Name the model they stand for ' +
    '(facts of the lane), or say what is known (facts of the model): docs/vendors.md';
  return [warn('models', `not in the table of known models: ${namesOf(unknown)}`, advice)];
}

function assumedModels(served: readonly ServedLane[]): CheckFinding[] {
  const assumed = served.flatMap(({ lane, facts }) =>
    facts.assumed === undefined ? [] : [`${lane.upstreamModel} (like ${facts.assumed})`],
  );
  if (assumed.length === 0) return [];
  const problem = `facts are assumed, the names are not in the table of known models: ${[...new Set(assumed)].join(', ')}`;
  const advice =
    'Name the model they stand for (facts of the lane), or say what is known (facts of the model): docs/vendors.md';
  return [warn('assumed models', problem, advice)];
}

function endingModels(served: readonly ServedLane[], now: number): CheckFinding[] {
  const noticeDay = new Date(now + NOTICE_DAYS * DAY_MS).toISOString().slice(0, 10);
  return served.flatMap(({ model, lane, facts: { ends, replacedBy } }) => {
    if (ends === undefined || ends > noticeDay) return [];
    const after = replacedBy === undefined ? '' : `, then ${replacedBy} answers at its own rates`;
    const problem = `the last day of ${lane.upstreamModel} (${lane.provider}) is ${ends}${after}`;
    return [warn(`model ${model.name}`, problem, 'Give the model another lane, or redirect it.')];
  });
}

function unpricedLongContext(served: readonly ServedLane[]): CheckFinding[] {
  return served.flatMap(({ model, lane, facts: { longContext } }) => {
    const rates = (lane.price ?? model.price)?.rates;
    if (longContext === undefined || rates === undefined) return [];
    if (rates.tiers.some(({ aboveInputTokens }) => aboveInputTokens <= longContext.above)) return [];
    const { above, input, output } = longContext;
    const problem = `its vendor takes ${input} times the input and ${output} times the output rate above ${above} tokens`;
    return [warn(`price ${model.name}`, problem, 'Add these rates as tiers of the price: docs/prices.md')];
  });
}

const namesOf = (served: readonly ServedLane[]): string =>
  [...new Set(served.map(({ lane }) => lane.upstreamModel))].join(', ');
