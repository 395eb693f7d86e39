import { Controller, Query, Req } from '@nestjs/common';
import { LatencyQuery, RequestLogQuery, UsageQuery } from '../../audit';
import { ReachedBudgets } from '../../billing';
import { CatalogueService } from '../../catalogue';
import { PersonalSettings } from '../../identity';
import { type Actor, atLeast, oneNumberOf, periodBefore, periodNamed, type Scope } from '../../kernel';
import { KeyRegister } from '../../keys';
import { Takes } from '../../platform';
import { requestSnippets } from '../../views';
import {
  Access,
  actorOf,
  type HttpRequest,
  type Localisation,
  localisationOf,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { USUAL_DAYS } from '../lists/periods';
import { PersonalNotices } from '../notices/personal-notices';
import { DocumentLibrary } from '../public/documents/document-library';
import { exampleModels } from '../public/example-models';
import { publicModels } from '../public/public-models';
import { firstRunOf } from './first-run';
import { overviewPage, overviewPeriods } from './overview-model';
import { SpendableFunds } from './funds.service';
import { setUpCard, type SetUpCardModel } from './set-up-card';
import { SetUpState } from './set-up.service';

const MODELS_NAMED = 7;
const REQUESTS_SHOWN = 10;
const KEYS_CALLED = 5;
const BUDGETS_CALLED = 5;
const LATENCIES_LOOKED_AT = 1_000;

class OverviewQuery {
  @Takes(oneNumberOf(overviewPeriods).default(USUAL_DAYS))
  days: number;
}

/** The first page after signing in: how things stand, or what to do first. */
@Controller()
export class OverviewController {
  constructor(
    private readonly usage: UsageQuery,
    private readonly requests: RequestLogQuery,
    private readonly latencies: LatencyQuery,
    private readonly funds: SpendableFunds,
    private readonly budgets: ReachedBudgets,
    private readonly keys: KeyRegister,
    private readonly catalogue: CatalogueService,
    private readonly notices: PersonalNotices,
    private readonly personal: PersonalSettings,
    private readonly library: DocumentLibrary,
    private readonly setUp: SetUpState,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard', 'pages/dashboard/overview', Access.session())
  async show(@Query() { days }: OverviewQuery, @Req() request: HttpRequest) {
    const scope = viewScope(request);
    const localisation = localisationOf(this.pages, request);
    const isOwn = scope.kind === 'user';
    const now = Date.now();
    const zone = localisation.timeZone;
    const period = periodNamed({ days }, zone, now);
    const lastDay = periodNamed({ hours: 24 }, zone, now);
    const byDay = { bucket: 'day', zone } as const;
    const [usage, earlier, latest, latencies, funds, budgets, troubled, ending, own, notices, muted, setUp] =
      await Promise.all([
        this.usage.ask(scope, { ...byDay, ...period, groupBy: 'model', mostGroups: MODELS_NAMED }),
        this.usage.ask(scope, { ...byDay, ...periodBefore(period) }),
        this.requests.page(scope, {}, { limit: REQUESTS_SHOWN }),
        this.latencies.newest(scope, lastDay.from, LATENCIES_LOOKED_AT),
        this.funds.of(scope),
        isOwn ? this.budgets.ofPerson(scope.userId, BUDGETS_CALLED) : [],
        isOwn ? [] : this.keys.inTrouble(scope, KEYS_CALLED),
        isOwn ? this.keys.ending(scope, KEYS_CALLED) : [],
        this.keys.list(scope, { kind: 'client', limit: 1 }),
        isOwn ? this.notices.of(scope.userId) : [],
        this.personal.mutedNotices(actorOf(request).userId),
        this.setUpOf(actorOf(request), localisation),
      ]);
    const facts = {
      request,
      days,
      period,
      usage,
      earlier,
      latest: latest.rows,
      latencies,
      funds,
      budgets,
      troubled,
      ending,
      notices,
      muted,
    };
    const isFirstRun = isOwn && latest.rows.length === 0;
    return {
      ...overviewPage(facts, localisation),
      setUp,
      ...(isFirstRun
        ? {
            firstRun: firstRunOf(
              { funds, key: own.rows[0] ?? null, snippets: this.snippets(request) },
              localisation.translate,
            ),
          }
        : {}),
    };
  }

  /** Asked by the first page every few seconds until there is a request; without scripts a page of its own. */
  @Page('/dashboard/first-request', 'pages/dashboard/first-request', Access.session())
  async firstRequest(@Req() request: HttpRequest) {
    const latest = await this.latestOf(viewScope(request));
    return { hasArrived: latest !== null, arrivedAt: latest?.createdAt };
  }

  @Page('/dashboard/guide', 'pages/dashboard/guide', Access.session())
  async guide(@Req() request: HttpRequest) {
    // The page calls it the reader's own key, also in the view of an administrator.
    const own = { kind: 'user', userId: actorOf(request).userId } as const;
    const { rows } = await this.keys.list(own, { kind: 'client', status: 'active', limit: 1 });
    const place = this.pages.placeOf(request);
    return { ...this.library.page('guide', place), key: rows[0] ?? null, baseUrl: place.baseUrl };
  }

  /** Operators see it until they put it away. */
  private async setUpOf(
    { userId, role }: Actor,
    { translate }: Localisation,
  ): Promise<SetUpCardModel | null> {
    if (!atLeast(role, 'platform_admin')) return null;
    if (await this.personal.isHelpClosed(userId, 'setup')) return null;
    return setUpCard(await this.setUp.of(userId), translate);
  }

  private async latestOf(scope: Scope): Promise<{ readonly createdAt: Date } | null> {
    const { rows } = await this.requests.page(scope, {}, { limit: 1 });
    return rows[0] ?? null;
  }

  private snippets(request: HttpRequest) {
    const { chat, large } = exampleModels(publicModels(this.catalogue));
    return requestSnippets({
      id: 'first',
      label: this.pages.textsFor(request)('snippet.languages'),
      baseUrl: this.pages.placeOf(request).baseUrl,
      key: 'svc_…',
      model: chat,
      largeModel: large,
    });
  }
}
