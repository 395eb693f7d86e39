import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { type HelpPage, PersonalSettings, placeActs } from '../../identity';
import { atLeast } from '../../kernel';
import { Access, Action, actorOf, afterChange, type HttpRequest, localPath } from '../../web';

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
  autorouter(
    @Body() form: HelpForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    return this.set('autorouter', '/dashboard/autorouter', form, request, response);
  }

  @Action('/dashboard/projects/help', Access.session(), { audit })
  projects(
    @Body() form: HelpForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    const home = atLeast(actorOf(request).role, placeActs.projects)
      ? '/dashboard/admin/projects'
      : '/dashboard';
    return this.set('projects', home, form, request, response);
  }

  @Action('/dashboard/qualitative/help', Access.session(), { audit })
  qualitative(
    @Body() form: HelpForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    return this.set('qualitative', '/dashboard/qualitative', form, request, response);
  }

  /** The list of what is left to set up. */
  @Action('/dashboard/setup/help', Access.role('platform_admin'), { audit })
  setUp(
    @Body() form: HelpForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    return this.set('setup', '/dashboard', form, request, response);
  }

  private async set(
    page: HelpPage,
    home: string,
    { help = 'closed', next }: HelpForm,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<object> {
    await this.settings.setHelpClosed(actorOf(request).userId, page, help === 'closed');
    const to = next === undefined ? home : localPath(next);
    return afterChange(request, response, to, { ok: true, page, help });
  }
}
