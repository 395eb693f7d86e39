import { Body, Controller } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import {
  CatalogueEditor,
  findModelOfAlias,
  listAliases,
  ModelDetailService,
  refuseManaged,
} from '../../catalogue';
import { fault, rejectStale } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, Data, type ActionResult, PathText } from '../../web';
import { respondWithChange } from './change-response';
import { AliasForm, AliasRemovalForm } from './catalogue.dto';

const PLATFORM = Access.role('platform_admin');

/** Adds and removes model aliases. Each operation has two routes with the same effect. */
@Controller()
export class AliasesController {
  constructor(
    private readonly database: Database,
    private readonly editor: CatalogueEditor,
    private readonly models: ModelDetailService,
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

  private async add(form: AliasForm): Promise<ActionResult> {
    const { alias, model, reason, version } = form;
    await this.database.transaction(async (tx) => {
      const before = await this.models.read(tx, model);
      refuseManaged(before.model);
      await this.editor.addAlias(tx, alias, model, version);
      if (before.aliases.includes(alias)) this.activity.reportNoChange();
      else await this.record(tx, 'model.alias-added', alias, changesOf(null, { model }), reason);
    });
    const body = { ok: true, alias, model };
    return respondWithChange(form, {
      text: 'catalogue.done.alias-added',
      values: { alias },
      body,
    });
  }

  private async remove(alias: string, form: Omit<AliasRemovalForm, 'alias'>): Promise<ActionResult> {
    await this.database.transaction(async (tx) => {
      const model = await findModelOfAlias(tx, alias);
      if (model === undefined) throw fault('not_found', { param: 'alias' });
      rejectStale(form.model, model.name);
      refuseManaged(model);
      await this.editor.removeAlias(tx, alias);
      await this.record(
        tx,
        'model.alias-removed',
        alias,
        changesOf({ model: model.name }, null),
        form.reason,
      );
    });
    return respondWithChange(form, {
      text: 'catalogue.done.alias-removed',
      values: { alias },
      body: { ok: true, alias },
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
