import type { ChosenModel } from '../../audit';
import type { Nano, Period } from '../../kernel';
import type {
  AutoSettingsStore,
  DailyModelChoices,
  ReasonCount,
  DecisionTotals,
  DialOutcome,
  effectivePolicy,
  LoggedDecision,
  MeasuredDifference,
  RouterReadiness,
  WeeklyDecisions,
} from '../../autorouter';
import type { QualityReport } from '../../quality';
import type { QualityView } from './quality/quality-access';

/** Evaluation scores; empty if the organisation does not let the reader see them. */
export interface ScoreData {
  readonly quality: QualityView['state'];
  readonly measured: MeasuredDifference;
  /** Report of the newest judge with enough scores; null before the first evaluation. */
  readonly report: QualityReport | null;
  /** Simulated result of each dial position for the latest evaluated requests. */
  readonly dials: readonly DialOutcome[];
  /** True if a newer judge has too few scores for a report. */
  readonly isOfEarlierJudge: boolean;
  readonly isSimulated: boolean;
}

export const emptyScores: Omit<ScoreData, 'quality'> = {
  measured: { pairs: 0, quality: null, costRatio: null, latencyMs: null },
  report: null,
  dials: [],
  isOfEarlierJudge: false,
  isSimulated: false,
};

export interface AutorouterData extends ScoreData {
  readonly days: number;
  readonly period: Period;
  readonly timeZone: string;
  readonly chosen: readonly ChosenModel[];
  readonly totals: DecisionTotals;
  readonly byDay: readonly DailyModelChoices[];
  readonly byWeek: readonly WeeklyDecisions[];
  readonly reasons: readonly ReasonCount[];
  /** Models that settings and access allow. */
  readonly candidates: readonly string[];
  readonly reference: string | null;
  readonly latest: readonly LoggedDecision[];
  readonly excluded: Readonly<Record<string, number>>;
  readonly levels: Awaited<ReturnType<AutoSettingsStore['levels']>>;
  readonly policy: ReturnType<typeof effectivePolicy>;
  /** Null without an organisation, because nothing is learned then. */
  readonly learning: RouterReadiness | null;
  readonly stateVersion: number;
  readonly learnedAt: Date | null;
  /** Null for readers who see only their own requests. */
  readonly evaluationSpend: Nano | null;
}
