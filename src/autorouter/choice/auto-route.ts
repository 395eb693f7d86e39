import type { Explanation } from '../engine/explanation';
import type { Admission, ChosenRoute } from '../../gateway';
import type { AutoCandidate } from './auto-candidates';

/** Explains an answer by the fallback model while routing is off. */
interface FallbackExplanation {
  readonly mode: 'off';
  readonly reason: 'fallback';
  readonly ref: string;
  readonly chosen: string;
}

type AutoExplanation = (Explanation & { readonly fallback?: 'state_unavailable' }) | FallbackExplanation;

export type AutoDecision = AutoExplanation & {
  /** The model that answered, if the chosen one failed. */
  readonly answered_by?: string;
};

interface AutoEffects {
  remember(model: string): Promise<void>;
  called(model: string, calls: readonly string[]): Promise<void>;
  noted(model: string): void;
}

export class AutoRoute implements ChosenRoute {
  private readonly remainingFallbacks: string[];
  private answeringModel: { readonly model: string; readonly remembering: Promise<void> } | null = null;

  constructor(
    readonly admission: Admission,
    private readonly explanation: AutoExplanation,
    private readonly candidates: ReadonlyMap<string, AutoCandidate>,
    fallbackOrder: readonly string[],
    private readonly effects: AutoEffects,
  ) {
    this.remainingFallbacks = [...fallbackOrder];
  }

  get hasTrafficChanged(): boolean {
    const { explanation } = this;
    return explanation.mode !== 'off' && explanation.drift !== 'calm';
  }

  recordAnswer(model: string): void {
    this.effects.noted(model);
    this.answeringModel = { model, remembering: this.effects.remember(model) };
  }

  async whenRemembered(calls: readonly string[]): Promise<void> {
    if (this.answeringModel === null) return;
    const { model, remembering } = this.answeringModel;
    await Promise.all([remembering, calls.length === 0 ? null : this.effects.called(model, calls)]);
  }

  /** Switches to another model; null if this route is not allowed to call it. */
  switchTo(other: Admission): Admission | null {
    if (this.explanation.mode === 'off') return other;
    const { name } = other.model;
    return this.remainingFallbacks.includes(name) ? (this.candidates.get(name)?.admission ?? null) : null;
  }

  next(): Admission | null {
    const name = this.remainingFallbacks.shift();
    return name === undefined ? null : (this.candidates.get(name)?.admission ?? null);
  }

  /** The answering model, the reason for the choice and the dial setting. */
  headerText(answeredBy: string): string {
    const { explanation } = this;
    const dial = explanation.mode === 'off' ? 'off' : explanation.policy.dial;
    return `${answeredBy}; ${explanation.reason}; ${dial}`;
  }

  explain(answeredBy: string | null): AutoDecision {
    const { explanation } = this;
    return answeredBy === null || answeredBy === explanation.chosen
      ? explanation
      : { ...explanation, answered_by: answeredBy };
  }
}
