import type { ChosenModel } from '../../audit';
import type { Nano } from '../../kernel';
import type {
  ChosenOnDay,
  DecisionTotals,
  MadeDecision,
  MeasuredDifference,
  QualityReport,
} from '../../quality';
import type { AutoSettingsStore, effectivePolicy, Readiness } from '../../routing';

/** Everything that the page of the autorouter and its JSON say. */
export interface AutorouterFacts {
  readonly days: number;
  readonly chosen: readonly ChosenModel[];
  readonly totals: DecisionTotals;
  readonly byDay: readonly ChosenOnDay[];
  readonly latest: readonly MadeDecision[];
  readonly excluded: Readonly<Record<string, number>>;
  readonly measured: MeasuredDifference;
  /** Of the latest judge; null while nothing was judged. */
  readonly report: QualityReport | null;
  readonly isSimulated: boolean;
  readonly levels: Awaited<ReturnType<AutoSettingsStore['levels']>>;
  readonly policy: ReturnType<typeof effectivePolicy>;
  /** Null without an organisation: nothing is learned then. */
  readonly learning: Readiness | null;
  readonly stateVersion: number;
  readonly learnedAt: Date | null;
  /** Null for those who see their own requests alone. */
  readonly evaluationSpend: Nano | null;
}
