import { Controller, Query, Req } from '@nestjs/common';
import { ChosenModelsQuery } from '../../audit';
import { CatalogueService, type ModelView } from '../../catalogue';
import { PersonalSettings } from '../../identity';
import { parseUsd, periodNamed, type Scope, whole } from '../../kernel';
import { keyOfPage, KeyRegister } from '../../keys';
import { Takes } from '../../platform';
import {
  AutoSettingsStore,
  AutoStates,
  DecisionQuery,
  type DialOutcome,
  dialPreview,
  type EffectiveAutoPolicy,
  effectivePolicy,
  isIncluded,
  JudgedDecisions,
  newestLearned,
  readiness,
  type RouterState,
} from '../../autorouter';
import { EvaluationLedger, type QualityReport, reportsOf, ScoreQuery, usableReport } from '../../quality';
import { AUTO } from '../../gateway';
import {
  Access,
  actorOf,
  Data,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { USUAL_DAYS } from '../lists/periods';
import { type AutorouterFacts, noScores, type ScoreFacts } from './autorouter-facts';
import { presentAutorouter } from './autorouter-json';
import { autorouterPage } from './autorouter-page';
import { QualityAccess } from './quality/quality-access';

const MOST_DAYS = 365;
const MOST_KEYS = 100;

class AutorouterQuery {
  @Takes(whole(1, MOST_DAYS).default(USUAL_DAYS))
  days: number;
}

class AutorouterPageQuery extends AutorouterQuery {
  /** The key whose settings are open. */
  @Takes(keyOfPage.optional())
  key?: number | string;
}

/** The page shows what became of the requests for `auto`, why, and how sure that is. */
@Controller()
export class AutorouterController {
  constructor(
    private readonly access: QualityAccess,
    private readonly models: ChosenModelsQuery,
    private readonly decisions: DecisionQuery,
    private readonly judged: JudgedDecisions,
    private readonly scores: ScoreQuery,
    private readonly ledger: EvaluationLedger,
    private readonly settings: AutoSettingsStore,
    private readonly states: AutoStates,
    private readonly catalogue: CatalogueService,
    private readonly keys: KeyRegister,
    private readonly personal: PersonalSettings,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard/autorouter', 'pages/dashboard/autorouter', Access.session())
  async show(@Query() { days, key }: AutorouterPageQuery, @Req() request: HttpRequest) {
    const localisation = localisationOf(this.pages, request);
    const { userId } = actorOf(request);
    const mine = { kind: 'user', userId } as const;
    const [facts, isHelpClosed, own, keys] = await Promise.all([
      this.facts(request, days, localisation.timeZone),
      this.personal.isHelpClosed(userId, 'autorouter'),
      this.settings.of({ level: 'user', id: userId }),
      this.keys.list(mine, { limit: MOST_KEYS }),
    ]);
    const open =
      key === undefined ? keys.rows[0] : await this.keys.get(mine, await this.keys.numberOf(mine, key));
    const settings = {
      own,
      keys: keys.rows,
      open:
        open === undefined ? null : { key: open, own: await this.settings.of({ level: 'key', id: open.id }) },
      models: this.openModels(request).map(({ name }) => name),
    };
    return { isHelpClosed, ...autorouterPage({ request, facts, settings, localisation }) };
  }

  @Data('/dashboard/api/autorouter', Access.session())
  async data(@Query() { days }: AutorouterQuery, @Req() request: HttpRequest) {
    const facts = await this.facts(request, days, this.pages.timeZoneOf(request));
    return presentAutorouter(facts, viewScope(request));
  }

  private async facts(request: HttpRequest, days: number, timeZone: string): Promise<AutorouterFacts> {
    const scope = viewScope(request);
    const { userId } = actorOf(request);
    const organisationId = this.organisationOf(request, scope);
    const period = periodNamed({ days }, timeZone, Date.now());
    const { from } = period;
    const audience = { organisationId, userId, keyId: null };
    const [chosen, totals, byDay, byWeek, reasons, latest, excluded, levels, state, spent] =
      await Promise.all([
        this.models.of(scope, AUTO, from),
        this.decisions.totals(scope, from),
        this.decisions.byDay(scope, from, timeZone),
        this.decisions.byWeek(scope, from, timeZone),
        this.decisions.reasons(scope, from),
        this.decisions.latest(scope, from),
        this.decisions.exclusions(scope, from),
        this.settings.levels(audience),
        organisationId === null ? null : this.states.of(organisationId),
        scope.kind === 'user' ? null : this.ledger.spentSince(organisationId, from),
      ]);
    const policy = effectivePolicy(levels);
    const candidates = this.openModels(request)
      .filter((model) => isIncluded(model, policy))
      .map(({ name }) => name);
    const scores = await this.scoreFacts(request, { from, timeZone }, policy, { candidates, state });
    return {
      ...{ days, period, timeZone, chosen, totals, byDay, byWeek, reasons, latest, excluded, candidates },
      ...scores,
      reference: referenceIn(policy, candidates, scores.report),
      levels,
      policy,
      learning: state === null ? null : readiness(state, candidates),
      stateVersion: state?.version ?? 0,
      learnedAt: state === null ? null : learnedAt(state),
      evaluationSpend: spent,
    };
  }

  /** The scores of judged answers are for those whom the organisation lets read them. */
  private async scoreFacts(
    request: HttpRequest,
    { from, timeZone }: { readonly from: Date; readonly timeZone: string },
    policy: EffectiveAutoPolicy,
    known: { readonly candidates: readonly string[]; readonly state: RouterState | null },
  ): Promise<ScoreFacts> {
    const view = await this.access.of(request);
    if (view.state !== 'open') return { ...noScores, quality: view.state };
    const { scope } = view;
    const [measured, scored, { simulated }, dials] = await Promise.all([
      this.decisions.measured(scope, from),
      this.scores.scored(scope, { from }, timeZone),
      this.scores.choices(scope, from),
      this.preview(scope, from, policy, known),
    ]);
    const reports = await reportsOf(scored, policy.reference_model ?? null);
    const report = usableReport(reports);
    return {
      ...{ quality: view.state, measured, report, dials },
      isOfEarlierJudge: report !== (reports[0] ?? null),
      isSimulated: simulated,
    };
  }

  /** It judges by what is ready now: a model that was on trial when the request came counts as it would today. */
  private async preview(
    scope: Scope,
    from: Date,
    policy: EffectiveAutoPolicy,
    { candidates, state }: { candidates: readonly string[]; state: RouterState | null },
  ): Promise<DialOutcome[]> {
    const known = state === null ? [] : readiness(state, candidates).models.filter(({ ready }) => ready);
    const most = policy.max_cost_per_request;
    return dialPreview(await this.judged.latest(scope, from), {
      ready: new Set(known.map(({ model }) => model)),
      minQuality: policy.min_quality ?? 0,
      maxCostNano: most === undefined ? Infinity : Number(parseUsd(most)),
      unfamiliarFrom: state?.calibration === undefined ? null : 1 - state.calibration.p25,
    });
  }

  private organisationOf(request: HttpRequest, scope: Scope): number | null {
    if (scope.kind === 'organisation' || scope.kind === 'department') return scope.organisationId;
    return scope.kind === 'user' ? actorOf(request).organisationId : null;
  }

  private openModels(request: HttpRequest): ModelView[] {
    const { organisationId, departmentId } = actorOf(request);
    const { snapshot } = this.catalogue;
    return snapshot.models.filter(
      (model) =>
        model.kind === 'chat' &&
        model.state === 'active' &&
        model.redirectTo === null &&
        model.lanes.length > 0 &&
        snapshot.isOpenTo(model, { organisationId, departmentId }),
    );
  }
}

/**
 * It is found as the gateway finds it: what settings name, else the first candidate; the report names another where
 * that has none.
 */
function referenceIn(
  { reference_model: named }: EffectiveAutoPolicy,
  candidates: readonly string[],
  report: QualityReport | null,
): string | null {
  if (named !== undefined && candidates.includes(named)) return named;
  return report?.reference ?? candidates[0] ?? null;
}

function learnedAt(state: RouterState): Date | null {
  const at = newestLearned(state);
  return at === null ? null : new Date(at);
}
