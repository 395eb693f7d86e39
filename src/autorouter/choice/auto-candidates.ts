import { Injectable } from '@nestjs/common';
import { CatalogueService, isRetired, type ModelView, type PricedLane } from '../../catalogue';
import { Fault } from '../../kernel';
import type { Candidate } from '../engine/appraise';
import type { EffectiveAutoPolicy } from '../policy/auto-settings';
import { isIncluded } from '../policy/included';
import { SupplierStyles } from '../../routing';
import { type Admission, Admissions, type Call, Holds, isListed, isSpoken, Routes } from '../../gateway';
import type { AutoView } from './request-view';
import { familyOf, writingFamily } from './sealed-history';

/** A candidate model, with the permission to call it. */
export interface AutoCandidate {
  readonly admission: Admission;
  readonly candidate: Candidate;
}

/** A model of the catalogue is left out for one of these reasons. */
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
  /** Models that may not answer, counted by the reason. */
  readonly excluded: Readonly<Record<string, number>>;
}

/** The candidates for `auto`: models that the caller could have named and that can serve the request. */
@Injectable()
export class AutoCandidates {
  constructor(
    private readonly catalogue: CatalogueService,
    private readonly admissions: Admissions,
    private readonly routes: Routes,
    private readonly holds: Holds,
    private readonly styles: SupplierStyles,
  ) {}

  /**
   * The models `writers` are known to have written earlier turns, and `author` made the tool calls whose
   * results the request brings.
   */
  async of(
    call: Call,
    view: AutoView,
    policy: EffectiveAutoPolicy,
    { writers, author }: { readonly writers: readonly string[]; readonly author: string | null },
  ): Promise<AutoChoice> {
    const excluded: Partial<Record<Exclusion, number>> = {};
    const count = (reason: Exclusion): void => void (excluded[reason] = (excluded[reason] ?? 0) + 1);
    const able: AutoCandidate[] = [];
    for (const model of this.catalogue.snapshot.models) {
      if (model.kind !== call.operation.kind) continue;
      const judged = this.judge(model, call, view, policy);
      if (typeof judged === 'string') count(judged);
      else able.push(judged);
    }
    const readers = this.readersAmong(able, call, view, writers);
    for (let gone = readers.length; gone < able.length; gone += 1) count('history');
    const found = withAuthor(this.ablest(readers, call, view), readers, author);
    for (let gone = found.length; gone < readers.length; gone += 1) count('capability');
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
    const lanes = view.seal === 'open' ? admission.lanes : admission.lanes.filter(this.speaks(call));
    return lanes.length === 0 ? 'history' : this.planned({ ...admission, lanes }, call);
  }

  /** Models that can read the sealed content of earlier turns. */
  private readersAmong(
    able: readonly AutoCandidate[],
    call: Call,
    { seal, dialect }: AutoView,
    writers: readonly string[],
  ): readonly AutoCandidate[] {
    if (seal !== 'family') return able;
    const known = writers
      .flatMap((name) => this.catalogue.snapshot.model(name) ?? [])
      // A lane of another dialect left nothing in this one that others could not read.
      .filter(({ lanes }) => lanes.some((lane) => this.speaks(call)({ lane })));
    const models = able.map(({ admission }) => admission.model);
    const family = writingFamily(dialect, known, models);
    return able.filter(({ admission }) => familyOf(admission.model) === family);
  }

  /** Those that can do all that is asked. Where none can, all stay: one leaves out a part, as if it were named. */
  private ablest(
    found: readonly AutoCandidate[],
    call: Call,
    { isOfOneDialect, wantsReasoning }: AutoView,
  ): readonly AutoCandidate[] {
    const whole = isOfOneDialect ? orAll(found, (one) => this.untranslated(one, call)) : found;
    const thinks = ({ admission }: AutoCandidate): boolean => admission.model.capabilities.has('reasoning');
    return wantsReasoning ? orAll(whole, (one) => (thinks(one) ? one : null)) : whole;
  }

  /** It keeps its lanes of the caller's dialect; null where none of them can answer. */
  private untranslated(one: AutoCandidate, call: Call): AutoCandidate | null {
    const lanes = one.admission.lanes.filter(this.speaks(call));
    if (lanes.length === one.admission.lanes.length) return one;
    const planned = lanes.length === 0 ? 'capability' : this.planned({ ...one.admission, lanes }, call);
    return typeof planned === 'string' ? null : planned;
  }

  /** A lane has to be called in the caller's dialect: sealed content survives no translation. */
  private speaks({ operation, needs }: Call): (of: Pick<PricedLane, 'lane'>) => boolean {
    return ({ lane }) => isSpoken(operation, this.styles.wireFor(lane, operation.name, needs));
  }

  /** It admits by the same rules as for a named model. */
  private admissionTo({ name }: ModelView, call: Call): Admission | Exclusion {
    try {
      return this.admissions.find({ ...call, model: name });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return error.code === 'supplier_price_unresolved' ? 'price' : 'capability';
    }
  }

  private planned(admission: Admission, call: Call): AutoCandidate | Exclusion {
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

  /** Where the caller can pay for none, the cheapest stays, and its hold names what is missing. */
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

/** The author of tool calls stays, whatever it cannot do, on all of its lanes: no other may read the results. */
function withAuthor(
  ablest: readonly AutoCandidate[],
  readers: readonly AutoCandidate[],
  author: string | null,
): readonly AutoCandidate[] {
  const isAuthor = ({ admission }: AutoCandidate): boolean => admission.model.name === author;
  const held = readers.find(isAuthor);
  if (held === undefined) return ablest;
  // Last where it is added: the first candidate is the usual reference.
  return ablest.some(isAuthor) ? ablest.map((one) => (isAuthor(one) ? held : one)) : [...ablest, held];
}

function orAll(
  found: readonly AutoCandidate[],
  fit: (one: AutoCandidate) => AutoCandidate | null,
): readonly AutoCandidate[] {
  const fitting = found.flatMap((one) => fit(one) ?? []);
  return fitting.length === 0 ? found : fitting;
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
