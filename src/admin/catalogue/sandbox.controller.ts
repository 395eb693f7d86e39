import { Body, Controller } from '@nestjs/common';
import { ActivityLog, changesOf, type NewActivity } from '../../audit';
import { readCurrent, removeSandbox, type RemovedSandbox } from '../../catalogue';
import { isServedByRealSupplier } from '../../checks';
import { fault } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, type ActionResult } from '../../web';
import { respondWithChange } from './change-response';
import { ReasonForm } from './catalogue.dto';

const nameOf = ({ name }: { readonly name: string }): string => name;

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
  async remove(@Body() form: ReasonForm): Promise<ActionResult> {
    const removedSandbox = await this.database.transaction(async (tx) => {
      const isReady = isServedByRealSupplier(await readCurrent(tx));
      const result = await removeSandbox(tx);
      if (result.providers.length === 0) this.activity.reportNoChange();
      else if (!isReady)
        throw fault('conflict', {
          message: 'Connect a supplier that serves a model first.',
          details: { reason: 'sandbox-needed' },
        });
      else await this.record(tx, result, form.reason);
      return result;
    });
    const models = removedSandbox.models.map(nameOf);
    return respondWithChange(form, {
      text:
        removedSandbox.providers.length === 0
          ? 'catalogue.done.no-sandbox'
          : 'catalogue.done.sandbox-removed',
      values: { count: models.length, models: models.join(', ') },
      body: {
        ok: true,
        providers: removedSandbox.providers.map(nameOf),
        models,
        models_kept: removedSandbox.kept.map(nameOf),
        redirects_removed: removedSandbox.redirected.map(nameOf),
        aliases: removedSandbox.aliases.map(nameOf),
      },
    });
  }

  private async record(tx: Tx, removedSandbox: RemovedSandbox, reason: string | undefined): Promise<void> {
    const { providers, models, kept, redirected, aliases } = removedSandbox;
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
