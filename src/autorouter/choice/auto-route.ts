import type { Explanation } from '../engine/explanation';
import type { Admission, ChosenRoute } from '../../gateway';
import type { AutoCandidate } from './auto-candidates';

/** Nothing was chosen for this reason, and a model answered all the same. */
interface FallbackExplanation {
  readonly mode: 'off';
  readonly reason: 'fallback';
  readonly ref: string;
  readonly chosen: string;
}

type Explained = (Explanation & { readonly fallback?: 'state_unavailable' }) | FallbackExplanation;

/** The record of a request keeps this of its decision. */
export type AutoDecision = Explained & {
  /** The model that answered, where the chosen one failed. */
  readonly answered_by?: string;
};

interface AutoEffects {
  /** Stores the model of the conversation; it never fails. */
  remember(model: string): Promise<void>;
  /** Stores which model made these tool calls; it never fails. */
  called(model: string, calls: readonly string[]): Promise<void>;
  noted(model: string): void;
}

/** The route of one `auto` request: the chosen model and its stand-ins. */
export class AutoRoute implements ChosenRoute {
  private readonly left: string[];
  private answerer: { readonly model: string; readonly remembering: Promise<void> } | null = null;

  constructor(
    readonly admission: Admission,
    private readonly explanation: Explained,
    private readonly candidates: ReadonlyMap<string, AutoCandidate>,
    fallbackOrder: readonly string[],
    private readonly effects: AutoEffects,
  ) {
    this.left = [...fallbackOrder];
  }

  get isOfChangedTraffic(): boolean {
    const { explanation } = this;
    return explanation.mode !== 'off' && explanation.drift !== 'calm';
  }

  answered(model: string): void {
    this.effects.noted(model);
    this.answerer = { model, remembering: this.effects.remember(model) };
  }

  async whenRemembered(calls: readonly string[]): Promise<void> {
    if (this.answerer === null) return;
    const { model, remembering } = this.answerer;
    await Promise.all([remembering, calls.length === 0 ? null : this.effects.called(model, calls)]);
  }

  /** Another model stands in; null where this route may not ask it. */
  instead(other: Admission): Admission | null {
    if (this.explanation.mode === 'off') return other;
    const { name } = other.model;
    return this.left.includes(name) ? (this.candidates.get(name)?.admission ?? null) : null;
  }

  /** The next stand-in; null when there is none. */
  next(): Admission | null {
    const name = this.left.shift();
    return name === undefined ? null : (this.candidates.get(name)?.admission ?? null);
  }

  /** The model that answers, why one was chosen, and the place of the dial. */
  told(answeredBy: string): string {
    const { explanation } = this;
    const dial = explanation.mode === 'off' ? 'off' : explanation.policy.dial;
    return `${answeredBy}; ${explanation.reason}; ${dial}`;
  }

  /** The record gets it when it is known who answered. */
  explained(answeredBy: string | null): AutoDecision {
    const { explanation } = this;
    return answeredBy === null || answeredBy === explanation.chosen
      ? explanation
      : { ...explanation, answered_by: answeredBy };
  }
}
