import { Body, Controller, Req } from '@nestjs/common';
import { type HelpPage, PersonalSettings, objectActs } from '../../identity';
import { atLeast } from '../../kernel';
import { Access, Action, actorOf, done, type ActionResult, type HttpRequest, localPath } from '../../web';
import { HelpForm } from './help.dto';

const audit = { none: 'how a page is shown to one person' } as const;

@Controller()
export class HelpController {
  constructor(private readonly settings: PersonalSettings) {}

  @Action('/dashboard/autorouter/help', Access.session(), { audit })
  autorouter(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.set('autorouter', '/dashboard/autorouter', form, request);
  }

  @Action('/dashboard/projects/help', Access.session(), { audit })
  projects(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const defaultPath = atLeast(actorOf(request).role, objectActs.projects)
      ? '/dashboard/admin/projects'
      : '/dashboard';
    return this.set('projects', defaultPath, form, request);
  }

  @Action('/dashboard/qualitative/help', Access.session(), { audit })
  qualitative(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.set('qualitative', '/dashboard/qualitative', form, request);
  }

  @Action('/dashboard/setup/help', Access.role('platform_admin'), { audit })
  setUp(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.set('setup', '/dashboard', form, request);
  }

  private async set(
    page: HelpPage,
    defaultPath: string,
    { help = 'closed', next }: HelpForm,
    request: HttpRequest,
  ): Promise<ActionResult> {
    await this.settings.setHelpClosed(actorOf(request).userId, page, help === 'closed');
    const to = next === undefined ? defaultPath : localPath(next);
    return done(to, { ok: true, page, help });
  }
}
