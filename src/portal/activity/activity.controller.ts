import { Controller, Query, Req } from '@nestjs/common';
import { ActivityQuery } from '../../audit';
import { resolvePeriod } from '../../kernel';
import { Settings } from '../../platform';
import {
  Access,
  Csv,
  csvTable,
  type CsvContent,
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
import { ActivityPageQuery, toActivityFilter } from './activity.dto';

const PAGE_SIZE = 50;

/** Activity of the user's own account or, in the administration view, everything the role covers. */
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
    const period = resolvePeriod(query, localisation.timeZone, Date.now());
    const filter = toActivityFilter(query, period);
    const [page, activityDays] = await Promise.all([
      this.activity.page(scope, { ...filter, cursor: query.cursor, limit: PAGE_SIZE }),
      this.activity.days(scope, filter, localisation.timeZone),
    ]);
    const note = searchedNote(page.searchedTo, localisation);
    const model = listPage(
      request,
      page,
      { ...activityList(request, query, period, localisation), note },
      localisation.translate,
    );
    return activityDays.days.length === 0
      ? model
      : { ...model, ...dayChart(activityDays, period, localisation) };
  }

  @Csv('/dashboard/activity/export', Access.session(), 'activity')
  export(@Query() query: ActivityPageQuery, @Req() request: HttpRequest): CsvContent {
    const scope = viewScope(request);
    const limit = this.settings.auditExportMaxRows;
    const period = resolvePeriod(query, this.pages.timeZoneOf(request), Date.now());
    const entries = this.activity.all(scope, { ...toActivityFilter(query, period), limit });
    return csvTable(entries, activityFile(request), limit);
  }
}
