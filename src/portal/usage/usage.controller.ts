import { Controller, Query, Req } from '@nestjs/common';
import {
  presentUsage,
  usageFileColumns,
  usageFileRows,
  UsageQuery,
  type UsageRequest,
  toUsageRequest,
} from '../../audit';
import { AdminViewService } from '../../identity';
import { periodBefore, type Scope } from '../../kernel';
import {
  Access,
  actorOf,
  Csv,
  type CsvContent,
  Data,
  type HttpRequest,
  Page,
  PageRenderer,
  viewScope,
  UsageParameters,
} from '../../web';
import { KeyRegister } from '../../keys';
import { resolveKeyId } from '../lists/resolve-key-id';
import { organisationsFor } from '../lists/organisation-field';
import { UsagePageQuery } from './usage.dto';
import { usagePage, type UsagePageModel } from './usage-page';

const MAX_GROUPS_PER_FILE = 1_000;
const MAX_GROUPS_PER_RESPONSE = 100;

/** The user's own usage or, in the administration view, that of everyone the role covers. */
@Controller()
export class UsageController {
  constructor(
    private readonly usage: UsageQuery,
    private readonly pages: PageRenderer,
    private readonly names: AdminViewService,
    private readonly keys: KeyRegister,
  ) {}

  @Page('/dashboard/usage', 'pages/dashboard/usage', Access.session())
  async show(@Query() pageQuery: UsagePageQuery, @Req() request: HttpRequest): Promise<UsagePageModel> {
    const scope = viewScope(request);
    const query = await resolveKeyId(this.keys, scope, pageQuery);
    const now = Date.now();
    const question = this.questionOf(query, request, now);
    const [answer, previous, choices, organisations, userName] = await Promise.all([
      this.usage.read(scope, question),
      this.usage.read(scope, previousPeriod(question)),
      this.usage.choices(scope, question),
      organisationsFor(this.names, scope, query.organisation),
      this.findUserName(scope, question),
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
      before: previous,
      choices,
      organisations,
      userName,
      localisation,
    });
  }

  @Csv('/dashboard/usage/export', Access.session(), 'usage')
  async export(@Query() pageQuery: UsagePageQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const query = await resolveKeyId(this.keys, viewScope(request), pageQuery);
    const question = { ...this.questionOf(query, request, Date.now()), mostGroups: MAX_GROUPS_PER_FILE };
    const answer = await this.usage.read(viewScope(request), question);
    return { columns: usageFileColumns, rows: usageFileRows(question, answer) };
  }

  /** Returns the user's own usage by bucket, whatever the view. */
  @Data('/dashboard/api/usage', Access.session())
  async data(@Query() query: UsageParameters, @Req() request: HttpRequest) {
    const question = { ...this.questionOf(query, request, Date.now()), mostGroups: MAX_GROUPS_PER_RESPONSE };
    const ownScope = { kind: 'user', userId: actorOf(request).userId } as const;
    return presentUsage(question, await this.usage.read(ownScope, question));
  }

  /** Reads the user's name from usage, so that only names visible to the viewer are returned. */
  private async findUserName(scope: Scope, { from, to, zone, filter }: UsageRequest): Promise<string | null> {
    const userId = filter?.userId ?? null;
    if (userId === null) return null;
    const nameQuery = {
      from,
      to,
      zone,
      bucket: 'month',
      filter: { userId },
      groupBy: 'user',
      mostGroups: 1,
    } as const;
    const { groups } = await this.usage.read(scope, nameQuery);
    return groups[0]?.label ?? null;
  }

  private questionOf(query: UsageParameters, request: HttpRequest, now: number): UsageRequest {
    return toUsageRequest(query, now, this.pages.timeZoneOf(request));
  }
}

/** Asks for the previous period as a single bucket. */
const previousPeriod = ({ from, to, zone, filter }: UsageRequest): UsageRequest => ({
  ...periodBefore({ from, to }),
  zone,
  bucket: 'month',
  filter,
});
