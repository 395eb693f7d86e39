import { Body, Controller, Req } from '@nestjs/common';
import { IsIn, IsOptional, IsString, MaxLength } from '../../platform';
import { type HelpPage, PersonalSettings, placeActs } from '../../identity';
import { atLeast } from '../../kernel';
import { Access, Action, actorOf, done, type Done, type HttpRequest, localPath } from '../../web';

class HelpForm {
  /** `open` brings the explanation back. */
  @IsOptional()
  @IsIn(['closed', 'open'])
  help?: 'closed' | 'open';

  @IsOptional()
  @IsString()
  @MaxLength(2_000)
  next?: string;
}

const audit = { none: 'how a page is shown to one person' } as const;

/** Explanations that a person has read are put away, and brought back. */
@Controller()
export class HelpController {
  constructor(private readonly settings: PersonalSettings) {}

  @Action('/dashboard/autorouter/help', Access.session(), { audit })
  autorouter(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<Done> {
    return this.set('autorouter', '/dashboard/autorouter', form, request);
  }

  @Action('/dashboard/projects/help', Access.session(), { audit })
  projects(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<Done> {
    const home = atLeast(actorOf(request).role, placeActs.projects)
      ? '/dashboard/admin/projects'
      : '/dashboard';
    return this.set('projects', home, form, request);
  }

  @Action('/dashboard/qualitative/help', Access.session(), { audit })
  qualitative(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<Done> {
    return this.set('qualitative', '/dashboard/qualitative', form, request);
  }

  /** The list of what is left to set up. */
  @Action('/dashboard/setup/help', Access.role('platform_admin'), { audit })
  setUp(@Body() form: HelpForm, @Req() request: HttpRequest): Promise<Done> {
    return this.set('setup', '/dashboard', form, request);
  }

  private async set(
    page: HelpPage,
    home: string,
    { help = 'closed', next }: HelpForm,
    request: HttpRequest,
  ): Promise<Done> {
    await this.settings.setHelpClosed(actorOf(request).userId, page, help === 'closed');
    const to = next === undefined ? home : localPath(next);
    return done(to, { ok: true, page, help });
  }
}
