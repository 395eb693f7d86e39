import { Controller, Query, Req } from '@nestjs/common';
import {
  presentUsage,
  usageFileColumns,
  usageFileRows,
  UsageParameters,
  UsageQuery,
  type UsageQuestion,
  usageQuestionOf,
} from '../../audit';
import { AdminViewService } from '../../identity';
import { periodBefore, type Scope } from '../../kernel';
import {
  Access,
  actorOf,
  Csv,
  type CsvTable,
  Data,
  type HttpRequest,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { KeyRegister } from '../../keys';
import { withKeyNumber } from '../lists/key-of-page';
import { organisationsFor } from '../lists/organisation-field';
import { UsagePageQuery } from './usage.form';
import { usagePage, type UsagePageModel } from './usage-page';

const GROUPS_IN_FILE = 1_000;
const GROUPS_IN_DATA = 100;

/** The page shows one's own usage, and in the administration's view that of all whom the role may see. */
@Controller()
export class UsageController {
  constructor(
    private readonly usage: UsageQuery,
    private readonly pages: PageRenderer,
    private readonly names: AdminViewService,
    private readonly keys: KeyRegister,
  ) {}

  @Page('/dashboard/usage', 'pages/dashboard/usage', Access.session())
  async show(@Query() asked: UsagePageQuery, @Req() request: HttpRequest): Promise<UsagePageModel> {
    const scope = viewScope(request);
    const query = await withKeyNumber(this.keys, scope, asked);
    const now = Date.now();
    const question = this.questionOf(query, request, now);
    const [answer, earlier, choices, organisations, person] = await Promise.all([
      this.usage.ask(scope, question),
      this.usage.ask(scope, before(question)),
      this.usage.choices(scope, question),
      organisationsFor(this.names, scope, query.organisation),
      this.personOf(scope, question),
    ]);
    const localisation = {
      locale: this.pages.localeOf(request),
      timeZone: question.zone,
      translate: this.pages.textsFor(request),
    };
    return usagePage({
      request,
      query,
      question,
      answer,
      before: earlier,
      choices,
      organisations,
      person,
      localisation,
    });
  }

  @Csv('/dashboard/usage/export', Access.session(), 'usage')
  async export(@Query() asked: UsagePageQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const query = await withKeyNumber(this.keys, viewScope(request), asked);
    const question = { ...this.questionOf(query, request, Date.now()), mostGroups: GROUPS_IN_FILE };
    const answer = await this.usage.ask(viewScope(request), question);
    return { columns: usageFileColumns, rows: usageFileRows(question, answer) };
  }

  /** It tells programs one's own usage by bucket, in every view. */
  @Data('/dashboard/api/usage', Access.session())
  async data(@Query() query: UsageParameters, @Req() request: HttpRequest) {
    const question = { ...this.questionOf(query, request, Date.now()), mostGroups: GROUPS_IN_DATA };
    const own = { kind: 'user', userId: actorOf(request).userId } as const;
    return presentUsage(question, await this.usage.ask(own, question));
  }

  /** A name is read with the usage that the viewer may see. */
  private async personOf(scope: Scope, { from, to, zone, filter }: UsageQuestion): Promise<string | null> {
    const userId = filter?.userId ?? null;
    if (userId === null) return null;
    const asked = {
      from,
      to,
      zone,
      bucket: 'month',
      filter: { userId },
      groupBy: 'user',
      mostGroups: 1,
    } as const;
    const { groups } = await this.usage.ask(scope, asked);
    return groups[0]?.label ?? null;
  }

  private questionOf(query: UsageParameters, request: HttpRequest, now: number): UsageQuestion {
    return usageQuestionOf(query, now, this.pages.timeZoneOf(request));
  }
}

/** The period before in one bucket. */
const before = ({ from, to, zone, filter }: UsageQuestion): UsageQuestion => ({
  ...periodBefore({ from, to }),
  zone,
  bucket: 'month',
  filter,
});
