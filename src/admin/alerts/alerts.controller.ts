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
  type CsvContent,
  done,
  type ActionResult,
  type HttpRequest,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
  PathId,
} from '../../web';
import { AcknowledgeForm, AlertsQuery } from './alerts.dto';
import { alertCsvColumns, alertPage, alertsList, alertTabs, presentAlert } from './alerts-model';

const PAGE_SIZE = 50;
const EXPORT_BATCH_SIZE = 500;

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
    const page = await this.alerts.page(adminScope(request), filter, { cursor, limit: PAGE_SIZE });
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
  export(@Query() query: AlertsQuery, @Req() request: HttpRequest): CsvContent {
    const { state, kind, severity } = query;
    const filter = { state, kind, severity };
    const scope = adminScope(request);
    const limit = this.settings.auditExportMaxRows;
    const rows = everyRow(limit, EXPORT_BATCH_SIZE, (page) => this.alerts.page(scope, filter, page));
    return csvTable(rows, alertCsvColumns, limit);
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
  ): Promise<ActionResult> {
    const { scope, userId } = actorOf(request);
    await this.alerts.acknowledge(scope, id, userId, reason);
    return done(`${ALERTS_PATH}/${id}`, { ok: true, id: String(id) }, 'alerts.acknowledged-done');
  }
}
