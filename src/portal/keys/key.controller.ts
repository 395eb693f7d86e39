import type { ServerResponse } from 'node:http';
import { Body, Controller, Param, Req, Res } from '@nestjs/common';
import { ActivityLog, ActivityQuery, RequestLogQuery, UsageQuery } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { choiceField, type Fault, fromUnknown, textField } from '../../kernel';
import {
  KeyRegister,
  type ManagedKey,
  presentKey,
  presentRotated,
  RateLimiter,
  readGrace,
  readKeyChanges,
} from '../../keys';
import { Settings } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  afterChange,
  type HttpRequest,
  Notices,
  Page,
  PageRenderer,
  viewScope,
  wantsPage,
} from '../../web';
import { DAY_MS } from '../lists/days';
import { looksOf } from '../lists/looks';
import { bodyOfForm, type KeyFormValues, valuesOfKey, valuesOfPost } from './key-form';
import { choicesOf, keyFormModel } from './key-form-model';
import { keyPage } from './key-page-model';
import { KeySecrets } from './key-secrets';
import { LimitsOfKey } from './limits-in-force';
import { RecordedKeys } from './recorded-keys';

const USAGE_DAYS = 30;
const REQUESTS_SHOWN = 10;
const ENTRIES_SHOWN = 20;
const acts = ['save', 'pause', 'resume', 'rotate', 'revoke'] as const;
type Act = (typeof acts)[number];
type Posted = Readonly<Record<string, unknown>>;

const view = 'pages/dashboard/keys/key';

/** One key: what limits it, what it did, and everything that can be done to it. */
@Controller()
export class KeyController {
  constructor(
    private readonly keys: RecordedKeys,
    private readonly register: KeyRegister,
    private readonly limits: LimitsOfKey,
    private readonly rates: RateLimiter,
    private readonly usage: UsageQuery,
    private readonly records: RequestLogQuery,
    private readonly activityQuery: ActivityQuery,
    private readonly activity: ActivityLog,
    private readonly catalogue: CatalogueService,
    private readonly secrets: KeySecrets,
    private readonly notices: Notices,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/keys/:key_id', view, Access.session())
  async show(@Param('key_id') keyId: string, @Req() request: HttpRequest): Promise<object> {
    const key = await this.register.get(viewScope(request), keyId);
    return this.pageModel(key, request, valuesOfKey(key), null);
  }

  @Action('/dashboard/keys/:key_id', Access.session(), {
    audit: ['key.changed', 'key.disabled', 'key.enabled', 'key.rotated', 'key.revoked'],
  })
  async change(
    @Param('key_id') keyId: string,
    @Body() posted: Posted,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<unknown> {
    const key = await this.register.get(viewScope(request), keyId);
    const { action = 'save', reason, ...fields } = posted;
    const act = choiceField(action, 'action', acts);
    const why = reason === undefined || reason === '' ? undefined : textField(reason, 'reason', 500);
    if (act === 'rotate') return this.rotate(key, fields, why, request, response);
    if (act !== 'save' || !wantsPage(request)) return this.carryOut(key, act, fields, why, request, response);
    try {
      return await this.carryOut(key, act, bodyOfForm(posted), why, request, response);
    } catch (error) {
      const refusal = fromUnknown(error);
      if (refusal.status >= 500) throw error;
      this.activity.nothingChanged();
      response.statusCode = refusal.status;
      const model = await this.pageModel(key, request, valuesOfPost(posted), refusal);
      return this.secrets.render(view, model, request, response);
    }
  }

  private async carryOut(
    key: ManagedKey,
    act: Exclude<Act, 'rotate'>,
    fields: Posted,
    reason: string | undefined,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<object> {
    const scope = viewScope(request);
    const changed =
      act === 'revoke'
        ? await this.keys.revoke(scope, key, reason)
        : await this.keys.change(scope, key, this.changesOf(act, fields), reason);
    this.notices.leave(response, { tone: 'ok', text: `keys.done.${act}`, values: { name: changed.name } });
    return afterChange(request, response, `/dashboard/keys/${key.publicId}`, presentKey(changed));
  }

  private changesOf(act: 'save' | 'pause' | 'resume', fields: Posted) {
    if (act === 'save') return readKeyChanges(fields, this.catalogue.snapshot);
    return { status: act === 'pause' ? ('disabled' as const) : ('active' as const) };
  }

  private async rotate(
    key: ManagedKey,
    fields: Posted,
    reason: string | undefined,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<object | string> {
    const rotated = await this.keys.rotate(viewScope(request), key, readGrace(fields), reason);
    if (!wantsPage(request)) return presentRotated(rotated);
    return this.secrets.page(request, response, {
      heading: 'keys.rotated',
      name: key.name,
      publicId: key.publicId,
      secret: rotated.text,
      models: key.allowedModels,
    });
  }

  private async pageModel(
    key: ManagedKey,
    request: HttpRequest,
    values: KeyFormValues,
    refusal: Fault | null,
  ): Promise<object> {
    const scope = viewScope(request);
    const now = Date.now();
    const looks = looksOf(this.pages, request);
    const window = { from: new Date(now - USAGE_DAYS * DAY_MS), to: new Date(now) };
    // The key was found within the view's scope: all of its requests are shown.
    const keyScope = { kind: 'key', keyId: key.id } as const;
    const usualRate = this.settings.keyRateLimitRpm;
    const [limits, rate, usage, lastDay, requests, history] = await Promise.all([
      this.limits.of(scope, key),
      this.rates.stateOf({ keyId: key.id, rateLimitRpm: key.rateLimitRpm ?? usualRate }),
      this.usage.ask(keyScope, {
        ...window,
        bucket: 'day',
        zone: looks.timeZone,
        groupBy: 'model',
        mostGroups: 7,
      }),
      this.register.usage(scope, [key], { from: new Date(now - DAY_MS), to: new Date(now) }),
      this.records.page(keyScope, {}, { limit: REQUESTS_SHOWN }),
      this.activityQuery.page(scope, { object: { type: 'key', id: key.publicId }, limit: ENTRIES_SHOWN }),
    ]);
    const choices = choicesOf(this.catalogue.snapshot, actorOf(request), []);
    return {
      ...keyPage(
        {
          key,
          limits,
          rate,
          usage,
          requests: requests.rows,
          history: history.rows,
          lastDay: lastDay.get(key.id),
        },
        looks,
      ),
      form: keyFormModel({ values, choices, usualRate, refusal }, looks.translate),
    };
  }
}
