import { Body, Controller, Req } from '@nestjs/common';
import { CatalogueService } from '../../catalogue';
import { PayerService } from '../../identity';
import { fault, versionOf } from '../../kernel';
import { KeyRegister } from '../../keys';
import {
  type AutoAudience,
  AutoForm,
  type AutoLevel,
  type AutoSettingsChange,
  AutoSettingsStore,
  effectivePolicy,
  presentAutoPolicy,
  presentAutoSettings,
  readAutoForm,
} from '../../autorouter';
import { Access, Action, actorOf, done, type ActionResult, type HttpRequest, viewScope } from '../../web';
import { OwnKeyAutoForm } from './autorouter-settings.dto';

const audit = 'autorouter.changed';
const pagePath = '/dashboard/autorouter';

@Controller()
export class AutorouterSettingsController {
  constructor(
    private readonly store: AutoSettingsStore,
    private readonly keys: KeyRegister,
    private readonly payers: PayerService,
    private readonly catalogue: CatalogueService,
  ) {}

  @Action('/dashboard/autorouter/user', Access.session(), { audit })
  async setUser(@Body() form: AutoForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { userId, organisationId } = actorOf(request);
    const change = this.readChange(form, request);
    const audience = { organisationId, userId, keyId: null };
    await this.requireUnlocked(audience, ['platform', 'organisation']);
    const settings = await this.store.set({ level: 'user', id: userId }, change, {
      label: 'autorouter',
      concerns: { userId, organisationId },
      shown: form.version,
    });
    return this.savedResult({
      user_id: userId,
      settings: presentAutoSettings(settings),
      version: versionOf(settings),
      effective: presentAutoPolicy(await this.store.levels(audience)),
    });
  }

  @Action('/dashboard/autorouter/api-key', Access.session(), { audit })
  async setKey(
    @Body() { key_id: id, ...form }: OwnKeyAutoForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const key = await this.keys.get(viewScope(request), id);
    if (form.locked !== undefined)
      throw fault('permission_denied', {
        param: 'locked',
        message: 'Only an administrator locks the settings of a key.',
      });
    const change = this.readChange(form, request);
    const { userId, organisationId } = await this.payers.standingOf(key);
    const audience = { organisationId, userId, keyId: key.id };
    await this.requireUnlocked(audience, ['platform', 'organisation', 'user', 'key']);
    const settings = await this.store.set({ level: 'key', id: key.id }, change, {
      label: key.name,
      concerns: { userId, organisationId },
      shown: form.version,
    });
    return this.savedResult(
      {
        key_id: key.id,
        key_public_id: key.publicId,
        settings: presentAutoSettings(settings),
        version: versionOf(settings),
        effective: presentAutoPolicy(await this.store.levels(audience)),
      },
      `${pagePath}?key=${key.id}`,
    );
  }

  /** Rejects settings that a locked level overrides, as they would never take effect. */
  private async requireUnlocked(audience: AutoAudience, levels: readonly AutoLevel[]): Promise<void> {
    const { lockedBy } = effectivePolicy(await this.store.levels(audience));
    if (lockedBy === null || !levels.includes(lockedBy)) return;
    throw fault('permission_denied', {
      message: LOCKED_MESSAGES[lockedBy],
      details: { locked_by: lockedBy },
    });
  }

  /** A model that the user has no access to counts as missing. */
  private readChange(form: AutoForm, request: HttpRequest): AutoSettingsChange {
    const { snapshot } = this.catalogue;
    const { organisationId, departmentId } = actorOf(request);
    return readAutoForm(form, (name) => {
      const model = snapshot.model(name);
      return model !== undefined && snapshot.isOpenTo(model, { organisationId, departmentId });
    });
  }

  private savedResult(fields: object, to = pagePath): ActionResult {
    return done(to, { ok: true, ...fields }, 'engines.stored-autorouter');
  }
}

const LOCKED_MESSAGES: Readonly<Record<AutoLevel, string>> = {
  platform: 'The operator has locked how auto chooses.',
  organisation: 'Your organisation has locked how auto chooses.',
  user: 'Your own settings are locked for all of your keys: unlock them first.',
  key: 'An administrator has locked the settings of this key.',
};
