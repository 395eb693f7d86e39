import type { PriceService } from '../../price.service';
import type { PriceRates } from '../../../kernel';
import type { Tx } from '../../../platform';
import type { CurrentCatalogue, CurrentModel, CurrentSchedule } from '../current.query';
import { findLaneId } from './lane.query';
import type { DesiredCatalogue, DesiredLane, DesiredModel, DesiredSchedule } from './desired';
import { changesBetween, type FieldChange, NO_TEXTS, priceTexts, routeName } from '../field-texts';
import { modelLabel, type Step } from '../step';

/** A changed price becomes a new version; earlier versions stay for the records that were charged by them. */
export function planPrices(desired: DesiredCatalogue, current: CurrentCatalogue, source: string): Step[] {
  return desired.models.flatMap((model) => {
    const existing = current.models.get(model.name);
    return [
      ...modelPriceSteps(model, existing, source),
      ...model.lanes.flatMap((lane) => lanePriceSteps(model, lane, existing, source)),
      ...(model.schedules ?? []).flatMap((schedule) => scheduleSteps(model, schedule, existing, source)),
    ];
  });
}

function modelPriceSteps(model: DesiredModel, existing: CurrentModel | undefined, source: string): Step[] {
  if (model.price === null) return [];
  const { at, rates } = model.price;
  const changes = priceChanges('price ', existing?.price?.rates, rates);
  if (changes.length === 0) return [];
  const run: Step['run'] = (tx, { prices }) => prices.addPrice(tx, { model: model.name, rates, source });
  return [{ ...stepOf(model, existing, changes), at, run }];
}

function lanePriceSteps(
  model: DesiredModel,
  lane: DesiredLane,
  existing: CurrentModel | undefined,
  source: string,
): Step[] {
  if (lane.price === null) return [];
  const { at, rates } = lane.price;
  const before = existing?.lanes.find((one) => routeName(one) === routeName(lane))?.price?.rates;
  const changes = priceChanges(`${routeName(lane)} price `, before, rates);
  if (changes.length === 0) return [];
  const run: Step['run'] = async (tx, { prices }) =>
    prices.addPrice(tx, { model: model.name, laneId: await findLaneId(tx, model.name, lane), rates, source });
  return [{ ...stepOf(model, existing, changes), at, run }];
}

function scheduleSteps(
  model: DesiredModel,
  schedule: DesiredSchedule,
  existing: CurrentModel | undefined,
  source: string,
): Step[] {
  const { at, startsAt, endsAt, rates } = schedule;
  // A price that has ended can no longer be set, but the file is allowed to keep it.
  if (endsAt !== null && endsAt <= new Date()) return [];
  const before = existing?.schedules.find((one) => one.startsAt.getTime() === startsAt.getTime());
  const name = `schedule ${startsAt.toISOString()} `;
  const newRates = priceChanges(`${name}price `, before?.rates, rates);
  const endText = (ends: Date | null): string => ends?.toISOString() ?? 'further notice';
  const newEnd = changesBetween(
    before === undefined ? NO_TEXTS : new Map([[`${name}until`, endText(before.endsAt)]]),
    new Map([[`${name}until`, endText(endsAt)]]),
  );
  const changes = [...newEnd, ...newRates];
  if (changes.length === 0) return [];
  return [
    {
      ...stepOf(model, existing, changes),
      at,
      run: (tx, { prices }) =>
        putSchedule(tx, prices, model.name, { schedule, before, sameRates: newRates.length === 0, source }),
    },
  ];
}

async function putSchedule(
  tx: Tx,
  prices: PriceService,
  model: string,
  change: { schedule: DesiredSchedule; before?: CurrentSchedule; sameRates: boolean; source: string },
): Promise<void> {
  const { schedule, before, sameRates, source } = change;
  const { startsAt, endsAt, rates } = schedule;
  const priceId =
    before !== undefined && sameRates
      ? before.priceId
      : (await prices.addPrice(tx, { model, rates, validFrom: null, source })).id;
  await prices.upsertSchedule(tx, model, { id: before?.id, priceId, startsAt, endsAt });
}

function stepOf(
  model: DesiredModel,
  existing: CurrentModel | undefined,
  changes: FieldChange[],
): Omit<Step, 'at' | 'run'> {
  const { name } = model;
  return {
    kind: 'model',
    name,
    mark: existing === undefined ? 'new' : 'changed',
    changes,
    needs: [modelLabel(name)],
  };
}

const priceChanges = (prefix: string, before: PriceRates | undefined, after: PriceRates): FieldChange[] =>
  changesBetween(before === undefined ? NO_TEXTS : priceTexts(prefix, before), priceTexts(prefix, after));
