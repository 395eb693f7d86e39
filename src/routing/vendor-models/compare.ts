import type { Current, CurrentLane, CurrentModel, CurrentProvider } from '../../catalogue';
import { versionOf } from '../../kernel';
import {
  type FactsOverride,
  laneFacts,
  type LaneFacts,
  type ToldDifference,
  toldDifferences,
} from '../../vendors';
import type { ModelLists } from './model-lists';

/** It is one model of the catalogue beside what the vendor of one of its lanes says. */
export interface ComparedModel {
  readonly model: string;
  readonly managed: boolean;
  readonly upstreamModel: string;
  /** False: the vendor has no model of this name, or no longer. */
  readonly listed: boolean;
  readonly differences: readonly ToldDifference[];
  /** A hash of what differs, so that nothing is taken over but what was shown. */
  readonly version: string;
}

export interface ComparedProvider {
  readonly provider: string;
  /** It is null where the vendor could not be asked. */
  readonly listed: number | null;
  readonly problem: string | null;
  readonly models: readonly ComparedModel[];
}

/** Every provider that is in use and has a list of models, or the one of this name. */
export async function compareWithVendors(
  lists: ModelLists,
  current: Current,
  only?: string,
): Promise<readonly ComparedProvider[]> {
  const asked = [...current.providers.values()].filter((provider) =>
    only === undefined
      ? provider.visible && lists.hasList(provider) && lanesAt(provider, current).length > 0
      : provider.name === only,
  );
  return Promise.all(asked.map((provider) => compareProvider(lists, provider, current)));
}

async function compareProvider(
  lists: ModelLists,
  provider: CurrentProvider,
  current: Current,
): Promise<ComparedProvider> {
  const lanes = lanesAt(provider, current);
  const told = await lists.read(
    provider,
    lanes.map(({ lane }) => lane.upstreamModel),
  );
  if (!told.ok) return { provider: provider.name, listed: null, problem: told.error, models: [] };
  const models = lanes.map(({ model, lane }): ComparedModel => {
    const found = told.value.models.get(lane.upstreamModel) ?? null;
    const all = model.lanes.map((one) => factsOfLane(model, one));
    const differences = found === null ? [] : toldDifferences(found, factsOfLane(model, lane), all);
    return {
      model: model.name,
      managed: model.managed,
      upstreamModel: lane.upstreamModel,
      listed: found !== null,
      differences,
      version: versionOf({ differences }),
    };
  });
  return { provider: provider.name, listed: told.value.listed, problem: null, models };
}

/** This provider serves these lanes, each of its names once a model. */
function lanesAt(
  { name }: CurrentProvider,
  { models }: Current,
): { model: CurrentModel; lane: CurrentLane }[] {
  return [...models.values()]
    .filter(({ state }) => state === 'active' || state === 'hidden')
    .flatMap((model) => {
      const lanes = model.lanes.filter(({ provider, enabled }) => enabled && provider === name);
      const once = new Map(lanes.map((lane) => [lane.upstreamModel, lane]));
      return [...once.values()].map((lane) => ({ model, lane }));
    });
}

const factsOfLane = (model: CurrentModel, lane: CurrentLane): LaneFacts =>
  laneFacts(lane.facts ?? lane.upstreamModel, model.facts);

/** These facts may be taken over; the amount set aside is lowered only where the operator says so. */
export function factsToTake({ differences }: ComparedModel, lower: boolean): FactsOverride {
  const taken = differences.filter(({ lowers }) => lower || !lowers).map(({ change }) => change ?? {});
  return Object.assign({}, ...taken) as FactsOverride;
}
