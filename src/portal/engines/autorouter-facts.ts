import type { ChosenModel } from '../../audit';
import type { Nano } from '../../kernel';
import type {
  ChosenOnDay,
  DecidingReason,
  DecisionTotals,
  DialOutcome,
  MadeDecision,
  MeasuredDifference,
  QualityReport,
  WeekOfDecisions,
} from '../../quality';
import type { AutoSettingsStore, effectivePolicy, Readiness } from '../../routing';

/** Everything that the page of the autorouter and its JSON say. */
export interface AutorouterFacts {
  readonly days: number;
  readonly chosen: readonly ChosenModel[];
  readonly totals: DecisionTotals;
  readonly byDay: readonly ChosenOnDay[];
  readonly byWeek: readonly WeekOfDecisions[];
  readonly reasons: readonly DecidingReason[];
  /** Models that settings and access leave to choose from. */
  readonly candidates: readonly string[];
  readonly reference: string | null;
  /** What every place of the dial would have chosen of the last judged requests. */
  readonly dials: readonly DialOutcome[];
  readonly latest: readonly MadeDecision[];
  readonly excluded: Readonly<Record<string, number>>;
  readonly measured: MeasuredDifference;
  /** Of the latest judge that scored enough; null while nothing was judged. */
  readonly report: QualityReport | null;
  /** A later judge has scored too little for figures. */
  readonly isOfEarlierJudge: boolean;
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
