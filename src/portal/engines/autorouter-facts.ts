import type { ChosenModel } from '../../audit';
import type { Nano, Period } from '../../kernel';
import type {
  AutoSettingsStore,
  ChosenOnDay,
  DecidingReason,
  DecisionTotals,
  DialOutcome,
  effectivePolicy,
  MadeDecision,
  MeasuredDifference,
  Readiness,
  WeekOfDecisions,
} from '../../autorouter';
import type { QualityReport } from '../../quality';
import type { QualityView } from './quality/quality-access';

/** The scores of judged answers are empty where the organisation does not let the reader see them. */
export interface ScoreFacts {
  readonly quality: QualityView['state'];
  readonly measured: MeasuredDifference;
  /** It is that of the latest judge that scored enough; null while nothing was judged. */
  readonly report: QualityReport | null;
  /** Each place of the dial would have chosen so of the last judged requests. */
  readonly dials: readonly DialOutcome[];
  /** A later judge has scored too little for figures. */
  readonly isOfEarlierJudge: boolean;
  readonly isSimulated: boolean;
}

export const noScores: Omit<ScoreFacts, 'quality'> = {
  measured: { pairs: 0, quality: null, costRatio: null, latencyMs: null },
  report: null,
  dials: [],
  isOfEarlierJudge: false,
  isSimulated: false,
};

/** They are everything that the page of the autorouter and its JSON say. */
export interface AutorouterFacts extends ScoreFacts {
  readonly days: number;
  readonly period: Period;
  readonly timeZone: string;
  readonly chosen: readonly ChosenModel[];
  readonly totals: DecisionTotals;
  readonly byDay: readonly ChosenOnDay[];
  readonly byWeek: readonly WeekOfDecisions[];
  readonly reasons: readonly DecidingReason[];
  /** Models that settings and access leave to choose from. */
  readonly candidates: readonly string[];
  readonly reference: string | null;
  readonly latest: readonly MadeDecision[];
  readonly excluded: Readonly<Record<string, number>>;
  readonly levels: Awaited<ReturnType<AutoSettingsStore['levels']>>;
  readonly policy: ReturnType<typeof effectivePolicy>;
  /** Null without an organisation: nothing is learned then. */
  readonly learning: Readiness | null;
  readonly stateVersion: number;
  readonly learnedAt: Date | null;
  /** It is null for those who see their own requests alone. */
  readonly evaluationSpend: Nano | null;
}
