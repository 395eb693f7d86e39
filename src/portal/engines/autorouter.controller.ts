import { Controller, Query, Req } from '@nestjs/common';
import { ChosenModelsQuery } from '../../audit';
import { CatalogueService, type ModelView } from '../../catalogue';
import { PersonalSettings } from '../../identity';
import { parseUsd, resolvePeriod, type Scope } from '../../kernel';
import { KeyRegister } from '../../keys';
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
import { EvaluationLedger, type QualityReport, buildReports, ScoreQuery, usableReport } from '../../quality';
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
import { type AutorouterData, emptyScores, type ScoreData } from './autorouter-data';
import { presentAutorouter } from './autorouter-json';
import { autorouterPage } from './autorouter-page';
import { QualityAccess } from './quality/quality-access';
import { AutorouterQuery, AutorouterPageQuery } from './autorouter.dto';
const MAX_KEYS = 100;

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
    const ownScope = { kind: 'user', userId } as const;
    const [facts, isHelpClosed, own, keys] = await Promise.all([
      this.loadData(request, days, localisation.timeZone),
      this.personal.isHelpClosed(userId, 'autorouter'),
      this.settings.of({ level: 'user', id: userId }),
      this.keys.list(ownScope, { limit: MAX_KEYS }),
    ]);
    const openKey =
      key === undefined
        ? keys.rows[0]
        : await this.keys.get(ownScope, await this.keys.resolveId(ownScope, key));
    const settings = {
      own,
      keys: keys.rows,
      open:
        openKey === undefined
          ? null
          : { key: openKey, own: await this.settings.of({ level: 'key', id: openKey.id }) },
      models: this.openModels(request).map(({ name }) => name),
    };
    return { isHelpClosed, ...autorouterPage({ request, facts, settings, localisation }) };
  }

  @Data('/dashboard/api/autorouter', Access.session())
  async data(@Query() { days }: AutorouterQuery, @Req() request: HttpRequest) {
    const facts = await this.loadData(request, days, this.pages.timeZoneOf(request));
    return presentAutorouter(facts, viewScope(request));
  }

  private async loadData(request: HttpRequest, days: number, timeZone: string): Promise<AutorouterData> {
    const scope = viewScope(request);
    const { userId } = actorOf(request);
    const organisationId = this.findOrganisationId(request, scope);
    const period = resolvePeriod({ days }, timeZone, Date.now());
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
    const scores = await this.loadScores(request, { from, timeZone }, policy, { candidates, state });
    return {
      ...{ days, period, timeZone, chosen, totals, byDay, byWeek, reasons, latest, excluded, candidates },
      ...scores,
      reference: findReference(policy, candidates, scores.report),
      levels,
      policy,
      learning: state === null ? null : readiness(state, candidates),
      stateVersion: state?.version ?? 0,
      learnedAt: state === null ? null : lastLearnedAt(state),
      evaluationSpend: spent,
    };
  }

  private async loadScores(
    request: HttpRequest,
    { from, timeZone }: { readonly from: Date; readonly timeZone: string },
    policy: EffectiveAutoPolicy,
    router: { readonly candidates: readonly string[]; readonly state: RouterState | null },
  ): Promise<ScoreData> {
    const view = await this.access.resolve(request);
    if (view.state !== 'open') return { ...emptyScores, quality: view.state };
    const { scope } = view;
    const [measured, scored, { simulated }, dials] = await Promise.all([
      this.decisions.measured(scope, from),
      this.scores.listScored(scope, { from }, timeZone),
      this.scores.choices(scope, from),
      this.previewDials(scope, from, policy, router),
    ]);
    const reports = await buildReports(scored, policy.reference_model ?? null);
    const report = usableReport(reports);
    return {
      ...{ quality: view.state, measured, report, dials },
      isOfEarlierJudge: report !== (reports[0] ?? null),
      isSimulated: simulated,
    };
  }

  /** Uses today's readiness of models, even if a model was on trial at the time of the request. */
  private async previewDials(
    scope: Scope,
    from: Date,
    policy: EffectiveAutoPolicy,
    { candidates, state }: { candidates: readonly string[]; state: RouterState | null },
  ): Promise<DialOutcome[]> {
    const readyModels =
      state === null ? [] : readiness(state, candidates).models.filter(({ ready }) => ready);
    const maxCost = policy.max_cost_per_request;
    return dialPreview(await this.judged.latest(scope, from), {
      ready: new Set(readyModels.map(({ model }) => model)),
      minQuality: policy.min_quality ?? 0,
      maxCostNano: maxCost === undefined ? Infinity : Number(parseUsd(maxCost)),
      unfamiliarFrom: state?.calibration === undefined ? null : 1 - state.calibration.p25,
    });
  }

  private findOrganisationId(request: HttpRequest, scope: Scope): number | null {
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
 * Finds the reference model as the gateway does: the configured one, else the first candidate. A report's reference
 * precedes that candidate.
 */
function findReference(
  { reference_model: configured }: EffectiveAutoPolicy,
  candidates: readonly string[],
  report: QualityReport | null,
): string | null {
  if (configured !== undefined && candidates.includes(configured)) return configured;
  return report?.reference ?? candidates[0] ?? null;
}

function lastLearnedAt(state: RouterState): Date | null {
  const at = newestLearned(state);
  return at === null ? null : new Date(at);
}
