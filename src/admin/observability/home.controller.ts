import { Controller, Query, Req } from '@nestjs/common';
import { AlertQuery } from '../../alerts';
import { ChainBreaks } from '../../audit';
import { atLeast, oneNumberOf } from '../../kernel';
import { BackupKeeper } from '../../backup';
import { LeanAdapter, Settings, Takes } from '../../platform';
import { Quarantine } from '../../quarantine';
import { Access, actorOf, adminScope, Data, type HttpRequest, Page, PageRenderer } from '../../web';
import { openAlertsCard } from '../alerts/open-alerts';
import { breakBanner } from '../audit/seal-banner';
import { quarantineBanner } from '../quarantine/quarantine-banner';
import { backupBanner, backupCard } from './backup-card';
import { homeModel } from './home-model';
import { nameOf, periods } from './periods';
import { Traffic, type TrafficAnswer } from './traffic';

class HomeQuery {
  @Takes(oneNumberOf(periods).default(24))
  hours: number;
}

/** The first page of the administration: requests and the health of suppliers. */
@Controller()
export class HomeController {
  constructor(
    private readonly traffic: Traffic,
    private readonly breaks: ChainBreaks,
    private readonly backups: BackupKeeper,
    private readonly alerts: AlertQuery,
    private readonly quarantine: Quarantine,
    private readonly settings: Settings,
    private readonly pages: PageRenderer,
    private readonly adapter: LeanAdapter,
  ) {}

  @Page('/dashboard/admin', 'pages/admin/home', Access.role('department_admin'))
  async show(@Query() { hours }: HomeQuery, @Req() request: HttpRequest) {
    const answer = await this.answer(request, hours);
    const catalogue = '/dashboard/admin/models';
    const shown = {
      locale: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      translate: this.pages.textsFor(request),
    };
    const scope = adminScope(request);
    const isPlatform = scope.kind === 'platform';
    const { role } = actorOf(request);
    return homeModel(answer, {
      request,
      hours,
      catalogueHref: this.adapter.routes.methodsOf(catalogue).includes('GET') ? catalogue : null,
      banners: isPlatform
        ? [
            quarantineBanner(await this.quarantine.book.held(), { role, ...shown }),
            breakBanner(await this.breaks.open(), shown),
            backupBanner(this.backups.state, this.settings, shown.translate),
          ].filter((banner) => banner !== null)
        : [],
      alerts: openAlertsCard(request, await this.alerts.open(scope), shown.translate),
      backups: isPlatform ? backupCard(this.backups.state, shown.translate) : null,
      ...shown,
    });
  }

  @Data('/dashboard/admin/api/dashboard', Access.role('department_admin'))
  async data(@Query() { hours }: HomeQuery, @Req() request: HttpRequest) {
    const { incidents, ...answer } = await this.answer(request, hours);
    return {
      ...answer,
      incidents:
        incidents?.map(({ startedAt, endedAt, ...incident }) => ({
          ...incident,
          started_at: startedAt,
          ended_at: endedAt,
        })) ?? null,
    };
  }

  private answer(request: HttpRequest, hours: number): Promise<TrafficAnswer> {
    const isPlatform = atLeast(actorOf(request).role, 'platform_admin');
    const zone = this.pages.timeZoneOf(request);
    return this.traffic.of(adminScope(request), isPlatform, { name: nameOf(hours), zone });
  }
}
