import { Injectable } from '@nestjs/common';
import { CatalogueService, isRetired, type ModelView, type PricedLane } from '../../catalogue';
import { Fault } from '../../kernel';
import type { Candidate } from '../engine/appraise';
import type { EffectiveAutoPolicy } from '../policy/auto-settings';
import { isIncluded } from '../policy/included';
import { SupplierStyles } from '../../routing';
import {
  type Admission,
  Admissions,
  type GatewayCall,
  Holds,
  isListed,
  isPassThrough,
  RoutePlanner,
} from '../../gateway';
import type { AutoView } from './request-view';
import { familyOf, writingFamily } from './sealed-history';

export interface AutoCandidate {
  readonly admission: Admission;
  readonly candidate: Candidate;
}

type Exclusion =
  | 'inactive'
  | 'redirect'
  | 'not_allowed'
  | 'no_access'
  | 'not_included'
  | 'price'
  | 'capability'
  | 'context'
  | 'history'
  | 'region'
  | 'unhealthy'
  | 'budget';

export interface AutoChoice {
  readonly candidates: readonly AutoCandidate[];
  readonly excluded: Readonly<Record<string, number>>;
}

@Injectable()
export class AutoCandidates {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly admissions: Admissions,
    private readonly routes: RoutePlanner,
    private readonly holds: Holds,
    private readonly styles: SupplierStyles,
  ) {}

  /**
   * `writers` are the models known to have written earlier turns. `author` made the tool calls whose results the
   * request contains.
   */
  async of(
    call: GatewayCall,
    view: AutoView,
    policy: EffectiveAutoPolicy,
    { writers, author }: { readonly writers: readonly string[]; readonly author: string | null },
  ): Promise<AutoChoice> {
    const excluded: Partial<Record<Exclusion, number>> = {};
    const count = (reason: Exclusion): void => void (excluded[reason] = (excluded[reason] ?? 0) + 1);
    const eligible: AutoCandidate[] = [];
    for (const model of this.catalogue.snapshot.models) {
      if (model.kind !== call.operation.kind) continue;
      const verdict = this.judge(model, call, view, policy);
      if (typeof verdict === 'string') count(verdict);
      else eligible.push(verdict);
    }
    const readers = this.readersAmong(eligible, call, view, writers);
    for (let index = readers.length; index < eligible.length; index += 1) count('history');
    const capable = withAuthor(this.mostCapable(readers, call, view), readers, author);
    for (let index = capable.length; index < readers.length; index += 1) count('capability');
    const candidates = await this.affordable(call, capable);
    for (let index = candidates.length; index < capable.length; index += 1) count('budget');
    return { candidates, excluded };
  }

  private judge(
    model: ModelView,
    call: GatewayCall,
    view: AutoView,
    policy: EffectiveAutoPolicy,
  ): AutoCandidate | Exclusion {
    const { caller } = call.inbound;
    if (model.state !== 'active' || model.lanes.length === 0 || isRetired(model, Date.now()))
      return 'inactive';
    // A redirected model is judged by its target, which is in the catalogue too.
    if (model.redirectTo !== null) return 'redirect';
    if (!isListed(caller, model, call.byAuto)) return 'not_allowed';
    if (!this.catalogue.snapshot.isOpenTo(model, caller.attribution)) return 'no_access';
    if (!isIncluded(model, policy)) return 'not_included';
    if (!isCapable(model, view)) return 'capability';
    const { tokens, maxTokens = 0 } = view.request;
    if ((model.contextTokens ?? Infinity) < tokens + maxTokens) return 'context';
    const admission = this.admissionTo(model, call);
    if (typeof admission === 'string') return admission;
    const lanes = view.seal === 'open' ? admission.lanes : admission.lanes.filter(this.speaksDialectOf(call));
    return lanes.length === 0 ? 'history' : this.planned({ ...admission, lanes }, call);
  }

  private readersAmong(
    eligible: readonly AutoCandidate[],
    call: GatewayCall,
    { seal, dialect }: AutoView,
    writers: readonly string[],
  ): readonly AutoCandidate[] {
    if (seal !== 'family') return eligible;
    const knownWriters = writers
      .flatMap((name) => this.catalogue.snapshot.model(name) ?? [])
      // A lane of another dialect cannot have produced content in this one that others cannot read.
      .filter(({ lanes }) => lanes.some((lane) => this.speaksDialectOf(call)({ lane })));
    const models = eligible.map(({ admission }) => admission.model);
    const family = writingFamily(dialect, knownWriters, models);
    return eligible.filter(({ admission }) => familyOf(admission.model) === family);
  }

  /**
   * Keeps the candidates that support every requested feature. If none does, all stay, and the chosen model drops a
   * part as if it were named.
   */
  private mostCapable(
    candidates: readonly AutoCandidate[],
    call: GatewayCall,
    { isOfOneDialect, wantsReasoning }: AutoView,
  ): readonly AutoCandidate[] {
    const unconverted = isOfOneDialect
      ? orAll(candidates, (one) => this.withoutConversion(one, call))
      : candidates;
    const canReason = ({ admission }: AutoCandidate): boolean =>
      admission.model.capabilities.has('reasoning');
    return wantsReasoning ? orAll(unconverted, (one) => (canReason(one) ? one : null)) : unconverted;
  }

  /** Restricts the candidate to lanes of the caller's dialect; null if none of them can respond. */
  private withoutConversion(one: AutoCandidate, call: GatewayCall): AutoCandidate | null {
    const lanes = one.admission.lanes.filter(this.speaksDialectOf(call));
    if (lanes.length === one.admission.lanes.length) return one;
    const planned = lanes.length === 0 ? 'capability' : this.planned({ ...one.admission, lanes }, call);
    return typeof planned === 'string' ? null : planned;
  }

  /** Whether a lane is called in the caller's dialect: sealed content survives no conversion. */
  private speaksDialectOf({ operation, needs }: GatewayCall): (of: Pick<PricedLane, 'lane'>) => boolean {
    return ({ lane }) => isPassThrough(operation, this.styles.wireFor(lane, operation.name, needs));
  }

  private admissionTo({ name }: ModelView, call: GatewayCall): Admission | Exclusion {
    try {
      return this.admissions.find({ ...call, model: name });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error.code === 'supplier_price_unresolved' ? 'price' : 'capability';
    }
  }

  private planned(admission: Admission, call: GatewayCall): AutoCandidate | Exclusion {
    const [first] = this.routes.lanesFor(call, admission).lanes;
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

  /** If the caller can afford no candidate, keeps the cheapest, so that its hold reports the missing amount. */
  private async affordable(
    call: GatewayCall,
    candidates: readonly AutoCandidate[],
  ): Promise<readonly AutoCandidate[]> {
    if (candidates.length < 2) return candidates;
    const admissions = candidates.map(({ admission }) => admission);
    const unaffordable = await this.holds.findUnaffordable(call, admissions);
    if (unaffordable.size === 0) return candidates;
    const affordable = candidates.filter(({ admission }) => !unaffordable.has(admission));
    if (affordable.length > 0) return affordable;
    return [candidates.reduce((cheapest, one) => (rateOf(one) < rateOf(cheapest) ? one : cheapest))];
  }
}

/**
 * Keeps the author of the tool calls on all of its lanes regardless of its capabilities: no other model is allowed to
 * read the results.
 */
function withAuthor(
  capable: readonly AutoCandidate[],
  readers: readonly AutoCandidate[],
  author: string | null,
): readonly AutoCandidate[] {
  const isAuthor = ({ admission }: AutoCandidate): boolean => admission.model.name === author;
  const authorCandidate = readers.find(isAuthor);
  if (authorCandidate === undefined) return capable;
  // Appended last: the first candidate is the usual reference.
  return capable.some(isAuthor)
    ? capable.map((one) => (isAuthor(one) ? authorCandidate : one))
    : [...capable, authorCandidate];
}

function orAll(
  candidates: readonly AutoCandidate[],
  fit: (one: AutoCandidate) => AutoCandidate | null,
): readonly AutoCandidate[] {
  const matching = candidates.flatMap((one) => fit(one) ?? []);
  return matching.length === 0 ? candidates : matching;
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
