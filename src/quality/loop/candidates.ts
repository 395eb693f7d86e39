import type { CatalogueService, ModelView, PricedLane } from '../../catalogue';
import { callableModels } from '../../gateway';
import { familyOf } from '../../autorouter';
import { costOf, type Nano, usageOf } from '../../kernel';
import type { Caller } from '../../keys';
import type { RequestText } from '../content/request-text';

/** Maximum number of models compared with the served reply; those with the fewest scores come first. */
export const MAX_REPLAYS = 3;

export interface ReplayQuery {
  readonly caller: Caller;
  readonly served: string;
  readonly region: string | null;
  readonly request: RequestText;
  readonly tokensIn: number;
}

/**
 * Returns models that can repeat a sampled request: callable by the caller, included by the platform, within the
 * regions, and able to do what the request requires.
 */
export function replayCandidates(catalogue: CatalogueService, query: ReplayQuery): ModelView[] {
  const { caller, served, region, request, tokensIn } = query;
  const { hasImage, hasDocument, tools, maxTokens = 0 } = request.counters;
  const needs = [...(tools > 0 ? ['tools'] : []), ...(request.wantsSchema ? ['json_schema'] : [])];
  const modalities = [...(hasImage ? ['image'] : []), ...(hasDocument ? ['document'] : [])];
  const servedModel = catalogue.snapshot.model(served);
  const canRead = (model: ModelView): boolean =>
    !request.isSealed || (servedModel !== undefined && familyOf(model) === familyOf(servedModel));
  return callableModels(caller, catalogue.snapshot, { kind: 'chat' }).filter(
    (model) =>
      model.name !== served &&
      canRead(model) &&
      model.replayIncluded &&
      model.redirectTo === null &&
      needs.every((name) => model.capabilities.has(name)) &&
      modalities.every((name) => model.inputModalities.includes(name)) &&
      (model.contextTokens ?? Infinity) >= tokensIn + maxTokens &&
      lanesWithin(catalogue, model.name, caller, region).length > 0,
  );
}

export function lanesWithin(
  catalogue: CatalogueService,
  model: string,
  { allowedRegions }: Caller,
  region: string | null,
): readonly PricedLane[] {
  const resolution = catalogue.resolve(model);
  if (resolution.kind === 'refused') return [];
  return resolution.lanes.filter(
    ({ lane }) =>
      (allowedRegions === null || allowedRegions.has(lane.region)) &&
      (region === null || lane.region === region),
  );
}

/** Returns the cost on the most expensive lane. */
export const expectedCost = (lanes: readonly PricedLane[], inputTokens: number, outputTokens: number): Nano =>
  lanes.reduce((highest, { price }) => {
    const cost = costOf(usageOf({ inputTokens, outputTokens, calls: 1 }), price.rates);
    return cost > highest ? cost : highest;
  }, 0n);

/** Returns the names by which suppliers know a model: a different name is a different model. */
export function upstreamsOf(catalogue: CatalogueService, model: string): readonly string[] {
  const resolution = catalogue.resolve(model);
  return resolution.kind === 'refused' ? [] : resolution.lanes.map(({ lane }) => lane.upstreamModel);
}
