import { Body, Controller } from '@nestjs/common';
import { type ActionName, ActivityLog, changesOf, type NewActivity } from '../../audit';
import { type CredentialKind, ProviderSheets, type ProviderSheet, visibilityEffect } from '../../catalogue';
import { fault, missingFields } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { SupplierStyles } from '../../routing';
import { Access, Action, Data, type Done, PathId, PathText } from '../../web';
import { changed, MODELS_PAGE } from './answers';
import { ReasonForm } from './forms';
import { ProviderForm, VisibilityForm } from './provider-forms';
import { presentProvider, recordedProvider } from './present';
import { identityOfForm, providerFields, secretOfForm } from './read-forms';

const PLATFORM = Access.role('platform_admin');
const PROVIDERS = `${MODELS_PAGE}?tab=providers`;

/** Here providers and their secrets are changed. */
@Controller()
export class ProvidersController {
  constructor(
    private readonly database: Database,
    private readonly sheets: ProviderSheets,
    private readonly styles: SupplierStyles,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/providers', PLATFORM, { audit: 'provider.created' })
  async create(@Body() form: ProviderForm): Promise<Done> {
    const sheet = await this.database.transaction(async (tx) => {
      const { name, style, base_url: baseUrl } = form;
      if (name === undefined || style === undefined || baseUrl === undefined)
        throw missingFields({ name, style, base_url: baseUrl });
      const secret = secretOfForm(form, this.kindFor(style));
      const identity = identityOfForm(form);
      const made = await this.sheets.create(tx, { fields: providerFields(form), secret, identity });
      await this.record(tx, 'provider.created', made, changesOf(null, recordedProvider(made)), form.reason);
      return made;
    });
    const to = `/dashboard/admin/providers/edit?id=${sheet.provider.id}`;
    return changed(form, {
      text: 'catalogue.done.provider-created',
      facts: presentProvider(sheet),
      to,
    });
  }

  @Action('/dashboard/admin/providers/:provider_id/update', PLATFORM, {
    audit: ['provider.changed', 'credential.changed'],
  })
  async update(@PathId('provider_id') id: number, @Body() form: ProviderForm): Promise<Done> {
    const { sheet, cleared } = await this.database.transaction((tx) => this.change(tx, id, form));
    return changed(form, {
      text: cleared.length > 0 ? 'catalogue.done.secret-cleared' : 'catalogue.done.saved',
      facts: { ...presentProvider(sheet), cleared_secrets: cleared },
    });
  }

  @Action('/dashboard/admin/providers/:provider_id/delete', PLATFORM, { audit: 'provider.deleted' })
  async remove(@PathId('provider_id') id: number, @Body() form: ReasonForm): Promise<Done> {
    const name = await this.database.transaction(async (tx) => {
      const sheet = await this.sheets.remove(tx, id);
      await this.record(tx, 'provider.deleted', sheet, changesOf(recordedProvider(sheet), null), form.reason);
      return sheet.provider.name;
    });
    return changed(form, {
      text: 'catalogue.done.deleted',
      values: { name },
      facts: { ok: true, id },
      to: PROVIDERS,
    });
  }

  @Data('/dashboard/admin/providers/:provider_id/visibility-info', PLATFORM)
  async visibilityInfo(@PathId('provider_id') id: number) {
    return this.effect(this.database.source.manager, id);
  }

  @Action('/dashboard/admin/providers/:provider_id/visibility', PLATFORM, {
    audit: 'provider.visibility-changed',
  })
  async visibility(@PathId('provider_id') id: number, @Body() form: VisibilityForm): Promise<Done> {
    const facts = await this.database.transaction(async (tx) => {
      const isChanged = await this.sheets.setVisible(tx, id, form.visible);
      const sheet = await this.sheets.read(tx, id);
      const changes = changesOf({ visible: !form.visible }, { visible: form.visible });
      if (isChanged) await this.record(tx, 'provider.visibility-changed', sheet, changes, form.reason);
      else this.activity.nothingChanged();
      return this.effect(tx, id);
    });
    return changed(form, {
      text: form.visible ? 'catalogue.done.shown' : 'catalogue.done.hidden',
      facts,
    });
  }

  /** It deletes either one of several secrets, or the only one. */
  @Action('/dashboard/admin/providers/:provider_id/secrets/:credential_id/delete', PLATFORM, {
    audit: 'credential.removed',
  })
  async removeSecret(
    @PathId('provider_id') id: number,
    @PathText('credential_id') credentialId: string,
    @Body() form: ReasonForm,
  ): Promise<Done> {
    await this.database.transaction(async (tx) => {
      const { label } = await this.sheets.removeCredential(tx, id, credentialId);
      const sheet = await this.sheets.read(tx, id);
      await this.recordSecret(tx, 'credential.removed', sheet, label, form.reason);
    });
    return changed(form, {
      text: 'catalogue.done.secret-removed',
      facts: { ok: true },
    });
  }

  private async change(
    tx: Tx,
    id: number,
    form: ProviderForm,
  ): Promise<{ sheet: ProviderSheet; cleared: readonly string[] }> {
    const known = await this.sheets.read(tx, id);
    const secret = secretOfForm(form, this.kindFor(form.style ?? known.provider.style));
    const identity = identityOfForm(form);
    const { before, after, cleared } = await this.sheets.change(tx, id, {
      fields: providerFields(form),
      secret,
      identity,
      version: form.version,
    });
    const changes = changesOf(recordedProvider(before), recordedProvider(after));
    if (Object.keys(changes).length > 0)
      await this.record(tx, 'provider.changed', after, changes, form.reason);
    else if (secret === undefined && identity === undefined) this.activity.nothingChanged();
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
    const kind = this.styles.kindFor(style);
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
    { provider }: ProviderSheet,
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
    { provider }: ProviderSheet,
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
