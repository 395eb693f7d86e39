import { Controller, Query, Req } from '@nestjs/common';
import { AlertQuery } from '../../alerts';
import { ChainBreaks } from '../../audit';
import { atLeast } from '../../kernel';
import { BackupScheduler } from '../../backup';
import { LeanAdapter, Settings } from '../../platform';
import { Quarantine } from '../../quarantine';
import { Access, actorOf, adminScope, Data, type HttpRequest, Page, PageRenderer } from '../../web';
import { openAlertsCard } from '../alerts/open-alerts';
import { breakBanner } from '../audit/seal-banner';
import { quarantineBanner } from '../quarantine/quarantine-banner';
import { backupBanner, backupCard } from './backup-card';
import { homeModel } from './home-model';
import { periodNameOf } from './periods';
import { Traffic, type TrafficReport } from './traffic';
import { HomeQuery } from './home.dto';

@Controller()
export class AdminHomeController {
  constructor(
    private readonly traffic: Traffic,
    private readonly breaks: ChainBreaks,
    private readonly backups: BackupScheduler,
    private readonly alerts: AlertQuery,
    private readonly quarantine: Quarantine,
    private readonly settings: Settings,
    private readonly pages: PageRenderer,
    private readonly adapter: LeanAdapter,
  ) {}

  @Page('/dashboard/admin', 'pages/admin/home', Access.role('department_admin'))
  async show(@Query() { hours }: HomeQuery, @Req() request: HttpRequest) {
    const report = await this.loadTraffic(request, hours);
    const cataloguePath = '/dashboard/admin/models';
    const localisation = {
      locale: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      translate: this.pages.textsFor(request),
    };
    const scope = adminScope(request);
    const isPlatform = scope.kind === 'platform';
    const { role } = actorOf(request);
    return homeModel(report, {
      request,
      hours,
      catalogueHref: this.adapter.routes.methodsOf(cataloguePath).includes('GET') ? cataloguePath : null,
      banners: isPlatform
        ? [
            quarantineBanner(await this.quarantine.store.summarise(), { role, ...localisation }),
            breakBanner(await this.breaks.listOpen(), localisation),
            backupBanner(this.backups.state, this.settings, localisation.translate),
          ].filter((banner) => banner !== null)
        : [],
      alerts: openAlertsCard(request, await this.alerts.open(scope), localisation.translate),
      backups: isPlatform ? backupCard(this.backups.state, localisation.translate) : null,
      ...localisation,
    });
  }

  @Data('/dashboard/admin/api/dashboard', Access.role('department_admin'))
  async data(@Query() { hours }: HomeQuery, @Req() request: HttpRequest) {
    const { incidents, ...report } = await this.loadTraffic(request, hours);
    return {
      ...report,
      incidents:
        incidents?.map(({ startedAt, endedAt, ...incident }) => ({
          ...incident,
          started_at: startedAt,
          ended_at: endedAt,
        })) ?? null,
    };
  }

  private loadTraffic(request: HttpRequest, hours: number): Promise<TrafficReport> {
    const isPlatform = atLeast(actorOf(request).role, 'platform_admin');
    const zone = this.pages.timeZoneOf(request);
    return this.traffic.of(adminScope(request), isPlatform, { name: periodNameOf(hours), zone });
  }
}
