import { Body, Controller, Req } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import {
  type ModelDetail,
  ModelDetailService,
  PriceService,
  mergeRates,
  refuseManaged,
  type ModelDetailSchedule,
} from '../../catalogue';
import { fault, formatUsd, rejectStale } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, Data, type ActionResult, type HttpRequest, PathId, PathText } from '../../web';
import { respondWithChange } from './change-response';
import { PriceForm, ScheduleForm, VersionedForm } from './catalogue.dto';
import { PriceAdminService, sourceOf } from './price-admin.service';
import { presentModel, presentPrice, presentSchedule, pricesOf, scheduleVersion } from './present';
import { hasRates, ratesOfForm } from './read-forms';

const PLATFORM = Access.role('platform_admin');

/**
 * Sets prices and their schedules. A price is never edited: a change creates a version, and earlier requests keep
 * theirs.
 */
@Controller()
export class PricesController {
  constructor(
    private readonly database: Database,
    private readonly models: ModelDetailService,
    private readonly prices: PriceService,
    private readonly priceAdmin: PriceAdminService,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/prices', PLATFORM, { audit: 'model.price-changed' })
  set(@Body() form: PriceForm, @Req() request: HttpRequest) {
    return this.change(form, request);
  }

  @Action('/dashboard/admin/model-prices/update', PLATFORM, { audit: 'model.price-changed' })
  update(@Body() form: PriceForm, @Req() request: HttpRequest) {
    return this.change(form, request);
  }

  @Data('/dashboard/admin/models/:model/price-schedule', PLATFORM)
  async schedules(@PathText('model') name: string) {
    const details = await this.models.read(this.database.source.manager, name);
    const now = new Date();
    const active = details.schedules.find((schedule) => isRunning(schedule, now));
    return {
      model: name,
      active: active === undefined ? null : presentSchedule(active),
      schedules: details.schedules.map(presentSchedule),
      price: details.price === null ? null : presentPrice(details.price),
    };
  }

  @Action('/dashboard/admin/models/:model/price-schedule', PLATFORM, { audit: 'model.price-changed' })
  async schedule(
    @PathText('model') name: string,
    @Body() form: ScheduleForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const body = await this.database.transaction(async (tx) => {
      const before = await this.models.read(tx, name);
      refuseManaged(before.model);
      const existingSchedule = before.schedules.find((schedule) => schedule.id === form.id);
      if (existingSchedule !== undefined) rejectStale(form.version, scheduleVersion(existingSchedule));
      const priceId = await this.priceFor(tx, before, existingSchedule ?? null, form, sourceOf(request));
      const { id } = await this.prices.upsertSchedule(tx, name, {
        ...(form.id === undefined ? {} : { id: form.id }),
        ...(priceId === undefined ? {} : { priceId }),
        ...(form.starts_at === undefined ? {} : { startsAt: new Date(form.starts_at) }),
        ...(form.ends_at === undefined
          ? {}
          : { endsAt: form.ends_at === null ? null : new Date(form.ends_at) }),
      });
      const after = (await this.models.read(tx, name)).schedules.find((schedule) => schedule.id === id);
      if (after === undefined) throw new Error('the schedule that was written is there');
      await this.record(tx, before, existingSchedule ?? null, after, form.reason);
      return presentSchedule(after);
    });
    return respondWithChange(form, { text: 'catalogue.done.scheduled', body });
  }

  @Action('/dashboard/admin/models/:model/price-schedule/:schedule_id', PLATFORM, {
    audit: 'model.price-changed',
    verb: 'delete',
  })
  async unschedule(@PathText('model') name: string, @PathId('schedule_id') id: number) {
    return this.removeSchedule(name, id, {});
  }

  /** POST route for HTML forms, which cannot send DELETE. */
  @Action('/dashboard/admin/models/:model/price-schedule/:schedule_id/delete', PLATFORM, {
    audit: 'model.price-changed',
  })
  async unscheduleByForm(
    @PathText('model') name: string,
    @PathId('schedule_id') id: number,
    @Body() form: VersionedForm,
  ) {
    return this.removeSchedule(name, id, form);
  }

  private async removeSchedule(name: string, id: number, form: VersionedForm): Promise<ActionResult> {
    await this.database.transaction(async (tx) => {
      const details = await this.models.read(tx, name);
      refuseManaged(details.model);
      const existingSchedule = details.schedules.find((schedule) => schedule.id === id);
      if (existingSchedule === undefined) throw fault('not_found', { param: 'schedule_id' });
      rejectStale(form.version, scheduleVersion(existingSchedule));
      await this.prices.deleteSchedule(tx, name, id);
      await this.record(tx, details, existingSchedule, null, form.reason);
    });
    return respondWithChange(form, {
      text: 'catalogue.done.unscheduled',
      body: { ok: true, id },
    });
  }

  private async change(form: PriceForm, request: HttpRequest): Promise<ActionResult> {
    if (!hasRates(form))
      throw fault('missing_fields', {
        details: { required: ['input_price', 'output_price', 'or another rate'] },
      });
    const details = await this.database.transaction((tx) => this.priceAdmin.change(tx, request, form));
    const values = { model: form.model };
    return respondWithChange(form, {
      text: 'catalogue.done.price',
      values,
      body: presentModel(details),
    });
  }

  private async priceFor(
    tx: Tx,
    { model, price }: ModelDetail,
    existingSchedule: ModelDetailSchedule | null,
    form: ScheduleForm,
    source: string,
  ): Promise<number | undefined> {
    const priceId = form.price_id ?? undefined;
    if (priceId !== undefined || !hasRates(form)) return priceId;
    const rates = mergeRates(model, (existingSchedule?.price ?? price)?.rates ?? null, ratesOfForm(form));
    return (await this.prices.addPrice(tx, { model: model.name, rates, validFrom: null, source })).id;
  }

  private record(
    tx: Tx,
    { model }: ModelDetail,
    before: ModelDetailSchedule | null,
    after: ModelDetailSchedule | null,
    reason: string | undefined,
  ): Promise<void> {
    return this.activity.write(tx, {
      action: 'model.price-changed',
      object: { type: 'model', id: model.id, label: model.name },
      concerns: {},
      changes: changesOf(recordedSchedule(before), recordedSchedule(after)),
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

const isRunning = ({ startsAt, endsAt }: ModelDetailSchedule, now: Date): boolean =>
  startsAt <= now && (endsAt === null || now < endsAt);

const recordedSchedule = (schedule: ModelDetailSchedule | null) =>
  schedule === null
    ? null
    : {
        schedule_starts_at: schedule.startsAt,
        schedule_ends_at: schedule.endsAt,
        ...pricesOf(schedule.price.rates, formatUsd),
      };
