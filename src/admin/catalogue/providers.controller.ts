import { Body, Controller } from '@nestjs/common';
import { type ActionName, ActivityLog, changesOf, type NewActivity } from '../../audit';
import {
  type CredentialKind,
  ProviderDetailService,
  type ProviderDetail,
  visibilityEffect,
} from '../../catalogue';
import { fault, missingFields } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { SupplierStyles } from '../../routing';
import { Access, Action, Data, type ActionResult, PathId, PathText } from '../../web';
import { respondWithChange, MODELS_PAGE } from './change-response';
import { ReasonForm } from './catalogue.dto';
import { ProviderForm, VisibilityForm } from './providers.dto';
import { presentProvider, recordedProvider } from './present';
import { identityOfForm, providerFields, secretOfForm } from './read-forms';

const PLATFORM = Access.role('platform_admin');
const PROVIDERS_PAGE = `${MODELS_PAGE}?tab=providers`;

@Controller()
export class ProvidersAdminController {
  constructor(
    private readonly database: Database,
    private readonly providers: ProviderDetailService,
    private readonly styles: SupplierStyles,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/providers', PLATFORM, { audit: 'provider.created' })
  async create(@Body() form: ProviderForm): Promise<ActionResult> {
    const details = await this.database.transaction(async (tx) => {
      const { name, style, base_url: baseUrl } = form;
      if (name === undefined || style === undefined || baseUrl === undefined)
        throw missingFields({ name, style, base_url: baseUrl });
      const secret = secretOfForm(form, this.kindFor(style));
      const identity = identityOfForm(form);
      const createdProvider = await this.providers.create(tx, {
        fields: providerFields(form),
        secret,
        identity,
      });
      await this.record(
        tx,
        'provider.created',
        createdProvider,
        changesOf(null, recordedProvider(createdProvider)),
        form.reason,
      );
      return createdProvider;
    });
    const to = `/dashboard/admin/providers/edit?id=${details.provider.id}`;
    return respondWithChange(form, {
      text: 'catalogue.done.provider-created',
      body: presentProvider(details),
      to,
    });
  }

  @Action('/dashboard/admin/providers/:provider_id/update', PLATFORM, {
    audit: ['provider.changed', 'credential.changed'],
  })
  async update(@PathId('provider_id') id: number, @Body() form: ProviderForm): Promise<ActionResult> {
    const { sheet: details, cleared } = await this.database.transaction((tx) => this.change(tx, id, form));
    return respondWithChange(form, {
      text: cleared.length > 0 ? 'catalogue.done.secret-cleared' : 'catalogue.done.saved',
      body: { ...presentProvider(details), cleared_secrets: cleared },
    });
  }

  @Action('/dashboard/admin/providers/:provider_id/delete', PLATFORM, { audit: 'provider.deleted' })
  async remove(@PathId('provider_id') id: number, @Body() form: ReasonForm): Promise<ActionResult> {
    const name = await this.database.transaction(async (tx) => {
      const details = await this.providers.remove(tx, id);
      await this.record(
        tx,
        'provider.deleted',
        details,
        changesOf(recordedProvider(details), null),
        form.reason,
      );
      return details.provider.name;
    });
    return respondWithChange(form, {
      text: 'catalogue.done.deleted',
      values: { name },
      body: { ok: true, id },
      to: PROVIDERS_PAGE,
    });
  }

  @Data('/dashboard/admin/providers/:provider_id/visibility-info', PLATFORM)
  async visibilityInfo(@PathId('provider_id') id: number) {
    return this.effect(this.database.source.manager, id);
  }

  @Action('/dashboard/admin/providers/:provider_id/visibility', PLATFORM, {
    audit: 'provider.visibility-changed',
  })
  async visibility(@PathId('provider_id') id: number, @Body() form: VisibilityForm): Promise<ActionResult> {
    const body = await this.database.transaction(async (tx) => {
      const isChanged = await this.providers.setVisible(tx, id, form.visible);
      const details = await this.providers.read(tx, id);
      const changes = changesOf({ visible: !form.visible }, { visible: form.visible });
      if (isChanged) await this.record(tx, 'provider.visibility-changed', details, changes, form.reason);
      else this.activity.reportNoChange();
      return this.effect(tx, id);
    });
    return respondWithChange(form, {
      text: form.visible ? 'catalogue.done.shown' : 'catalogue.done.hidden',
      body,
    });
  }

  @Action('/dashboard/admin/providers/:provider_id/secrets/:credential_id/delete', PLATFORM, {
    audit: 'credential.removed',
  })
  async removeSecret(
    @PathId('provider_id') id: number,
    @PathText('credential_id') credentialId: string,
    @Body() form: ReasonForm,
  ): Promise<ActionResult> {
    await this.database.transaction(async (tx) => {
      const { label } = await this.providers.removeCredential(tx, id, credentialId);
      const details = await this.providers.read(tx, id);
      await this.recordSecret(tx, 'credential.removed', details, label, form.reason);
    });
    return respondWithChange(form, {
      text: 'catalogue.done.secret-removed',
      body: { ok: true },
    });
  }

  private async change(
    tx: Tx,
    id: number,
    form: ProviderForm,
  ): Promise<{ sheet: ProviderDetail; cleared: readonly string[] }> {
    const current = await this.providers.read(tx, id);
    const secret = secretOfForm(form, this.kindFor(form.style ?? current.provider.style));
    const identity = identityOfForm(form);
    const { before, after, cleared } = await this.providers.change(tx, id, {
      fields: providerFields(form),
      secret,
      identity,
      version: form.version,
    });
    const changes = changesOf(recordedProvider(before), recordedProvider(after));
    if (Object.keys(changes).length > 0)
      await this.record(tx, 'provider.changed', after, changes, form.reason);
    else if (secret === undefined && identity === undefined) this.activity.reportNoChange();
    for (const label of cleared)
      await this.recordSecret(
        tx,
        'credential.removed',
        after,
        label,
        'the address it was entered for has changed',
      );
    for (const one of [secret, identity])
      if (one !== undefined) await this.recordSecret(tx, 'credential.changed', after, one.label, form.reason);
    return { sheet: after, cleared };
  }

  private kindFor(style: string): CredentialKind {
    const kind = this.styles.credentialKindOf(style);
    if (kind !== undefined) return kind;
    throw fault('invalid_provider', {
      param: 'style',
      message: `There is no style "${style}"; known are ${this.styles.names.join(', ')}.`,
    });
  }

  private async effect(tx: Pick<Tx, 'query'>, id: number) {
    const effect = await visibilityEffect(tx, id);
    return {
      provider_id: effect.providerId,
      name: effect.name,
      visible: effect.visible,
      models: effect.models,
      moves_to_backup: effect.movesToBackup,
      without_backup: effect.withoutBackup.length,
      without_backup_models: effect.withoutBackup.slice(0, 100),
    };
  }

  private record(
    tx: Tx,
    action: ActionName,
    { provider }: ProviderDetail,
    changes: NewActivity['changes'],
    reason: string | undefined,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'provider', id: provider.id, label: provider.name },
      concerns: {},
      ...(changes === undefined ? {} : { changes }),
      ...(reason === undefined ? {} : { reason }),
    });
  }

  private recordSecret(
    tx: Tx,
    action: ActionName,
    { provider }: ProviderDetail,
    label: string,
    reason: string | undefined,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'credential', id: provider.id, label: `${provider.name}: ${label}` },
      concerns: {},
      ...(reason === undefined ? {} : { reason }),
    });
  }
}
