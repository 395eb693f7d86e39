import { Controller, Query, Req } from '@nestjs/common';
import { IsDefined, Matches } from 'class-validator';
import { presentUsage, UsageParameters, UsageQuery, usageQuestionOf } from '../../audit';
import { ProfileService } from '../../identity';
import { fault } from '../../kernel';
import { Access, adminScope, Data, type HttpRequest, PageRenderer } from '../../web';

const MOST_GROUPS = 100;

class UserUsageParameters extends UsageParameters {
  @IsDefined()
  @Matches(/^[1-9]\d{0,8}$/)
  user_id: string;
}

/** The usage of one person, for readers who may see that person. */
@Controller()
export class UserUsageController {
  constructor(
    private readonly usage: UsageQuery,
    private readonly profiles: ProfileService,
    private readonly pages: PageRenderer,
  ) {}

  @Data('/dashboard/admin/api/usage', Access.role('department_admin'))
  async show(@Query() query: UserUsageParameters, @Req() request: HttpRequest): Promise<object> {
    const scope = adminScope(request);
    const userId = Number(query.user_id);
    if (!(await this.profiles.isWithin(scope, userId)))
      throw fault('not_found', { param: 'user_id', message: 'There is no such person.' });
    const asked = usageQuestionOf(query, Date.now(), this.pages.timeZoneOf(request));
    const question = { ...asked, filter: { ...asked.filter, userId }, mostGroups: MOST_GROUPS };
    return presentUsage(question, await this.usage.ask(scope, question));
  }
}
