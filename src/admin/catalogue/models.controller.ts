import { Body, Controller, Req } from '@nestjs/common';
import { type ActionName, ActivityLog, changesOf } from '../../audit';
import {
  CatalogueEditor,
  type ModelSheet,
  ModelSheets,
  moved,
  refuseManaged,
  reordered,
  writeModelOrder,
} from '../../catalogue';
import { fault, missingFields } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, type Done, type HttpRequest, PathText, wantsPage } from '../../web';
import { changed } from './answers';
import {
  ModelChangeForm,
  ModelForm,
  OrderForm,
  ReasonForm,
  RedirectForm,
  ReplayForm,
  StateForm,
} from './forms';
import { PriceDesk } from './price-desk.service';
import { presentModel, recordedFixture, recordedModel } from './present';
import { hasRates, lanesOfForm, modelChanges } from './read-forms';

const PLATFORM = Access.role('platform_admin');

/** Routes that change models; the pages are elsewhere. */
@Controller()
export class ModelsController {
  constructor(
    private readonly database: Database,
    private readonly sheets: ModelSheets,
    private readonly editor: CatalogueEditor,
    private readonly prices: PriceDesk,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/models/create', PLATFORM, { audit: 'model.created' })
  async create(@Body() form: ModelChangeForm, @Req() request: HttpRequest): Promise<Done> {
    const sheet = await this.database.transaction(async (tx) => {
      const { kind, owned_by: ownedBy } = form;
      if (kind === undefined || ownedBy === undefined) throw missingFields({ kind, owned_by: ownedBy });
      const made = await this.sheets.create(
        tx,
        { ...modelChanges(form), name: form.model, kind, ownedBy },
        { lanes: lanesOfForm(form), overflowTo: form.overflow_to },
      );
      const changes = changesOf(null, recordedModel(made));
      await this.record(tx, 'model.created', made, changes, form.reason);
      return hasRates(form) ? this.prices.change(tx, request, form) : made;
    });
    const to = `/dashboard/admin/models/edit?model=${encodeURIComponent(form.model)}`;
    return changed(form, {
      text: 'catalogue.done.model-created',
      facts: presentModel(sheet),
      to,
    });
  }

  /** Metadata, providers and prices of a model, as many of them as are named. */
  @Action('/dashboard/admin/models/update', PLATFORM, { audit: ['model.changed', 'model.price-changed'] })
  async update(@Body() form: ModelChangeForm, @Req() request: HttpRequest): Promise<Done> {
    const sheet = await this.database.transaction(async (tx) => {
      const { before, after } = await this.sheets.change(tx, form.model, {
        fields: modelChanges(form),
        lanes: lanesOfForm(form),
        overflowTo: form.overflow_to,
        version: form.version,
      });
      const changes = changesOf(recordedModel(before), recordedModel(after));
      if (Object.keys(changes).length > 0)
        await this.record(tx, 'model.changed', after, changes, form.reason);
      else if (!hasRates(form)) this.activity.nothingChanged();
      return hasRates(form) ? this.prices.change(tx, request, form) : after;
    });
    return changed(form, {
      text: 'catalogue.done.saved',
      facts: presentModel(sheet),
    });
  }

  @Action('/dashboard/admin/model-prices/state', PLATFORM, { audit: 'model.state-changed' })
  async state(@Body() form: StateForm): Promise<Done> {
    const sheet = await this.setState(form, form.state, 'model.state-changed');
    return changed(form, {
      text: 'catalogue.done.state',
      values: { model: form.model },
      facts: presentModel(sheet),
    });
  }

  /** A soft delete: the record stays, and another state restores it. */
  @Action('/dashboard/admin/model-prices/delete', PLATFORM, { audit: 'model.deleted' })
  async remove(@Body() form: ModelForm): Promise<Done> {
    const sheet = await this.setState(form, 'deleted', 'model.deleted');
    return changed(form, {
      text: 'catalogue.done.deleted',
      values: { name: form.model },
      facts: presentModel(sheet),
    });
  }

  @Action('/dashboard/admin/model-prices/redirect', PLATFORM, { audit: 'model.redirect-changed' })
  async redirect(@Body() form: RedirectForm): Promise<Done> {
    const sheet = await this.database.transaction(async (tx) => {
      const before = await this.sheets.read(tx, form.model);
      refuseManaged(before.model);
      await this.editor.setRedirect(tx, form.model, form.redirect_to ?? null, form.version);
      const after = await this.sheets.read(tx, form.model);
      const changes = changesOf({ redirect_to: before.redirectTo }, { redirect_to: after.redirectTo });
      await this.recordIfChanged(tx, 'model.redirect-changed', after, changes, form.reason);
      return after;
    });
    return changed(form, {
      text: 'catalogue.done.saved',
      facts: presentModel(sheet),
    });
  }

  /** Renumbers the list, or moves one model by one place or to a given place. */
  @Action('/dashboard/admin/models/reorder', PLATFORM, { audit: 'model.reordered' })
  async reorder(@Body() form: OrderForm, @Req() request: HttpRequest): Promise<Done> {
    const { order, model } = form;
    const count = await this.database.transaction(async (tx) => {
      const changes = await writeModelOrder(tx, (current) => arranged(current, form));
      if (changes.length === 0) this.activity.nothingChanged();
      else {
        await this.activity.write(tx, {
          action: 'model.reordered',
          object: { type: 'model', label: model ?? order?.[0] ?? '' },
          concerns: {},
          changes: changesOf(null, { order: changes }),
          ...(form.reason === undefined ? {} : { reason: form.reason }),
        });
      }
      return changes.length;
    });
    return changed(form, {
      // The page's script puts models in order without leaving the page.
      ...(wantsPage(request) && { text: 'catalogue.done.reordered' }),
      facts: { ok: true, changed: count },
    });
  }

  @Action('/admin/models/:model/replay-inclusion', PLATFORM, { audit: 'model.replay-changed' })
  async replay(@PathText('model') name: string, @Body() form: ReplayForm): Promise<Done> {
    const sheet = await this.database.transaction(async (tx) => {
      const { before, after } = await this.sheets.change(tx, name, {
        fields: { replayIncluded: form.included },
      });
      const changes = changesOf(
        { replay_included: before.model.replayIncluded },
        { replay_included: after.model.replayIncluded },
      );
      await this.recordIfChanged(tx, 'model.replay-changed', after, changes, form.reason);
      return after;
    });
    return changed(form, {
      text: 'catalogue.done.saved',
      facts: presentModel(sheet),
    });
  }

  @Action('/admin/models/:model/ensure-admin-fixture', PLATFORM, {
    audit: ['model.created', 'model.changed'],
  })
  async fixture(@PathText('model') name: string, @Body() form: ReasonForm): Promise<Done> {
    const facts = await this.database.transaction(async (tx) => {
      const { before, after: sheet, result } = await this.sheets.ensureFixture(tx, name);
      const action = before === null ? 'model.created' : 'model.changed';
      const changes = changesOf(before === null ? null : recordedFixture(before), recordedFixture(sheet));
      await this.recordIfChanged(tx, action, sheet, changes, form.reason);
      return { result, ...presentModel(sheet) };
    });
    return changed(form, { text: 'catalogue.done.saved', facts });
  }

  private setState(
    { model, reason, version }: ModelForm & Pick<StateForm, 'version'>,
    state: StateForm['state'],
    action: ActionName,
  ): Promise<ModelSheet> {
    return this.database.transaction(async (tx) => {
      const before = await this.sheets.read(tx, model);
      await this.editor.setState(tx, model, state, version);
      const after = await this.sheets.read(tx, model);
      const changes = changesOf({ state: before.model.state }, { state });
      await this.recordIfChanged(tx, action, after, changes, reason);
      return after;
    });
  }

  private async recordIfChanged(
    tx: Tx,
    action: ActionName,
    sheet: ModelSheet,
    changes: ReturnType<typeof changesOf>,
    reason: string | undefined,
  ): Promise<void> {
    if (Object.keys(changes).length === 0) this.activity.nothingChanged();
    else await this.record(tx, action, sheet, changes, reason);
  }

  private record(
    tx: Tx,
    action: ActionName,
    { model }: ModelSheet,
    changes: ReturnType<typeof changesOf>,
    reason: string | undefined,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'model', id: model.id, label: model.name },
      concerns: {},
      changes,
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

function arranged(current: readonly string[], { order, model, move, position }: OrderForm): string[] {
  if (order !== undefined && order.length > 0) return reordered(current, order);
  if (model === undefined || (move === undefined && position === undefined))
    throw fault('missing_fields', { details: { required: ['order', 'or model with move or position'] } });
  const place = current.indexOf(model) + 1;
  return moved(current, model, position ?? (move === 'up' ? place - 1 : place + 1));
}
