import { Controller, Query, Req } from '@nestjs/common';
import { ActivityQuery } from '../../audit';
import { periodNamed } from '../../kernel';
import { Settings } from '../../platform';
import {
  Access,
  Csv,
  csvTable,
  type CsvTable,
  type HttpRequest,
  listPage,
  type ListPageModel,
  localisationOf,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { searchedNote } from '../lists/searched-note';
import { activityFile } from './activity-csv';
import { activityList, dayChart } from './activity-model';
import { ActivityPageQuery, filterOf } from './activity-query.form';

const ROWS_A_PAGE = 50;

/** The list shows what happened to one's own account, or in the administration's view all that the role may see. */
@Controller()
export class ActivityController {
  constructor(
    private readonly activity: ActivityQuery,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/activity', 'pages/dashboard/activity', Access.session())
  async show(@Query() query: ActivityPageQuery, @Req() request: HttpRequest): Promise<ListPageModel> {
    const scope = viewScope(request);
    const localisation = localisationOf(this.pages, request);
    const period = periodNamed(query, localisation.timeZone, Date.now());
    const filter = filterOf(query, period);
    const [page, counted] = await Promise.all([
      this.activity.page(scope, { ...filter, cursor: query.cursor, limit: ROWS_A_PAGE }),
      this.activity.days(scope, filter, localisation.timeZone),
    ]);
    const note = searchedNote(page.searchedTo, localisation);
    const model = listPage(
      request,
      page,
      { ...activityList(request, query, period, localisation), note },
      localisation.translate,
    );
    return counted.days.length === 0 ? model : { ...model, ...dayChart(counted, period, localisation) };
  }

  @Csv('/dashboard/activity/export', Access.session(), 'activity')
  export(@Query() query: ActivityPageQuery, @Req() request: HttpRequest): CsvTable {
    const scope = viewScope(request);
    const limit = this.settings.auditExportMaxRows;
    const period = periodNamed(query, this.pages.timeZoneOf(request), Date.now());
    const entries = this.activity.all(scope, { ...filterOf(query, period), limit });
    return csvTable(entries, activityFile(request), limit);
  }
}
