import { Body, Controller, Req } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import {
  type ModelSheet,
  ModelSheets,
  PriceService,
  ratesUpon,
  refuseManaged,
  type SheetSchedule,
} from '../../catalogue';
import { fault, formatUsd, refuseStale } from '../../kernel';
import { Database, type Tx } from '../../platform';
import { Access, Action, Data, type Done, type HttpRequest, PathId, PathText } from '../../web';
import { changed } from './answers';
import { PriceForm, ScheduleForm, VersionedForm } from './forms';
import { PriceDesk, sourceOf } from './price-desk.service';
import { presentModel, presentPrice, presentSchedule, pricesOf, scheduleVersion } from './present';
import { hasRates, ratesOfForm } from './read-forms';

const PLATFORM = Access.role('platform_admin');

/**
 * Here prices and their schedules are set. No price is ever edited: a change is a version, and requests keep
 * theirs.
 */
@Controller()
export class PricesController {
  constructor(
    private readonly database: Database,
    private readonly sheets: ModelSheets,
    private readonly prices: PriceService,
    private readonly desk: PriceDesk,
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
    const sheet = await this.sheets.read(this.database.source.manager, name);
    const now = new Date();
    const active = sheet.schedules.find((schedule) => isRunning(schedule, now));
    return {
      model: name,
      active: active === undefined ? null : presentSchedule(active),
      schedules: sheet.schedules.map(presentSchedule),
      price: sheet.price === null ? null : presentPrice(sheet.price),
    };
  }

  /** A scheduled price: an existing version, or one made of the given rates. */
  @Action('/dashboard/admin/models/:model/price-schedule', PLATFORM, { audit: 'model.price-changed' })
  async schedule(
    @PathText('model') name: string,
    @Body() form: ScheduleForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const facts = await this.database.transaction(async (tx) => {
      const before = await this.sheets.read(tx, name);
      refuseManaged(before.model);
      const known = before.schedules.find((schedule) => schedule.id === form.id);
      if (known !== undefined) refuseStale(form.version, scheduleVersion(known));
      const priceId = await this.priceFor(tx, before, known ?? null, form, sourceOf(request));
      const { id } = await this.prices.upsertSchedule(tx, name, {
        ...(form.id === undefined ? {} : { id: form.id }),
        ...(priceId === undefined ? {} : { priceId }),
        ...(form.starts_at === undefined ? {} : { startsAt: new Date(form.starts_at) }),
        ...(form.ends_at === undefined
          ? {}
          : { endsAt: form.ends_at === null ? null : new Date(form.ends_at) }),
      });
      const after = (await this.sheets.read(tx, name)).schedules.find((schedule) => schedule.id === id);
      if (after === undefined) throw new Error('the schedule that was written is there');
      await this.record(tx, before, known ?? null, after, form.reason);
      return presentSchedule(after);
    });
    return changed(form, { text: 'catalogue.done.scheduled', facts });
  }

  @Action('/dashboard/admin/models/:model/price-schedule/:schedule_id', PLATFORM, {
    audit: 'model.price-changed',
    verb: 'delete',
  })
  async unschedule(@PathText('model') name: string, @PathId('schedule_id') id: number) {
    return this.removeSchedule(name, id, {});
  }

  /** A POST route for forms, which cannot send other verbs. */
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

  private async removeSchedule(name: string, id: number, form: VersionedForm): Promise<Done> {
    await this.database.transaction(async (tx) => {
      const sheet = await this.sheets.read(tx, name);
      refuseManaged(sheet.model);
      const known = sheet.schedules.find((schedule) => schedule.id === id);
      if (known === undefined) throw fault('not_found', { param: 'schedule_id' });
      refuseStale(form.version, scheduleVersion(known));
      await this.prices.deleteSchedule(tx, name, id);
      await this.record(tx, sheet, known, null, form.reason);
    });
    return changed(form, {
      text: 'catalogue.done.unscheduled',
      facts: { ok: true, id },
    });
  }

  private async change(form: PriceForm, request: HttpRequest): Promise<Done> {
    if (!hasRates(form))
      throw fault('missing_fields', {
        details: { required: ['input_price', 'output_price', 'or another rate'] },
      });
    const sheet = await this.database.transaction((tx) => this.desk.change(tx, request, form));
    const values = { model: form.model };
    return changed(form, {
      text: 'catalogue.done.price',
      values,
      facts: presentModel(sheet),
    });
  }

  private async priceFor(
    tx: Tx,
    { model, price }: ModelSheet,
    known: SheetSchedule | null,
    form: ScheduleForm,
    source: string,
  ): Promise<number | undefined> {
    const named = form.price_id ?? undefined;
    if (named !== undefined || !hasRates(form)) return named;
    const rates = ratesUpon(model, (known?.price ?? price)?.rates ?? null, ratesOfForm(form));
    return (await this.prices.addPrice(tx, { model: model.name, rates, validFrom: null, source })).id;
  }

  private record(
    tx: Tx,
    { model }: ModelSheet,
    before: SheetSchedule | null,
    after: SheetSchedule | null,
    reason: string | undefined,
  ): Promise<void> {
    return this.activity.write(tx, {
      action: 'model.price-changed',
      object: { type: 'model', id: model.id, label: model.name },
      concerns: {},
      changes: changesOf(recorded(before), recorded(after)),
      ...(reason === undefined ? {} : { reason }),
    });
  }
}

const isRunning = ({ startsAt, endsAt }: SheetSchedule, now: Date): boolean =>
  startsAt <= now && (endsAt === null || now < endsAt);

const recorded = (schedule: SheetSchedule | null) =>
  schedule === null
    ? null
    : {
        schedule_starts_at: schedule.startsAt,
        schedule_ends_at: schedule.endsAt,
        ...pricesOf(schedule.price.rates, formatUsd),
      };
