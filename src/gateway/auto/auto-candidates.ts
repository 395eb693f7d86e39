import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { Fault } from '../../kernel';
import { type Candidate, type EffectiveAutoPolicy, isIncluded } from '../../routing';
import { type Admission, Admissions } from '../inference/admit';
import { AttemptTools } from '../inference/attempt-tools';
import type { Call } from '../inference/describe';
import { Holds } from '../inference/hold';
import { routePlan } from '../inference/plan';
import { isListed } from '../model-access';
import type { AutoView } from './request-view';

/** A model that may answer, with the leave to ask it. */
export interface AutoCandidate {
  readonly admission: Admission;
  readonly candidate: Candidate;
}

/** Why a model of the catalogue may not answer. */
type Exclusion =
  | 'inactive'
  | 'redirect'
  | 'not_allowed'
  | 'no_access'
  | 'not_included'
  | 'price'
  | 'capability'
  | 'context'
  | 'region'
  | 'unhealthy'
  | 'budget';

export interface AutoChoice {
  readonly candidates: readonly AutoCandidate[];
  /** Models that may not answer, counted by the reason. */
  readonly excluded: Readonly<Record<string, number>>;
}

/** Which models may answer a request for `auto`: those its caller could have named, and that can do what is asked. */
@Injectable()
export class AutoCandidates {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly admissions: Admissions,
    private readonly tools: AttemptTools,
    private readonly holds: Holds,
  ) {}

  async of(call: Call, view: AutoView, policy: EffectiveAutoPolicy): Promise<AutoChoice> {
    const excluded: Partial<Record<Exclusion, number>> = {};
    const count = (reason: Exclusion): void => void (excluded[reason] = (excluded[reason] ?? 0) + 1);
    const found: AutoCandidate[] = [];
    for (const model of this.catalogue.snapshot.models) {
      if (model.kind !== call.operation.kind) continue;
      const judged = this.judge(model, call, view, policy);
      if (typeof judged === 'string') count(judged);
      else found.push(judged);
    }
    const candidates = await this.affordable(call, found);
    for (let gone = candidates.length; gone < found.length; gone += 1) count('budget');
    return { candidates, excluded };
  }

  private judge(
    model: ModelView,
    call: Call,
    view: AutoView,
    policy: EffectiveAutoPolicy,
  ): AutoCandidate | Exclusion {
    const { caller } = call.inbound;
    if (model.state !== 'active' || model.lanes.length === 0) return 'inactive';
    // What it leads to stands in the catalogue itself.
    if (model.redirectTo !== null) return 'redirect';
    if (!isListed(caller, model)) return 'not_allowed';
    if (!this.catalogue.snapshot.isOpenTo(model, caller.attribution)) return 'no_access';
    if (!isIncluded(model, policy)) return 'not_included';
    if (!isCapable(model, view)) return 'capability';
    const { tokens, maxTokens = 0 } = view.request;
    if ((model.contextTokens ?? Infinity) < tokens + maxTokens) return 'context';
    const admission = this.admissionTo(model, call);
    return typeof admission === 'string' ? admission : this.planned(admission, call);
  }

  /** By the very rules for a model that is named. */
  private admissionTo({ name }: ModelView, call: Call): Admission | Exclusion {
    try {
      return this.admissions.find({ ...call, model: name });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error.code === 'supplier_price_unresolved' ? 'price' : 'capability';
    }
  }

  private planned(admission: Admission, call: Call): AutoCandidate | Exclusion {
    const [first] = routePlan(call, admission, this.tools).lanes;
    if (first === undefined) return 'region';
    if (first.why === 'open') return 'unhealthy';
    const { rates } = first.price;
    return {
      admission,
      candidate: {
        model: admission.model.name,
        provider: first.lane.provider.name,
        inputRate: Number(rates.input),
        outputRate: Number(rates.output),
        cachedInputRate: Number(rates.cacheRead),
      },
    };
  }

  /** Where nothing can be paid, the cheapest stays, and its hold says what is missing. */
  private async affordable(call: Call, found: readonly AutoCandidate[]): Promise<readonly AutoCandidate[]> {
    if (found.length < 2) return found;
    const admissions = found.map(({ admission }) => admission);
    const unpaid = await this.holds.unaffordable(call, admissions);
    if (unpaid.size === 0) return found;
    const left = found.filter(({ admission }) => !unpaid.has(admission));
    if (left.length > 0) return left;
    return [found.reduce((cheapest, one) => (rateOf(one) < rateOf(cheapest) ? one : cheapest))];
  }
}

const rateOf = ({ candidate }: AutoCandidate): number => candidate.inputRate + candidate.outputRate;

const documentModalities = ['document', 'pdf', 'file'];

function isCapable({ capabilities, inputModalities }: ModelView, view: AutoView): boolean {
  const { tools, hasToolResult, hasImage, hasDocument } = view.request;
  return (
    (!(tools > 0 || hasToolResult) || capabilities.has('tools')) &&
    (!view.needsSchema || capabilities.has('json_schema')) &&
    (!hasImage || inputModalities.includes('image')) &&
    (!view.hasAudio || inputModalities.includes('audio')) &&
    (!hasDocument || documentModalities.some((name) => inputModalities.includes(name)))
  );
}
