import { Controller, Query, Req } from '@nestjs/common';
import { ChainBreaks } from '../../audit';
import { atLeast, oneNumberOf } from '../../kernel';
import { BackupKeeper } from '../../backup';
import { LeanAdapter, Settings, Takes } from '../../platform';
import { Access, actorOf, adminScope, Data, type HttpRequest, Page, PageRenderer } from '../../web';
import { breakBanner } from '../audit/seal-banner';
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
    const isPlatform = adminScope(request).kind === 'platform';
    return homeModel(answer, {
      request,
      hours,
      catalogueHref: this.adapter.routes.methodsOf(catalogue).includes('GET') ? catalogue : null,
      banners: isPlatform
        ? [
            breakBanner(await this.breaks.open(), shown),
            backupBanner(this.backups.state, this.settings, shown.translate),
          ].filter((banner) => banner !== null)
        : [],
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
