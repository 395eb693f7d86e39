import { Body, Controller, Req } from '@nestjs/common';
import { type ActionName, ActivityLog, changesOf } from '../../audit';
import {
  CatalogueEditor,
  type ModelDetail,
  ModelDetailService,
  moveModel,
  refuseManaged,
  reorderModels,
  writeModelOrder,
} from '../../catalogue';
import { fault, missingFields } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, type ActionResult, type HttpRequest, PathText, wantsPage } from '../../web';
import { respondWithChange } from './change-response';
import {
  ModelChangeForm,
  ModelForm,
  OrderForm,
  ReasonForm,
  RedirectForm,
  ReplayForm,
  StateForm,
} from './catalogue.dto';
import { PriceAdminService } from './price-admin.service';
import { presentModel, recordedFixture, recordedModel } from './present';
import { hasRates, lanesOfForm, modelChanges } from './read-forms';

const PLATFORM = Access.role('platform_admin');

@Controller()
export class ModelsAdminController {
  constructor(
    private readonly database: Database,
    private readonly models: ModelDetailService,
    private readonly editor: CatalogueEditor,
    private readonly prices: PriceAdminService,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/models/create', PLATFORM, { audit: 'model.created' })
  async create(@Body() form: ModelChangeForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const details = await this.database.transaction(async (tx) => {
      const { kind, owned_by: ownedBy } = form;
      if (kind === undefined || ownedBy === undefined) throw missingFields({ kind, owned_by: ownedBy });
      const createdModel = await this.models.create(
        tx,
        { ...modelChanges(form), name: form.model, kind, ownedBy },
        { lanes: lanesOfForm(form), overflowTo: form.overflow_to },
      );
      const changes = changesOf(null, recordedModel(createdModel));
      await this.record(tx, 'model.created', createdModel, changes, form.reason);
      return hasRates(form) ? this.prices.change(tx, request, form) : createdModel;
    });
    const to = `/dashboard/admin/models/edit?model=${encodeURIComponent(form.model)}`;
    return respondWithChange(form, {
      text: 'catalogue.done.model-created',
      body: presentModel(details),
      to,
    });
  }

  /** Changes metadata, providers and prices of a model; omitted fields keep their values. */
  @Action('/dashboard/admin/models/update', PLATFORM, { audit: ['model.changed', 'model.price-changed'] })
  async update(@Body() form: ModelChangeForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const details = await this.database.transaction(async (tx) => {
      const { before, after } = await this.models.change(tx, form.model, {
        fields: modelChanges(form),
        lanes: lanesOfForm(form),
        overflowTo: form.overflow_to,
        version: form.version,
      });
      const changes = changesOf(recordedModel(before), recordedModel(after));
      if (Object.keys(changes).length > 0)
        await this.record(tx, 'model.changed', after, changes, form.reason);
      else if (!hasRates(form)) this.activity.reportNoChange();
      return hasRates(form) ? this.prices.change(tx, request, form) : after;
    });
    return respondWithChange(form, {
      text: 'catalogue.done.saved',
      body: presentModel(details),
    });
  }

  @Action('/dashboard/admin/model-prices/state', PLATFORM, { audit: 'model.state-changed' })
  async state(@Body() form: StateForm): Promise<ActionResult> {
    const details = await this.setState(form, form.state, 'model.state-changed');
    return respondWithChange(form, {
      text: 'catalogue.done.state',
      values: { model: form.model },
      body: presentModel(details),
    });
  }

  /** Soft delete: the record stays, and setting another state restores it. */
  @Action('/dashboard/admin/model-prices/delete', PLATFORM, { audit: 'model.deleted' })
  async remove(@Body() form: ModelForm): Promise<ActionResult> {
    const details = await this.setState(form, 'deleted', 'model.deleted');
    return respondWithChange(form, {
      text: 'catalogue.done.deleted',
      values: { name: form.model },
      body: presentModel(details),
    });
  }

  @Action('/dashboard/admin/model-prices/redirect', PLATFORM, { audit: 'model.redirect-changed' })
  async redirect(@Body() form: RedirectForm): Promise<ActionResult> {
    const details = await this.database.transaction(async (tx) => {
      const before = await this.models.read(tx, form.model);
      refuseManaged(before.model);
      await this.editor.setRedirect(tx, form.model, form.redirect_to ?? null, form.version);
      const after = await this.models.read(tx, form.model);
      const changes = changesOf({ redirect_to: before.redirectTo }, { redirect_to: after.redirectTo });
      await this.recordIfChanged(tx, 'model.redirect-changed', after, changes, form.reason);
      return after;
    });
    return respondWithChange(form, {
      text: 'catalogue.done.saved',
      body: presentModel(details),
    });
  }

  @Action('/dashboard/admin/models/reorder', PLATFORM, { audit: 'model.reordered' })
  async reorder(@Body() form: OrderForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { order, model } = form;
    const count = await this.database.transaction(async (tx) => {
      const changes = await writeModelOrder(tx, (current) => applyOrder(current, form));
      if (changes.length === 0) this.activity.reportNoChange();
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
    return respondWithChange(form, {
      // The page's script reorders models without leaving the page.
      ...(wantsPage(request) && { text: 'catalogue.done.reordered' }),
      body: { ok: true, changed: count },
    });
  }

  @Action('/admin/models/:model/replay-inclusion', PLATFORM, { audit: 'model.replay-changed' })
  async replay(@PathText('model') name: string, @Body() form: ReplayForm): Promise<ActionResult> {
    const details = await this.database.transaction(async (tx) => {
      const { before, after } = await this.models.change(tx, name, {
        fields: { replayIncluded: form.included },
      });
      const changes = changesOf(
        { replay_included: before.model.replayIncluded },
        { replay_included: after.model.replayIncluded },
      );
      await this.recordIfChanged(tx, 'model.replay-changed', after, changes, form.reason);
      return after;
    });
    return respondWithChange(form, {
      text: 'catalogue.done.saved',
      body: presentModel(details),
    });
  }

  @Action('/admin/models/:model/ensure-admin-fixture', PLATFORM, {
    audit: ['model.created', 'model.changed'],
  })
  async fixture(@PathText('model') name: string, @Body() form: ReasonForm): Promise<ActionResult> {
    const body = await this.database.transaction(async (tx) => {
      const { before, after: details, result } = await this.models.ensureFixture(tx, name);
      const action = before === null ? 'model.created' : 'model.changed';
      const changes = changesOf(before === null ? null : recordedFixture(before), recordedFixture(details));
      await this.recordIfChanged(tx, action, details, changes, form.reason);
      return { result, ...presentModel(details) };
    });
    return respondWithChange(form, { text: 'catalogue.done.saved', body });
  }

  private setState(
    { model, reason, version }: ModelForm & Pick<StateForm, 'version'>,
    state: StateForm['state'],
    action: ActionName,
  ): Promise<ModelDetail> {
    return this.database.transaction(async (tx) => {
      const before = await this.models.read(tx, model);
      await this.editor.setState(tx, model, state, version);
      const after = await this.models.read(tx, model);
      const changes = changesOf({ state: before.model.state }, { state });
      await this.recordIfChanged(tx, action, after, changes, reason);
      return after;
    });
  }

  private async recordIfChanged(
    tx: Tx,
    action: ActionName,
    details: ModelDetail,
    changes: ReturnType<typeof changesOf>,
    reason: string | undefined,
  ): Promise<void> {
    if (Object.keys(changes).length === 0) this.activity.reportNoChange();
    else await this.record(tx, action, details, changes, reason);
  }

  private record(
    tx: Tx,
    action: ActionName,
    { model }: ModelDetail,
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

function applyOrder(current: readonly string[], { order, model, move, position }: OrderForm): string[] {
  if (order !== undefined && order.length > 0) return reorderModels(current, order);
  if (model === undefined || (move === undefined && position === undefined))
    throw fault('missing_fields', { details: { required: ['order', 'or model with move or position'] } });
  const currentPosition = current.indexOf(model) + 1;
  return moveModel(current, model, position ?? (move === 'up' ? currentPosition - 1 : currentPosition + 1));
}
