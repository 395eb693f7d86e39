import { Body, Controller } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { readCurrent, removeSandbox, type RemovedSandbox } from '../../catalogue';
import { isServedByReal } from '../../checks';
import { fault } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, type Done } from '../../web';
import { changed } from './answers';
import { ReasonForm } from './forms';

const nameOf = ({ name }: { readonly name: string }): string => name;

/** The sandbox leaves in one act once real suppliers serve models. */
@Controller()
export class SandboxController {
  constructor(
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/sandbox/remove', Access.role('platform_admin'), {
    audit: [
      'provider.deleted',
      'model.deleted',
      'model.changed',
      'model.redirect-changed',
      'model.alias-removed',
    ],
  })
  async remove(@Body() form: ReasonForm): Promise<Done> {
    const removed = await this.database.transaction(async (tx) => {
      const isReady = isServedByReal(await readCurrent(tx));
      const found = await removeSandbox(tx);
      if (found.providers.length === 0) this.activity.nothingChanged();
      else if (!isReady)
        throw fault('conflict', {
          message: 'Connect a supplier that serves a model first.',
          details: { reason: 'sandbox-needed' },
        });
      else await this.record(tx, found, form.reason);
      return found;
    });
    const models = removed.models.map(nameOf);
    return changed(form, {
      text: removed.providers.length === 0 ? 'catalogue.done.no-sandbox' : 'catalogue.done.sandbox-removed',
      values: { count: models.length, models: models.join(', ') },
      facts: {
        ok: true,
        providers: removed.providers.map(nameOf),
        models,
        models_kept: removed.kept.map(nameOf),
        redirects_removed: removed.redirected.map(nameOf),
        aliases: removed.aliases.map(nameOf),
      },
    });
  }

  private async record(tx: Tx, removed: RemovedSandbox, reason: string | undefined): Promise<void> {
    const { providers, models, kept, redirected, aliases } = removed;
    const write = (entry: Pick<NewActivity, 'action' | 'object' | 'changes'>): Promise<void> =>
      this.activity.write(tx, { ...entry, concerns: {}, ...(reason === undefined ? {} : { reason }) });
    for (const { id, name, state } of models)
      await write({
        action: 'model.deleted',
        object: { type: 'model', id, label: name },
        changes: changesOf({ state }, { state: 'deleted' }),
      });
    for (const { id, name } of kept)
      await write({
        action: 'model.changed',
        object: { type: 'model', id, label: name },
        changes: changesOf({ sandbox: true }, { sandbox: false }),
      });
    for (const { id, name } of redirected)
      await write({ action: 'model.redirect-changed', object: { type: 'model', id, label: name } });
    for (const { name } of aliases)
      await write({ action: 'model.alias-removed', object: { type: 'alias', id: name, label: name } });
    for (const { id, name } of providers)
      await write({
        action: 'provider.deleted',
        object: { type: 'provider', id, label: name },
        changes: changesOf({ name, style: 'sandbox' }, null),
      });
  }
}
