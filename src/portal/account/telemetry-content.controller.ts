import { Body, Controller, Req } from '@nestjs/common';
import { TelemetryContent } from '../../identity';
import { Access, Action, actorOf, done, type ActionResult, type HttpRequest } from '../../web';
import { ContentForm } from './telemetry-content.dto';

const home = '/dashboard/settings';
const path = `${home}/telemetry`;

/** The owner of an organisation, or a user without one, decides whether traces include the content of requests. */
@Controller()
export class TelemetryContentController {
  constructor(private readonly content: TelemetryContent) {}

  @Action(path, Access.session(), { audit: 'account.settings-changed' })
  async setOwn(@Body() { enabled }: ContentForm, @Req() request: HttpRequest): Promise<ActionResult> {
    await this.content.setForUser(actorOf(request), enabled);
    return savedResult(enabled);
  }

  @Action(`${path}/organisation`, Access.role('org_owner'), { audit: 'organisation.changed' })
  async setOrganisation(
    @Body() { enabled }: ContentForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.content.setForOrganisation(actorOf(request), enabled);
    return savedResult(enabled);
  }
}

const savedResult = (enabled: boolean): ActionResult =>
  done(
    home,
    { ok: true, enabled },
    enabled ? 'settings.content-switched-on' : 'settings.content-switched-off',
  );
