import { Controller, Query, Req } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { ChosenModelsQuery } from '../../audit';
import { PersonalSettings } from '../../identity';
import type { Scope } from '../../kernel';
import { KeyRegister } from '../../keys';
import { DecisionQuery, EvaluationLedger, reportsOf, ScoreQuery } from '../../quality';
import { AUTO, AutoSettingsStore, AutoStates, effectivePolicy, readiness } from '../../routing';
import { CatalogueService } from '../../catalogue';
import { Access, actorOf, Data, type HttpRequest, Page, PageRenderer, viewScope } from '../../web';
import { DAY_MS } from '../lists/days';
import { looksOf } from '../lists/looks';
import type { AutorouterFacts } from './autorouter-facts';
import { presentAutorouter } from './autorouter-json';
import { autorouterPage } from './autorouter-page';

const USUAL_DAYS = 30;
const MOST_DAYS = 365;
const MOST_KEYS = 100;

class AutorouterQuery {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MOST_DAYS)
  days?: number;
}

/** What became of the requests that asked for `auto`, why, and how sure that is. */
@Controller()
export class AutorouterController {
  constructor(
    private readonly models: ChosenModelsQuery,
    private readonly decisions: DecisionQuery,
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
  async show(@Query() { days = USUAL_DAYS }: AutorouterQuery, @Req() request: HttpRequest): Promise<object> {
    const looks = looksOf(this.pages, request);
    const { userId } = actorOf(request);
    const [facts, isHelpClosed, own, keys] = await Promise.all([
      this.facts(request, days, looks.timeZone),
      this.personal.isHelpClosed(userId, 'autorouter'),
      this.settings.of({ level: 'user', id: userId }),
      this.keys.list({ kind: 'user', userId }, { limit: MOST_KEYS }),
    ]);
    const settings = { own, keys: keys.rows, models: this.openModels(request) };
    return { isHelpClosed, ...autorouterPage({ request, facts, settings, looks }) };
  }

  @Data('/dashboard/api/autorouter', Access.session())
  async data(@Query() { days = USUAL_DAYS }: AutorouterQuery, @Req() request: HttpRequest): Promise<object> {
    return presentAutorouter(await this.facts(request, days, 'UTC'), viewScope(request));
  }

  private async facts(request: HttpRequest, days: number, timeZone: string): Promise<AutorouterFacts> {
    const scope = viewScope(request);
    const { userId } = actorOf(request);
    const organisationId = this.organisationOf(request, scope);
    const from = new Date(Date.now() - days * DAY_MS);
    const audience = { organisationId, userId, keyId: null };
    const [chosen, totals, byDay, latest, excluded, measured, scored, share, levels, state, spent] =
      await Promise.all([
        this.models.of(scope, AUTO, from),
        this.decisions.totals(scope, from),
        this.decisions.byDay(scope, from, timeZone),
        this.decisions.latest(scope, from),
        this.decisions.exclusions(scope, from),
        this.decisions.measured(scope, from),
        this.scores.scored(scope, { from }),
        this.scores.choices(scope, from),
        this.settings.levels(audience),
        organisationId === null ? null : this.states.of(organisationId),
        scope.kind === 'user' ? null : this.ledger.spentSince(organisationId, from),
      ]);
    return {
      days,
      chosen,
      totals,
      byDay,
      latest,
      excluded,
      measured,
      report: reportsOf(scored, null)[0] ?? null,
      isSimulated: share.simulated,
      levels,
      policy: effectivePolicy(levels),
      learning: state === null ? null : readiness(state, this.openModels(request)),
      stateVersion: state?.version ?? 0,
      learnedAt: state === null || state.asOf === 0 ? null : new Date(state.asOf),
      evaluationSpend: spent,
    };
  }

  private organisationOf(request: HttpRequest, scope: Scope): number | null {
    if (scope.kind === 'organisation' || scope.kind === 'department') return scope.organisationId;
    return scope.kind === 'user' ? actorOf(request).organisationId : null;
  }

  private openModels(request: HttpRequest): string[] {
    const { organisationId, departmentId } = actorOf(request);
    const { snapshot } = this.catalogue;
    return snapshot.models
      .filter(
        (model) =>
          model.kind === 'chat' &&
          model.state === 'active' &&
          model.lanes.length > 0 &&
          snapshot.isOpenTo(model, { organisationId, departmentId }),
      )
      .map(({ name }) => name);
  }
}
