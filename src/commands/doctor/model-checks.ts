import {
  chosenWire,
  type Current,
  type CurrentLane,
  type CurrentModel,
  type CurrentProvider,
  factsOfLane,
  readCurrent,
} from '../../catalogue';
import { DAY_MS } from '../../kernel';
import type { SupplierStyles } from '../../routing';
import type { LaneFacts } from '../../vendors';
import { comparedWithVendors, differencesOf } from '../models-compare';
import { type CheckContext, type Finding, ok, warn } from '../../checks';

/** The notice of a model's end comes this long before it. */
const NOTICE_DAYS = 30;
const MOST_DIFFERENCES = 20;

interface ServedLane {
  readonly model: CurrentModel;
  readonly lane: CurrentLane;
  readonly provider: CurrentProvider;
  readonly facts: LaneFacts;
}

/** What vendors say of the models that are served: unknown ones, ends, and rates of long requests without a price. */
export async function modelsKnown({ database, styles }: CheckContext): Promise<Finding[]> {
  const served = lanesServed(await database.transaction((tx) => readCurrent(tx)));
  return [
    ...unknownModels(served),
    ...assumedModels(served),
    ...ignoredWires(served, styles),
    ...endingModels(served, Date.now()),
    ...unpricedLength(served),
  ];
}

/** A vendor that cannot be asked is nothing that fails: the lanes themselves tell of it. */
export async function vendorsAgree({ database, settings, styles }: CheckContext): Promise<Finding[]> {
  const compared = await comparedWithVendors(database, settings, styles);
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
    const shown = lines.slice(0, MOST_DIFFERENCES).join('; ');
    const more = lines.length - MOST_DIFFERENCES;
    const found = more > 0 ? `${shown}; and ${more} more` : shown;
    return warn(
      what,
      found,
      `"models compare --provider ${provider}" shows them, and takes figures over by --take.`,
    );
  });
}

function lanesServed({ models, providers }: Current): ServedLane[] {
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

function ignoredWires(served: readonly ServedLane[], styles: SupplierStyles): Finding[] {
  return served.flatMap(({ model, lane, provider }) => {
    const wire = chosenWire(lane, model, provider);
    const instead = styles.spokenInsteadOf(wire, provider);
    if (wire === null || instead === null) return [];
    const found = `${provider.name} does not speak ${wire}, so it is asked in ${instead}`;
    const advice =
      'Take the wire out of the lane, the facts of the model or the settings of the provider, or correct its profile.';
    return [warn(`wire of ${model.name}`, found, advice)];
  });
}

function unknownModels(served: readonly ServedLane[]): Finding[] {
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

function assumedModels(served: readonly ServedLane[]): Finding[] {
  const assumed = served.flatMap(({ lane, facts }) =>
    facts.assumed === undefined ? [] : [`${lane.upstreamModel} (like ${facts.assumed})`],
  );
  if (assumed.length === 0) return [];
  const found = `facts are assumed, the names are not in the table of known models: ${[...new Set(assumed)].join(', ')}`;
  const advice =
    'Name the model they stand for (facts of the lane), or say what is known (facts of the model): docs/vendors.md';
  return [warn('assumed models', found, advice)];
}

function endingModels(served: readonly ServedLane[], now: number): Finding[] {
  const soon = new Date(now + NOTICE_DAYS * DAY_MS).toISOString().slice(0, 10);
  return served.flatMap(({ model, lane, facts: { ends, replacedBy } }) => {
    if (ends === undefined || ends > soon) return [];
    const after = replacedBy === undefined ? '' : `, then ${replacedBy} answers at its own rates`;
    const found = `the last day of ${lane.upstreamModel} (${lane.provider}) is ${ends}${after}`;
    return [warn(`model ${model.name}`, found, 'Give the model another lane, or redirect it.')];
  });
}

function unpricedLength(served: readonly ServedLane[]): Finding[] {
  return served.flatMap(({ model, lane, facts: { longContext } }) => {
    const rates = (lane.price ?? model.price)?.rates;
    if (longContext === undefined || rates === undefined) return [];
    if (rates.tiers.some(({ aboveInputTokens }) => aboveInputTokens <= longContext.above)) return [];
    const { above, input, output } = longContext;
    const found = `its vendor takes ${input} times the input and ${output} times the output rate above ${above} tokens`;
    return [warn(`price ${model.name}`, found, 'Add these rates as tiers of the price: docs/prices.md')];
  });
}

const namesOf = (served: readonly ServedLane[]): string =>
  [...new Set(served.map(({ lane }) => lane.upstreamModel))].join(', ');
