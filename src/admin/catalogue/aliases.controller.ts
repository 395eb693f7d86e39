import { Body, Controller } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { CatalogueEditor, listAliases, ModelSheets, refuseManaged } from '../../catalogue';
import { fault, refuseStale } from '../../kernel';
import { Database, type Row, type Tx } from '../../platform';
import { Access, Action, Data, type Done, PathText } from '../../web';
import { changed } from './answers';
import { AliasForm, AliasRemovalForm } from './forms';

const PLATFORM = Access.role('platform_admin');

/** Here aliases of models are made and removed. Two addresses add an alias and two remove one; they do the same. */
@Controller()
export class AliasesController {
  constructor(
    private readonly database: Database,
    private readonly editor: CatalogueEditor,
    private readonly sheets: ModelSheets,
    private readonly activity: ActivityLog,
  ) {}

  @Data('/dashboard/admin/model-aliases', PLATFORM)
  async list() {
    const aliases = await listAliases(this.database);
    return {
      object: 'list',
      data: aliases.map(({ alias, model, state, managed }) => ({
        object: 'alias',
        alias,
        model,
        state,
        managed,
      })),
    };
  }

  @Action('/dashboard/admin/model-aliases', PLATFORM, { audit: 'model.alias-added' })
  create(@Body() form: AliasForm) {
    return this.add(form);
  }

  @Action('/dashboard/admin/models/add-alias', PLATFORM, { audit: 'model.alias-added' })
  addToModel(@Body() form: AliasForm) {
    return this.add(form);
  }

  @Action('/dashboard/admin/models/remove-alias', PLATFORM, { audit: 'model.alias-removed' })
  removeByForm(@Body() form: AliasRemovalForm) {
    return this.remove(form.alias, form);
  }

  @Action('/dashboard/admin/model-aliases/:alias_name', PLATFORM, {
    audit: 'model.alias-removed',
    verb: 'delete',
  })
  removeByName(@PathText('alias_name') alias: string) {
    return this.remove(alias, {});
  }

  private async add(form: AliasForm): Promise<Done> {
    const { alias, model, reason, version } = form;
    await this.database.transaction(async (tx) => {
      const before = await this.sheets.read(tx, model);
      refuseManaged(before.model);
      await this.editor.addAlias(tx, alias, model, version);
      if (before.aliases.includes(alias)) this.activity.nothingChanged();
      else await this.record(tx, 'model.alias-added', alias, changesOf(null, { model }), reason);
    });
    const facts = { ok: true, alias, model };
    return changed(form, {
      text: 'catalogue.done.alias-added',
      values: { alias },
      facts,
    });
  }

  private async remove(alias: string, form: Omit<AliasRemovalForm, 'alias'>): Promise<Done> {
    await this.database.transaction(async (tx) => {
      const [row] = await tx.query<Row<'model', 'name, managed'>[]>(
        'SELECT m.name, m.managed FROM model_alias a JOIN model m ON m.id = a.model_id WHERE a.name = $1',
        [alias],
      );
      if (row === undefined) throw fault('not_found', { param: 'alias' });
      refuseStale(form.model, row.name);
      refuseManaged(row);
      await this.editor.removeAlias(tx, alias);
      await this.record(tx, 'model.alias-removed', alias, changesOf({ model: row.name }, null), form.reason);
    });
    return changed(form, {
      text: 'catalogue.done.alias-removed',
      values: { alias },
      facts: { ok: true, alias },
    });
  }

  private record(
    tx: Tx,
    action: 'model.alias-added' | 'model.alias-removed',
    alias: string,
    changes: ReturnType<typeof changesOf>,
    reason: string | undefined,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'alias', id: alias, label: alias },
      concerns: {},
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}
