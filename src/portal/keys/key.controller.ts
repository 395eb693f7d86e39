import type { ServerResponse } from 'node:http';
import { Body, Controller, Param, Req, Res } from '@nestjs/common';
import { BudgetRaises } from '../../billing';
import { ActivityQuery, RequestLogQuery, UsageQuery } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { PayerService } from '../../identity';
import { choiceField, periodNamed, refused, refuseMisfits, textField, wholeNumberField } from '../../kernel';
import {
  actingOnKey,
  type KeyChanges,
  KeyRegister,
  type ManagedKey,
  mayActOnKey,
  noSuchKey,
  presentPortalKey,
  presentPortalRotated,
  RateLimiter,
  readGrace,
  readKeyChanges,
} from '../../keys';
import { Settings } from '../../platform';
import { QualitySettingsStore } from '../../quality';
import {
  Access,
  Action,
  actorOf,
  done,
  type Done,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  Responds,
  viewScope,
  wantsPage,
} from '../../web';
import { USUAL_DAYS } from '../lists/periods';
import { type Act, acts, keyActBody, keyActPage } from './key-bodies';
import { bodyOfForm } from './key-form';
import { KeyPagePath, KeyPath } from './key-path';
import { choicesOf, keyFormModel } from './key-form-model';
import { ownerFacts } from './key-owners';
import { keyPage } from './key-page-model';
import { raisesModel, readRaise } from './key-raises';
import { atKeyField } from './key-refusal';
import { KeySecrets } from './key-secrets';
import { LimitsOfKey } from './limits-in-force';
import { asksForName, refuseUnnamed } from './key-revocation';
import { type KeyActor, RecordedKeys } from './recorded-keys';

const REQUESTS_SHOWN = 10;
const ENTRIES_SHOWN = 20;
type Posted = Readonly<Record<string, unknown>>;

const view = 'pages/dashboard/keys/key';

function keyActorOf(request: HttpRequest, key: ManagedKey): KeyActor {
  const scope = viewScope(request);
  return { scope, acting: actingOnKey(actorOf(request), key, scope.kind !== 'user') };
}

/** A box that is not ticked is not posted: the form says whether it had one. */
const lockOf = ({ limits_lock_shown: shown, limits_locked: locked }: Posted) =>
  shown === undefined ? {} : { limits_locked: locked === 'on' };

/** A box of a form is `on` or is not sent; programs say what they mean. */
function isFinal({ final = false }: Posted): boolean {
  if (final === 'on') return true;
  if (typeof final !== 'boolean') throw refused('final', 'true or false');
  return final;
}

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
    private readonly catalogue: CatalogueService,
    private readonly secrets: KeySecrets,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
    private readonly raises: BudgetRaises,
    private readonly quality: QualitySettingsStore,
    private readonly payers: PayerService,
  ) {}

  @Responds({ redirect: 302 })
  @Page('/dashboard/keys/:key_id', view, Access.session())
  async show(
    @Param() { key_id: keyId }: KeyPagePath,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const key = await this.keyOf(request, keyId);
    if (keyId !== key.id) {
      response.statusCode = 302;
      response.setHeader('location', `/dashboard/keys/${key.id}`);
    }
    return this.pageModel(key, request);
  }

  @Action('/dashboard/keys/:key_id', Access.session(), {
    body: keyActBody,
    page: keyActPage,
    audit: [
      'key.changed',
      'key.disabled',
      'key.enabled',
      'key.rotated',
      'key.revoked',
      'key.restored',
      'key.budget-raised',
      'key.budget-raise-ended',
      'qualitative.settings-changed',
    ],
  })
  async change(
    @Param() { key_id: keyId }: KeyPath,
    @Body() posted: Posted,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const key = await this.keyOf(request, keyId);
    const { action = 'save', reason, ...fields } = posted;
    const act = choiceField(action, 'action', acts);
    const why = reason === undefined || reason === '' ? undefined : textField(reason, 'reason', 500);
    if (act === 'revoke' && key.status !== 'revoked' && wantsPage(request))
      await this.confirmed(key, posted, request);
    if (act === 'rotate') return this.rotate(key, fields, why, request, response);
    if (act !== 'save' || !wantsPage(request)) return this.carryOut(key, act, fields, why, request);
    return atKeyField(async () => {
      refuseMisfits(keyActPage, posted);
      const body = { ...bodyOfForm(posted), ...lockOf(posted) };
      return this.carryOut(key, act, body, why, request);
    });
  }

  /** Keys of the chat are not people's own to manage: their budget and their end are the operator's. */
  private async keyOf(request: HttpRequest, keyId: number | string): Promise<ManagedKey> {
    const key = await this.register.get(viewScope(request), keyId);
    if (key.kind !== 'client') throw noSuchKey();
    return key;
  }

  /** A page asks; a program says what it means. */
  private async confirmed(key: ManagedKey, { confirmation }: Posted, request: HttpRequest): Promise<void> {
    const lastDay = await this.lastDayOf(key);
    if (asksForName(keyActorOf(request, key).acting, lastDay)) refuseUnnamed(key, confirmation);
  }

  /** All of its requests in 24 hours count, whoever may read them: those callers would fail. */
  private async lastDayOf({ id }: ManagedKey): Promise<number> {
    const period = periodNamed({ hours: 24 }, 'UTC', Date.now());
    const asked = { ...period, zone: 'UTC', bucket: 'month' } as const;
    const { total } = await this.usage.ask({ kind: 'key', keyId: id }, asked);
    return total.requests;
  }

  private async carryOut(
    key: ManagedKey,
    act: Exclude<Act, 'rotate'>,
    fields: Posted,
    reason: string | undefined,
    request: HttpRequest,
  ): Promise<Done> {
    const actor = keyActorOf(request, key);
    const changed = await this.actOn(key, act, fields, reason, actor);
    const outcome = act === 'revoke' && changed.restorableUntil === null ? 'end' : act;
    return done(`/dashboard/keys/${key.id}`, presentPortalKey(changed), `keys.done.${outcome}`, {
      name: changed.name,
    });
  }

  private async actOn(
    key: ManagedKey,
    act: Exclude<Act, 'rotate'>,
    fields: Posted,
    reason: string | undefined,
    actor: KeyActor,
  ): Promise<ManagedKey> {
    switch (act) {
      case 'revoke':
        return this.keys.revoke(actor, key, isFinal(fields), reason);
      case 'restore':
        return this.keys.restore(actor, key, reason);
      case 'raise':
        await this.keys.raise(actor, key, readRaise(fields), textField(reason, 'reason', 500));
        break;
      case 'end_raise':
        await this.keys.endRaise(
          actor,
          key,
          wholeNumberField(fields['raise_id'], 'raise_id', 1, 2 ** 31 - 1),
          reason,
        );
        break;
      case 'exclude':
      case 'include':
        await this.evaluate(key, act === 'include');
        break;
      case 'save':
      case 'pause':
      case 'resume':
        return this.keys.change(actor, key, this.changesOf(act, fields), reason);
    }
    return this.register.get(actor.scope, key.id);
  }

  /** It sets whether answers to the key are sampled and judged, where its organisation has that done. */
  private async evaluate(key: ManagedKey, isIncluded: boolean): Promise<void> {
    const { userId, organisationId } = await this.payers.standingOf(key);
    await this.quality.set(
      { organisationId: null, keyId: key.id },
      { excluded: !isIncluded },
      { label: key.name, concerns: { userId, organisationId } },
    );
  }

  private changesOf(
    act: 'save' | 'pause' | 'resume',
    { limits_locked: locked, ...fields }: Posted,
  ): KeyChanges {
    if (act === 'save') {
      if (locked === undefined) return readKeyChanges(fields, this.catalogue.snapshot);
      if (typeof locked !== 'boolean') throw refused('limits_locked', 'true or false');
      const changes = Object.keys(fields).length === 0 ? {} : readKeyChanges(fields, this.catalogue.snapshot);
      return { ...changes, limitsLocked: locked };
    }
    return { status: act === 'pause' ? ('disabled' as const) : ('active' as const) };
  }

  private async rotate(
    key: ManagedKey,
    fields: Posted,
    reason: string | undefined,
    request: HttpRequest,
    response: ServerResponse,
  ) {
    const rotated = await this.keys.rotate(keyActorOf(request, key), key, readGrace(fields), reason);
    if (!wantsPage(request)) return presentPortalRotated(rotated);
    return this.secrets.page(request, response, {
      heading: 'keys.rotated',
      name: key.name,
      id: key.id,
      secret: rotated.text,
      models: key.allowedModels,
    });
  }

  private async pageModel(key: ManagedKey, request: HttpRequest) {
    const scope = viewScope(request);
    const localisation = localisationOf(this.pages, request);
    const period = periodNamed({ days: USUAL_DAYS }, localisation.timeZone, Date.now());
    // A key that has moved takes none of its former requests along: they belong to the place of their time.
    const keyScope = {
      kind: 'key',
      keyId: key.id,
      ...(scope.kind !== 'user' && { within: scope }),
    } as const;
    const usualRate = this.settings.keyRateLimitRpm;
    const { acting } = keyActorOf(request, key);
    const isAdministrator = acting.as === 'administrator';
    const limited = { keyId: key.id, rateLimitTpm: key.rateLimitTpm, maxParallel: key.maxParallel };
    const [limits, owners, rate, tokens, parallel, raises, usage, lastDay, requests, history, { excluded }] =
      await Promise.all([
        this.limits.of(scope, key),
        this.register.ownersOf(key),
        this.rates.stateOf({ keyId: key.id, rateLimitRpm: key.rateLimitRpm ?? usualRate }),
        this.rates.tokensOf(limited),
        this.rates.parallelOf(limited),
        isAdministrator ? this.raises.of({ kind: 'key', id: key.id }) : [],
        this.usage.ask(keyScope, {
          ...period,
          bucket: 'day',
          zone: localisation.timeZone,
          groupBy: 'model',
          mostGroups: 7,
        }),
        this.lastDayOf(key),
        this.records.page(keyScope, {}, { limit: REQUESTS_SHOWN }),
        this.activityQuery.page(scope, { object: { type: 'key', id: String(key.id) }, limit: ENTRIES_SHOWN }),
        this.quality.of({ organisationId: null, keyId: key.id }),
      ]);
    const choices = choicesOf(this.catalogue.snapshot, actorOf(request), []);
    return {
      ...keyPage(
        {
          key,
          owners: ownerFacts(key, owners, actorOf(request), localisation.translate),
          limits,
          acting,
          rate,
          tokens,
          parallel,
          period,
          usage,
          requests: requests.rows,
          history: history.rows,
          lastDay,
        },
        localisation,
      ),
      ...(isAdministrator && mayActOnKey('raise', acting, key)
        ? { raises: raisesModel(key, raises, localisation) }
        : {}),
      evaluation: { isExcluded: excluded },
      form: keyFormModel({ key, choices, usualRate, isAdministrator }, localisation.translate),
    };
  }
}
