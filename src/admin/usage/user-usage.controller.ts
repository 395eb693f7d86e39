import { Controller, Query, Req } from '@nestjs/common';
import { presentUsage, UsageParameters, UsageQuery, usageQuestionOf } from '../../audit';
import { ProfileService } from '../../identity';
import { fault, rowId } from '../../kernel';
import { Takes } from '../../platform';
import { Access, adminScope, Data, type HttpRequest, PageRenderer } from '../../web';

const MOST_GROUPS = 100;

class UserUsageParameters extends UsageParameters {
  @Takes(rowId)
  user_id: number;
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
  async show(@Query() query: UserUsageParameters, @Req() request: HttpRequest) {
    const scope = adminScope(request);
    const userId = query.user_id;
    if (!(await this.profiles.isWithin(scope, userId)))
      throw fault('not_found', { param: 'user_id', message: 'There is no such person.' });
    const asked = usageQuestionOf(query, Date.now(), this.pages.timeZoneOf(request));
    const question = { ...asked, filter: { ...asked.filter, userId }, mostGroups: MOST_GROUPS };
    return presentUsage(question, await this.usage.ask(scope, question));
  }
}
