import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type ModelSheet, ModelSheets } from '../../catalogue';
import type { Tx } from '../../platform';
import { actorOf, type HttpRequest } from '../../web';
import type { PriceForm } from './forms';
import { recordedPrice } from './present';
import { ratesOfForm } from './read-forms';

/** The version of a price names the person who set it on a page. */
export const sourceOf = (request: HttpRequest): string => `user ${actorOf(request).userId}`;

/** Routes that write prices share it: they make one new version and log the old and the new price. */
@Injectable()
export class PriceDesk {
  constructor(
    private readonly sheets: ModelSheets,
    private readonly activity: ActivityLog,
  ) {}

  async change(tx: Tx, request: HttpRequest, form: PriceForm): Promise<ModelSheet> {
    const { before, after } = await this.sheets.changeRates(tx, form.model, {
      rates: ratesOfForm(form),
      source: sourceOf(request),
      shown: form.price_id === undefined ? undefined : form.price_id === 0 ? null : form.price_id,
    });
    if (before.price?.id === after.price?.id) {
      this.activity.nothingChanged();
      return after;
    }
    await this.activity.write(tx, {
      action: 'model.price-changed',
      object: { type: 'model', id: after.model.id, label: after.model.name },
      concerns: {},
      changes: changesOf(recordedPrice(before.price), recordedPrice(after.price)),
      ...(form.reason === undefined ? {} : { reason: form.reason }),
    });
    return after;
  }
}
