import { Injectable } from '@nestjs/common';
import { IsNull, LessThanOrEqual } from 'typeorm';
import { fault, MINUTE_MS, type PriceRates, priceRates } from '../kernel';
import type { Tx } from '../platform';
import { definedFields, lockCatalogue, getModelByName } from './catalogue-lock';
import { Lane, Price, PriceSchedule } from './entities';
import { columnsOf, ratesOf } from './price-codec';

export interface PriceInput {
  readonly model: string;
  /** Defaults to every lane of the model without a price of its own. */
  readonly laneId?: number;
  readonly rates: PriceRates;
  /** Defaults to now; null if the price applies only through a schedule. */
  readonly validFrom?: Date | null;
  /** Who sets the price: a user, an import or a file. */
  readonly source: string;
}

export interface ScheduleInput {
  /** Schedule to change; omitted for a new one. */
  readonly id?: number;
  readonly priceId?: number;
  readonly startsAt?: Date;
  /** Null means until further notice. */
  readonly endsAt?: Date | null;
}

/** Tolerance for a typed time that is slightly past when it arrives. */
const GRACE_MS = MINUTE_MS;
const EXCLUSION_VIOLATION = '23P01';

/** Prices are only ever added; versions, schedules and the clock determine which one is in force. */
@Injectable()
export class PriceService {
  async addPrice(tx: Tx, input: PriceInput): Promise<Price> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, input.model);
    const { laneId = null, validFrom = new Date(), source } = input;
    if (validFrom !== null && validFrom.getTime() < Date.now() - GRACE_MS) {
      throw fault('validation_error', { param: 'valid_from', message: 'A price cannot begin in the past.' });
    }
    if (laneId !== null && !(await tx.existsBy(Lane, { id: laneId, modelId: model.id }))) {
      throw fault('not_found', { param: 'lane_id' });
    }
    const columns = columnsOf(priceRates(input.rates));
    return tx.save(Price, { ...columns, modelId: model.id, laneId, validFrom, source });
  }

  /** Adds a version of the model's own price; omitted rates keep their current value. */
  async changePrice(tx: Tx, modelName: string, changes: Partial<PriceRates>, source: string): Promise<Price> {
    await lockCatalogue(tx);
    const { id: modelId } = await getModelByName(tx, modelName);
    const inForce = await tx.findOne(Price, {
      where: { modelId, laneId: IsNull(), validFrom: LessThanOrEqual(new Date()) },
      order: { validFrom: 'DESC', id: 'DESC' },
    });
    const before = inForce === null ? {} : ratesOf(inForce);
    return this.addPrice(tx, {
      model: modelName,
      rates: priceRates({ ...before, ...definedFields(changes) }),
      source,
    });
  }

  async upsertSchedule(tx: Tx, modelName: string, input: ScheduleInput): Promise<PriceSchedule> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, modelName);
    const existing =
      input.id === undefined ? null : await tx.findOneBy(PriceSchedule, { id: input.id, modelId: model.id });
    if (existing === null && input.id !== undefined) throw fault('not_found', { param: 'schedule_id' });
    const { priceId, startsAt, endsAt = null } = { ...existing, ...definedFields(input) };
    if (priceId === undefined || startsAt === undefined) {
      throw fault('missing_fields', { details: { required: ['price_id', 'starts_at'] } });
    }
    if (endsAt !== null && endsAt <= startsAt) {
      throw fault('validation_error', {
        param: 'ends_at',
        message: 'A schedule has to end after it starts.',
      });
    }
    if (!(await tx.existsBy(Price, { id: priceId, modelId: model.id }))) {
      throw fault('not_found', { param: 'price_id', message: 'This model has no such price.' });
    }
    try {
      return await tx.save(PriceSchedule, { ...existing, modelId: model.id, priceId, startsAt, endsAt });
    } catch (cause) {
      if (!isExclusionViolation(cause)) throw cause;
      throw fault('conflict', { message: 'Another schedule of this model covers part of this time.', cause });
    }
  }

  async deleteSchedule(tx: Tx, modelName: string, id: number): Promise<void> {
    await lockCatalogue(tx);
    const model = await getModelByName(tx, modelName);
    const { affected } = await tx.delete(PriceSchedule, { id, modelId: model.id });
    if (affected === 0) throw fault('not_found', { param: 'schedule_id' });
  }
}

function isExclusionViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === EXCLUSION_VIOLATION;
}
