import { Body, Controller, Req } from '@nestjs/common';
import { TelemetryContent } from '../../identity';
import { truth } from '../../kernel';
import { Takes } from '../../platform';
import { Access, Action, actorOf, done, type Done, type HttpRequest } from '../../web';

class ContentForm {
  @Takes(truth)
  enabled: boolean;
}

const home = '/dashboard/settings';
const path = `${home}/telemetry`;

/** The owner of an organisation, or a person without one, decides whether traces hold what their calls say. */
@Controller()
export class TelemetryContentController {
  constructor(private readonly content: TelemetryContent) {}

  @Action(path, Access.session(), { audit: 'account.settings-changed' })
  async setOwn(@Body() { enabled }: ContentForm, @Req() request: HttpRequest): Promise<Done> {
    await this.content.setForPerson(actorOf(request), enabled);
    return stored(enabled);
  }

  @Action(`${path}/organisation`, Access.role('org_owner'), { audit: 'organisation.changed' })
  async setOrganisation(@Body() { enabled }: ContentForm, @Req() request: HttpRequest): Promise<Done> {
    await this.content.setForOrganisation(actorOf(request), enabled);
    return stored(enabled);
  }
}

const stored = (enabled: boolean): Done =>
  done(
    home,
    { ok: true, enabled },
    enabled ? 'settings.content-switched-on' : 'settings.content-switched-off',
  );
