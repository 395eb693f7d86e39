import { Injectable } from '@nestjs/common';
import { IsNull, LessThanOrEqual } from 'typeorm';
import { fault, MINUTE_MS, type PriceRates, priceRates } from '../kernel';
import type { Tx } from '../platform';
import { given, lockCatalogue, modelNamed } from './catalogue-lock';
import { Lane, Price, PriceSchedule } from './entities';
import { columnsOf, ratesOf } from './price-codec';

export interface PriceInput {
  readonly model: string;
  /** The lane it is for; left out, every lane of the model without a price of its own. */
  readonly laneId?: number;
  readonly rates: PriceRates;
  /** Left out, it means from now on. Null means only while a schedule says so. */
  readonly validFrom?: Date | null;
  /** It says who sets the price: a person, an import, a file. */
  readonly source: string;
}

export interface ScheduleInput {
  /** The schedule to change; left out, a new one. */
  readonly id?: number;
  readonly priceId?: number;
  readonly startsAt?: Date;
  /** Null means until further notice. */
  readonly endsAt?: Date | null;
}

/** A time that administrators type may be a moment old when it arrives. */
const GRACE_MS = MINUTE_MS;
const EXCLUSION_VIOLATION = '23P01';

/** Prices are only ever added; which one is in force follows from versions, schedules and the clock. */
@Injectable()
export class PriceService {
  async addPrice(tx: Tx, input: PriceInput): Promise<Price> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, input.model);
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

  /** A new version of the model's own price: what is not named stays as it is now. */
  async changePrice(tx: Tx, modelName: string, changes: Partial<PriceRates>, source: string): Promise<Price> {
    await lockCatalogue(tx);
    const { id: modelId } = await modelNamed(tx, modelName);
    const inForce = await tx.findOne(Price, {
      where: { modelId, laneId: IsNull(), validFrom: LessThanOrEqual(new Date()) },
      order: { validFrom: 'DESC', id: 'DESC' },
    });
    const before = inForce === null ? {} : ratesOf(inForce);
    return this.addPrice(tx, {
      model: modelName,
      rates: priceRates({ ...before, ...given(changes) }),
      source,
    });
  }

  async upsertSchedule(tx: Tx, modelName: string, input: ScheduleInput): Promise<PriceSchedule> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, modelName);
    const known =
      input.id === undefined ? null : await tx.findOneBy(PriceSchedule, { id: input.id, modelId: model.id });
    if (known === null && input.id !== undefined) throw fault('not_found', { param: 'schedule_id' });
    const { priceId, startsAt, endsAt = null } = { ...known, ...given(input) };
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
      return await tx.save(PriceSchedule, { ...known, modelId: model.id, priceId, startsAt, endsAt });
    } catch (cause) {
      if (!isExclusionViolation(cause)) throw cause;
      throw fault('conflict', { message: 'Another schedule of this model covers part of this time.', cause });
    }
  }

  async deleteSchedule(tx: Tx, modelName: string, id: number): Promise<void> {
    await lockCatalogue(tx);
    const model = await modelNamed(tx, modelName);
    const { affected } = await tx.delete(PriceSchedule, { id, modelId: model.id });
    if (affected === 0) throw fault('not_found', { param: 'schedule_id' });
  }
}

function isExclusionViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === EXCLUSION_VIOLATION;
}
