import type { ServerResponse } from 'node:http';
import { Body, Controller, Param, Req, Res } from '@nestjs/common';
import { BudgetRaises } from '../../billing';
import { ActivityQuery, RequestLogQuery, UsageQuery } from '../../audit';
import { CatalogueService } from '../../catalogue';
import { PayerService } from '../../identity';
import {
  choiceField,
  resolvePeriod,
  invalidField,
  rejectInvalidFields,
  textField,
  integerField,
} from '../../kernel';
import {
  actingUserOn,
  type KeyChanges,
  KeyRegister,
  type ManagedKey,
  canActOnKey,
  keyNotFound,
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
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  Responds,
  viewScope,
  wantsPage,
} from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';
import { type KeyPageAction, keyActions, keyActionBody, keyActionPage } from './key-bodies';
import { toApiBody } from './key-form';
import { KeyPagePath, KeyPath } from './key-path.dto';
import { keyFormChoices, keyFormModel } from './key-form-model';
import { ownerFigures } from './key-owners';
import { keyPageModel } from './key-page-model';
import { raisesModel, parseRaise } from './key-raises';
import { mapKeyErrors } from './key-form-errors';
import { KeySecretPage } from './key-secret-page';
import { EffectiveLimitsService } from './effective-limits.service';
import { requiresConfirmation, requireKeyName } from './key-revocation';
import { type ScopedKeyActor, AuditedKeys } from './audited-keys';

const LISTED_REQUESTS = 10;
const LISTED_ENTRIES = 20;
type PostedKeyAction = Readonly<Record<string, unknown>>;

const view = 'pages/dashboard/keys/key';

function resolveKeyActor(request: HttpRequest, key: ManagedKey): ScopedKeyActor {
  const scope = viewScope(request);
  return { scope, acting: actingUserOn(actorOf(request), key, scope.kind !== 'user') };
}

/** Browsers do not send an unchecked box, so the form marks that it has one. */
const limitsLockField = ({ limits_lock_shown: lockShown, limits_locked: locked }: PostedKeyAction) =>
  lockShown === undefined ? {} : { limits_locked: locked === 'on' };

/** Forms send `on` or nothing; API clients send a boolean. */
function isFinal({ final = false }: PostedKeyAction): boolean {
  if (final === 'on') return true;
  if (typeof final !== 'boolean') throw invalidField('final', 'true or false');
  return final;
}

@Controller()
export class KeyController {
  constructor(
    private readonly keys: AuditedKeys,
    private readonly register: KeyRegister,
    private readonly limits: EffectiveLimitsService,
    private readonly rates: RateLimiter,
    private readonly usage: UsageQuery,
    private readonly records: RequestLogQuery,
    private readonly activityQuery: ActivityQuery,
    private readonly catalogue: CatalogueService,
    private readonly secrets: KeySecretPage,
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
    const key = await this.findKey(request, keyId);
    if (keyId !== key.id) {
      response.statusCode = 302;
      response.setHeader('location', `/dashboard/keys/${key.id}`);
    }
    return this.pageModel(key, request);
  }

  @Action('/dashboard/keys/:key_id', Access.session(), {
    body: keyActionBody,
    page: keyActionPage,
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
    @Body() posted: PostedKeyAction,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const key = await this.findKey(request, keyId);
    const { action = 'save', reason, ...fields } = posted;
    const keyAction = choiceField(action, 'action', keyActions);
    const reasonText = reason === undefined || reason === '' ? undefined : textField(reason, 'reason', 500);
    if (keyAction === 'revoke' && key.status !== 'revoked' && wantsPage(request))
      await this.verifyConfirmation(key, posted, request);
    if (keyAction === 'rotate') return this.rotate(key, fields, reasonText, request, response);
    if (keyAction !== 'save' || !wantsPage(request))
      return this.performAction(key, keyAction, fields, reasonText, request);
    return mapKeyErrors(async () => {
      rejectInvalidFields(keyActionPage, posted);
      const body = { ...toApiBody(posted), ...limitsLockField(posted) };
      return this.performAction(key, keyAction, body, reasonText, request);
    });
  }

  /** Finds a manageable key; keys of the chat are managed by the operator and count as missing. */
  private async findKey(request: HttpRequest, keyId: number | string): Promise<ManagedKey> {
    const key = await this.register.get(viewScope(request), keyId);
    if (key.kind !== 'client') throw keyNotFound();
    return key;
  }

  /** Required of pages only; API clients confirm by making the call. */
  private async verifyConfirmation(
    key: ManagedKey,
    { confirmation }: PostedKeyAction,
    request: HttpRequest,
  ): Promise<void> {
    const lastDay = await this.countLastDayRequests(key);
    if (requiresConfirmation(resolveKeyActor(request, key).acting, lastDay))
      requireKeyName(key, confirmation);
  }

  /** Counts all requests of 24 hours, including those the reader cannot see, as their callers would fail. */
  private async countLastDayRequests({ id }: ManagedKey): Promise<number> {
    const period = resolvePeriod({ hours: 24 }, 'UTC', Date.now());
    const query = { ...period, zone: 'UTC', bucket: 'month' } as const;
    const { total } = await this.usage.read({ kind: 'key', keyId: id }, query);
    return total.requests;
  }

  private async performAction(
    key: ManagedKey,
    keyAction: Exclude<KeyPageAction, 'rotate'>,
    fields: PostedKeyAction,
    reason: string | undefined,
    request: HttpRequest,
  ): Promise<ActionResult> {
    const actor = resolveKeyActor(request, key);
    const updatedKey = await this.applyAction(key, keyAction, fields, reason, actor);
    const outcome = keyAction === 'revoke' && updatedKey.restorableUntil === null ? 'end' : keyAction;
    return done(`/dashboard/keys/${key.id}`, presentPortalKey(updatedKey), `keys.done.${outcome}`, {
      name: updatedKey.name,
    });
  }

  private async applyAction(
    key: ManagedKey,
    keyAction: Exclude<KeyPageAction, 'rotate'>,
    fields: PostedKeyAction,
    reason: string | undefined,
    actor: ScopedKeyActor,
  ): Promise<ManagedKey> {
    switch (keyAction) {
      case 'revoke':
        return this.keys.revoke(actor, key, isFinal(fields), reason);
      case 'restore':
        return this.keys.restore(actor, key, reason);
      case 'raise':
        await this.keys.raise(actor, key, parseRaise(fields), textField(reason, 'reason', 500));
        break;
      case 'end_raise':
        await this.keys.endRaise(
          actor,
          key,
          integerField(fields['raise_id'], 'raise_id', 1, 2 ** 31 - 1),
          reason,
        );
        break;
      case 'exclude':
      case 'include':
        await this.setEvaluation(key, keyAction === 'include');
        break;
      case 'save':
      case 'pause':
      case 'resume':
        return this.keys.change(actor, key, this.toKeyChanges(keyAction, fields), reason);
    }
    return this.register.get(actor.scope, key.id);
  }

  /** Includes or excludes a key's replies from sampling and evaluation, if its organisation has that enabled. */
  private async setEvaluation(key: ManagedKey, isIncluded: boolean): Promise<void> {
    const { userId, organisationId } = await this.payers.standingOf(key);
    await this.quality.set(
      { organisationId: null, keyId: key.id },
      { excluded: !isIncluded },
      { label: key.name, concerns: { userId, organisationId } },
    );
  }

  private toKeyChanges(
    keyAction: 'save' | 'pause' | 'resume',
    { limits_locked: locked, ...fields }: PostedKeyAction,
  ): KeyChanges {
    if (keyAction === 'save') {
      if (locked === undefined) return readKeyChanges(fields, this.catalogue.snapshot);
      if (typeof locked !== 'boolean') throw invalidField('limits_locked', 'true or false');
      const changes = Object.keys(fields).length === 0 ? {} : readKeyChanges(fields, this.catalogue.snapshot);
      return { ...changes, limitsLocked: locked };
    }
    return { status: keyAction === 'pause' ? ('disabled' as const) : ('active' as const) };
  }

  private async rotate(
    key: ManagedKey,
    fields: PostedKeyAction,
    reason: string | undefined,
    request: HttpRequest,
    response: ServerResponse,
  ) {
    const rotated = await this.keys.rotate(resolveKeyActor(request, key), key, readGrace(fields), reason);
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
    const period = resolvePeriod({ days: DEFAULT_DAYS }, localisation.timeZone, Date.now());
    // Requests from before a key was moved belong to its former organisation and are not shown.
    const keyScope = {
      kind: 'key',
      keyId: key.id,
      ...(scope.kind !== 'user' && { within: scope }),
    } as const;
    const usualRate = this.settings.keyRateLimitRpm;
    const { acting } = resolveKeyActor(request, key);
    const isAdministrator = acting.as === 'administrator';
    const limitedKey = { keyId: key.id, rateLimitTpm: key.rateLimitTpm, maxParallel: key.maxParallel };
    const [limits, owners, rate, tokens, parallel, raises, usage, lastDay, requests, history, { excluded }] =
      await Promise.all([
        this.limits.of(scope, key),
        this.register.ownersOf(key),
        this.rates.stateOf({ keyId: key.id, rateLimitRpm: key.rateLimitRpm ?? usualRate }),
        this.rates.tokensOf(limitedKey),
        this.rates.parallelOf(limitedKey),
        isAdministrator ? this.raises.list({ kind: 'key', id: key.id }) : [],
        this.usage.read(keyScope, {
          ...period,
          bucket: 'day',
          zone: localisation.timeZone,
          groupBy: 'model',
          mostGroups: 7,
        }),
        this.countLastDayRequests(key),
        this.records.page(keyScope, {}, { limit: LISTED_REQUESTS }),
        this.activityQuery.page(scope, {
          object: { type: 'key', id: String(key.id) },
          limit: LISTED_ENTRIES,
        }),
        this.quality.find({ organisationId: null, keyId: key.id }),
      ]);
    const choices = keyFormChoices(this.catalogue.snapshot, actorOf(request), []);
    return {
      ...keyPageModel(
        {
          key,
          owners: ownerFigures(key, owners, actorOf(request), localisation.translate),
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
      ...(isAdministrator && canActOnKey('raise', acting, key)
        ? { raises: raisesModel(key, raises, localisation) }
        : {}),
      evaluation: { isExcluded: excluded },
      form: keyFormModel({ key, choices, usualRate, isAdministrator }, localisation.translate),
    };
  }
}
