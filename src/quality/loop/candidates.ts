import type { CatalogueService, ModelView, PricedLane } from '../../catalogue';
import { callableModels } from '../../gateway';
import { familyOf } from '../../autorouter';
import { costOf, type Nano, usageOf } from '../../kernel';
import type { Caller } from '../../keys';
import type { RequestText } from '../content/request-text';

/** So many stand beside the served answer; where there are more models, those with the fewest scores are taken. */
export const MOST_REPLAYS = 3;

export interface ReplayQuestion {
  readonly caller: Caller;
  readonly served: string;
  readonly region: string | null;
  readonly request: RequestText;
  /** The request had so many. */
  readonly tokensIn: number;
}

/**
 * Models that may answer a sampled request again. The caller may call them, the platform includes them, they lie
 * within the regions, and they can do what was asked.
 */
export function replayCandidates(catalogue: CatalogueService, question: ReplayQuestion): ModelView[] {
  const { caller, served, region, request, tokensIn } = question;
  const { hasImage, hasDocument, tools, maxTokens = 0 } = request.counters;
  const needs = [...(tools > 0 ? ['tools'] : []), ...(request.wantsSchema ? ['json_schema'] : [])];
  const modalities = [...(hasImage ? ['image'] : []), ...(hasDocument ? ['document'] : [])];
  const answered = catalogue.snapshot.model(served);
  const reads = (model: ModelView): boolean =>
    !request.isSealed || (answered !== undefined && familyOf(model) === familyOf(answered));
  return callableModels(caller, catalogue.snapshot, { kind: 'chat' }).filter(
    (model) =>
      model.name !== served &&
      reads(model) &&
      model.replayIncluded &&
      model.redirectTo === null &&
      needs.every((name) => model.capabilities.has(name)) &&
      modalities.every((name) => model.inputModalities.includes(name)) &&
      (model.contextTokens ?? Infinity) >= tokensIn + maxTokens &&
      lanesWithin(catalogue, model.name, caller, region).length > 0,
  );
}

/** A call of this caller may take these lanes. */
export function lanesWithin(
  catalogue: CatalogueService,
  model: string,
  { allowedRegions }: Caller,
  region: string | null,
): readonly PricedLane[] {
  const found = catalogue.resolve(model);
  if (found.kind === 'refused') return [];
  return found.lanes.filter(
    ({ lane }) =>
      (allowedRegions === null || allowedRegions.has(lane.region)) &&
      (region === null || lane.region === region),
  );
}

/** It is the cost at the dearest of the lanes. */
export const expectedCost = (lanes: readonly PricedLane[], inputTokens: number, outputTokens: number): Nano =>
  lanes.reduce((dearest, { price }) => {
    const cost = costOf(usageOf({ inputTokens, outputTokens, calls: 1 }), price.rates);
    return cost > dearest ? cost : dearest;
  }, 0n);

/** The names by which suppliers know a model: another of them is another model. */
export function upstreamsOf(catalogue: CatalogueService, model: string): readonly string[] {
  const found = catalogue.resolve(model);
  return found.kind === 'refused' ? [] : found.lanes.map(({ lane }) => lane.upstreamModel);
}
