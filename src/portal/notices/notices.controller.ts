import { Body, Controller, Req } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { noticeTopics, PersonalSettings } from '../../identity';
import { Database } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  Page,
  PageRenderer,
} from '../../web';
import { NoticesForm } from './notices.dto';

const path = '/dashboard/settings/notices';

@Controller()
export class NoticesController {
  constructor(
    private readonly settings: PersonalSettings,
    private readonly database: Database,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
  ) {}

  @Page(path, 'pages/dashboard/notices', Access.session())
  async show(@Req() request: HttpRequest) {
    const muted = await this.settings.mutedNotices(actorOf(request).userId);
    const translate = this.pages.textsFor(request);
    return {
      topics: noticeTopics.map((topic) => ({
        id: `notice-${topic}`,
        name: 'notices',
        type: 'checkbox',
        value: topic,
        label: translate(`notices.topic.${topic}`),
        checked: !muted.includes(topic),
      })),
    };
  }

  @Action(path, Access.session(), { audit: 'account.settings-changed' })
  async save(@Body() { notices }: NoticesForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { userId, email } = actorOf(request);
    const muted = noticeTopics.filter((topic) => !notices.includes(topic));
    await this.database.transaction(async (tx) => {
      const before = await this.settings.mutedNotices(userId, tx);
      const changes = changesOf({ muted_notices: before }, { muted_notices: muted });
      if (Object.keys(changes).length === 0) return this.activity.reportNoChange();
      await this.settings.muteNotices(tx, userId, muted);
      const object = { type: 'account', id: userId, label: email } as const;
      await this.activity.write(tx, { action: 'account.settings-changed', object, changes });
    });
    const enabledTopics = noticeTopics.filter((topic) => !muted.includes(topic));
    return done(path, { ok: true, notices: enabledTopics }, 'notices.saved');
  }
}
