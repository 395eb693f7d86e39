import { Body, Controller, Req } from '@nestjs/common';
import {
  AlertChannels,
  AlertClient,
  AlertTests,
  type ChannelInput,
  ownerOf,
  type ChannelTarget,
} from '../../alerts';
import {
  Access,
  Action,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  PathId,
} from '../../web';
import { TestMessageRate } from '../test-message-rate';
import { AlertChannelForm, NewAlertChannelForm } from './alerts.dto';
import { CHANNELS_PATH, channelsPage } from './channels-model';

const access = () => Access.role('org_admin');

/** Addresses and keys are write-only. */
@Controller()
export class AlertChannelsController {
  constructor(
    private readonly channels: AlertChannels,
    private readonly client: AlertClient,
    private readonly tests: AlertTests,
    private readonly testRate: TestMessageRate,
    private readonly pages: PageRenderer,
  ) {}

  @Page(CHANNELS_PATH, 'pages/admin/object', access())
  async show(@Req() request: HttpRequest) {
    const channels = await this.channels.of(ownerOf(adminScope(request)));
    return channelsPage(request, channels, localisationOf(this.pages, request));
  }

  @Action(`${CHANNELS_PATH}/create`, access(), { audit: 'alert.channel-added' })
  async create(@Body() form: NewAlertChannelForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { kind } = form;
    const owner = ownerOf(adminScope(request));
    const target = this.client.newTarget(owner, kind, targetOf(form));
    const id = await this.channels.create(owner, kind, channelInputOf(form), target);
    return done(CHANNELS_PATH, { ok: true, id }, 'alerts.channel-added');
  }

  @Action(`${CHANNELS_PATH}/:channel_id/update`, access(), { audit: 'alert.channel-changed' })
  async update(
    @PathId('channel_id') id: number,
    @Body() form: AlertChannelForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const owner = ownerOf(adminScope(request));
    const { kind } = await this.channels.get(owner, id);
    const target = this.client.checkTarget(owner, kind, targetOf(form));
    await this.channels.change(owner, id, channelInputOf(form), target);
    return done(CHANNELS_PATH, { ok: true, id }, 'alerts.saved');
  }

  @Action(`${CHANNELS_PATH}/:channel_id/test`, access(), { audit: 'alert.channel-tested' })
  async test(@PathId('channel_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    const owner = ownerOf(adminScope(request));
    await this.testRate.take('alert-tests', owner);
    const { kind, text } = await this.tests.run(owner, id);
    const ok = kind === 'delivered';
    const body = { ok, id, answer: text };
    return ok
      ? done(CHANNELS_PATH, body, 'alerts.tested', { answer: text })
      : done(CHANNELS_PATH, body, { tone: 'warn', text: 'alerts.test-failed', values: { answer: text } });
  }

  @Action(`${CHANNELS_PATH}/:channel_id/remove`, access(), { audit: 'alert.channel-removed' })
  async remove(@PathId('channel_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    await this.channels.remove(ownerOf(adminScope(request)), id);
    return done(CHANNELS_PATH, { ok: true, id }, 'alerts.channel-removed');
  }
}

const channelInputOf = (form: AlertChannelForm): ChannelInput => ({
  name: form.name,
  language: form.language,
  audience: form.audience,
  leastSeverity: form.least_severity,
  enabled: form.enabled,
});

const targetOf = ({ url, key }: AlertChannelForm): Partial<ChannelTarget> => ({
  ...(url === undefined ? {} : { url }),
  ...(key === undefined ? {} : { key }),
});
