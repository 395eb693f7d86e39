import { Controller, Query, Req } from '@nestjs/common';
import { presentUsage, UsageQuery, toUsageRequest } from '../../audit';
import { ProfileService } from '../../identity';
import { fault } from '../../kernel';
import { Access, adminScope, Data, type HttpRequest, PageRenderer } from '../../web';
import { UserUsageParameters } from './user-usage.dto';

const MAX_GROUPS = 100;

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
    const baseQuery = toUsageRequest(query, Date.now(), this.pages.timeZoneOf(request));
    const usageQuery = { ...baseQuery, filter: { ...baseQuery.filter, userId }, mostGroups: MAX_GROUPS };
    return presentUsage(usageQuery, await this.usage.read(scope, usageQuery));
  }
}
