import { Body, Controller, Query, Req } from '@nestjs/common';
import { AlertQuery, ALERTS_PATH } from '../../alerts';
import { everyRow, Settings } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  Csv,
  csvTable,
  type CsvTable,
  done,
  type Done,
  type HttpRequest,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
  PathId,
} from '../../web';
import { AcknowledgeForm, AlertsQuery } from './alert-forms';
import { alertFile, alertPage, alertsList, alertTabs, presentAlert } from './alerts-model';

const ROWS_A_PAGE = 50;
const ROWS_AT_ONCE = 500;

/** What fires and what fired: an organisation's, or the platform's where no organisation is chosen. */
@Controller()
export class AlertsController {
  constructor(
    private readonly alerts: AlertQuery,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page(ALERTS_PATH, 'pages/admin/list', Access.role('department_admin'), { data: true })
  async list(@Query() query: AlertsQuery, @Req() request: HttpRequest) {
    const localisation = localisationOf(this.pages, request);
    const { translate } = localisation;
    const { cursor = null, state, kind, severity } = query;
    const filter = { state, kind, severity };
    const page = await this.alerts.page(adminScope(request), filter, { cursor, limit: ROWS_A_PAGE });
    return {
      ...listPage(request, page, alertsList(request, query, localisation), translate),
      tabs: alertTabs(request, 'alerts', translate),
      data: {
        object: 'list',
        data: page.rows.map(presentAlert),
        next_cursor: page.next,
        previous_cursor: page.previous,
      },
    };
  }

  @Csv(`${ALERTS_PATH}/export`, Access.role('department_admin'), 'alerts')
  export(@Query() query: AlertsQuery, @Req() request: HttpRequest): CsvTable {
    const { state, kind, severity } = query;
    const filter = { state, kind, severity };
    const scope = adminScope(request);
    const limit = this.settings.auditExportMaxRows;
    const found = everyRow(limit, ROWS_AT_ONCE, (page) => this.alerts.page(scope, filter, page));
    return csvTable(found, alertFile, limit);
  }

  @Page(`${ALERTS_PATH}/:alert_id`, 'pages/admin/object', Access.role('department_admin'))
  async show(@PathId('alert_id') id: number, @Req() request: HttpRequest) {
    const alert = await this.alerts.get(actorOf(request).scope, id);
    const deliveries = await this.alerts.deliveries(alert.id);
    return alertPage(alert, deliveries, localisationOf(this.pages, request));
  }

  @Action(`${ALERTS_PATH}/:alert_id/acknowledge`, Access.role('department_admin'), {
    audit: 'alert.acknowledged',
  })
  async acknowledge(
    @PathId('alert_id') id: number,
    @Body() { reason }: AcknowledgeForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const { scope, userId } = actorOf(request);
    await this.alerts.acknowledge(scope, id, userId, reason);
    return done(`${ALERTS_PATH}/${id}`, { ok: true, id: String(id) }, 'alerts.acknowledged-done');
  }
}
