import { Body, Controller, Req } from '@nestjs/common';
import {
  AlertChannels,
  AlertClient,
  type AlertOwner,
  AlertTests,
  type ChannelKind,
  type ChannelWish,
  ownerOf,
  ROUTING_KEY,
  SIGNING_SECRET,
  type Target,
} from '../../alerts';
import { fault, refused } from '../../kernel';
import {
  Access,
  Action,
  adminScope,
  done,
  type Done,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  PathId,
} from '../../web';
import { TestMessageRate } from '../test-message-rate';
import { AlertChannelForm, NewAlertChannelForm } from './alert-forms';
import { CHANNELS_PATH, channelsPage } from './channels-model';

const access = () => Access.role('org_admin');

/** Where alerts are told. Addresses and keys go in and never come out again. */
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
  async create(@Body() form: NewAlertChannelForm, @Req() request: HttpRequest): Promise<Done> {
    const { kind } = form;
    const owner = ownerOf(adminScope(request));
    const given = this.targetIn(owner, form, kind);
    if (kind !== 'mail' && given.url === undefined) throw missing('url');
    if ((kind === 'webhook' || kind === 'pagerduty') && given.key === undefined) throw missing('key');
    const target = kind === 'mail' ? null : ({ ...given, url: given.url! } satisfies Target);
    const id = await this.channels.create(owner, kind, wishOf(form), target);
    return done(CHANNELS_PATH, { ok: true, id }, 'alerts.channel-added');
  }

  @Action(`${CHANNELS_PATH}/:channel_id/update`, access(), { audit: 'alert.channel-changed' })
  async update(
    @PathId('channel_id') id: number,
    @Body() form: AlertChannelForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const owner = ownerOf(adminScope(request));
    const { kind } = await this.channels.get(owner, id);
    await this.channels.change(owner, id, wishOf(form), this.targetIn(owner, form, kind));
    return done(CHANNELS_PATH, { ok: true, id }, 'alerts.saved');
  }

  /** Waits for the receiver, and returns its response. */
  @Action(`${CHANNELS_PATH}/:channel_id/test`, access(), { audit: 'alert.channel-tested' })
  async test(@PathId('channel_id') id: number, @Req() request: HttpRequest): Promise<Done> {
    const owner = ownerOf(adminScope(request));
    await this.testRate.take('alert-tests', owner);
    const { kind, words } = await this.tests.run(owner, id);
    const ok = kind === 'delivered';
    const facts = { ok, id, answer: words };
    return ok
      ? done(CHANNELS_PATH, facts, 'alerts.tested', { answer: words })
      : done(CHANNELS_PATH, facts, { tone: 'warn', text: 'alerts.test-failed', values: { answer: words } });
  }

  @Action(`${CHANNELS_PATH}/:channel_id/remove`, access(), { audit: 'alert.channel-removed' })
  async remove(@PathId('channel_id') id: number, @Req() request: HttpRequest): Promise<Done> {
    await this.channels.remove(ownerOf(adminScope(request)), id);
    return done(CHANNELS_PATH, { ok: true, id }, 'alerts.channel-removed');
  }

  private targetIn(owner: AlertOwner, { url, key }: AlertChannelForm, kind: ChannelKind): Partial<Target> {
    if (kind === 'mail') return {};
    const problem = url === undefined ? null : this.client.problemOf(owner, url.trim());
    if (problem !== null)
      throw refused('url', `an address that may be sent to: this one ${problem}`, {
        reason: 'alert-address',
      });
    const takesKey = kind === 'webhook' || kind === 'pagerduty';
    if (kind === 'webhook' && key !== undefined && !SIGNING_SECRET.test(key.trim()))
      throw refused('key', 'whsec_ and 24 to 64 bytes in base64', { reason: 'alert-key-webhook' });
    if (kind === 'pagerduty' && key !== undefined && !ROUTING_KEY.test(key.trim()))
      throw refused('key', '32 letters and digits', { reason: 'alert-key-pagerduty' });
    return {
      ...(url === undefined ? {} : { url: url.trim() }),
      ...(takesKey && key !== undefined ? { key: key.trim() } : {}),
    };
  }
}

const wishOf = (form: AlertChannelForm): ChannelWish => ({
  name: form.name,
  language: form.language,
  audience: form.audience,
  leastSeverity: form.least_severity,
  enabled: form.enabled,
});

const missing = (name: 'url' | 'key') =>
  fault('missing_fields', { param: name, message: `${name} is missing.`, details: { required: [name] } });
