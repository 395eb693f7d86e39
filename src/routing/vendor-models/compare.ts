import type { CurrentCatalogue, CurrentLane, CurrentModel, CurrentProvider } from '../../catalogue';
import { versionOf } from '../../kernel';
import {
  type FactsOverride,
  laneFacts,
  type LaneFacts,
  type ListDifference,
  listDifferences,
} from '../../vendors';
import type { ModelLists } from './model-lists';

export interface ComparedModel {
  readonly model: string;
  readonly managed: boolean;
  readonly upstreamModel: string;
  /** False if the vendor has no model of this name, or no longer. */
  readonly listed: boolean;
  readonly differences: readonly ListDifference[];
  /** Hash of the differences, which ensures that only differences shown to the operator are applied. */
  readonly version: string;
}

export interface ComparedProvider {
  readonly provider: string;
  /** Null if the vendor's list could not be read. */
  readonly listed: number | null;
  readonly problem: string | null;
  readonly models: readonly ComparedModel[];
}

/** Compares every active provider with a list of models, or only the named one. */
export async function compareWithVendors(
  lists: ModelLists,
  current: CurrentCatalogue,
  only?: string,
): Promise<readonly ComparedProvider[]> {
  const providers = [...current.providers.values()].filter((provider) =>
    only === undefined
      ? provider.visible && lists.hasList(provider) && lanesAt(provider, current).length > 0
      : provider.name === only,
  );
  return Promise.all(providers.map((provider) => compareProvider(lists, provider, current)));
}

async function compareProvider(
  lists: ModelLists,
  provider: CurrentProvider,
  current: CurrentCatalogue,
): Promise<ComparedProvider> {
  const lanes = lanesAt(provider, current);
  const list = await lists.read(
    provider,
    lanes.map(({ lane }) => lane.upstreamModel),
  );
  if (!list.ok) return { provider: provider.name, listed: null, problem: list.error, models: [] };
  const models = lanes.map(({ model, lane }): ComparedModel => {
    const listedModel = list.value.models.get(lane.upstreamModel) ?? null;
    const all = model.lanes.map((one) => factsOfLane(model, one));
    const differences =
      listedModel === null ? [] : listDifferences(listedModel, factsOfLane(model, lane), all);
    return {
      model: model.name,
      managed: model.managed,
      upstreamModel: lane.upstreamModel,
      listed: listedModel !== null,
      differences,
      version: versionOf({ differences }),
    };
  });
  return { provider: provider.name, listed: list.value.listed, problem: null, models };
}

function lanesAt(
  { name }: CurrentProvider,
  { models }: CurrentCatalogue,
): { model: CurrentModel; lane: CurrentLane }[] {
  return [...models.values()]
    .filter(({ state }) => state === 'active' || state === 'hidden')
    .flatMap((model) => {
      const lanes = model.lanes.filter(({ provider, enabled }) => enabled && provider === name);
      const uniqueLanes = new Map(lanes.map((lane) => [lane.upstreamModel, lane]));
      return [...uniqueLanes.values()].map((lane) => ({ model, lane }));
    });
}

const factsOfLane = (model: CurrentModel, lane: CurrentLane): LaneFacts =>
  laneFacts(lane.facts ?? lane.upstreamModel, model.facts);

/** The facts that can be applied; those that lower the hold only if the operator allows it. */
export function applicableFacts({ differences }: ComparedModel, allowLower: boolean): FactsOverride {
  const changes = differences.filter(({ lowers }) => allowLower || !lowers).map(({ change }) => change ?? {});
  return Object.assign({}, ...changes) as FactsOverride;
}
