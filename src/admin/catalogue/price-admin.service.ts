import { Injectable } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type ModelDetail, ModelDetailService } from '../../catalogue';
import type { Tx } from '../../platform';
import { actorOf, type HttpRequest } from '../../web';
import type { PriceForm } from './catalogue.dto';
import { recordedPrice } from './present';
import { ratesOfForm } from './read-forms';

export const sourceOf = (request: HttpRequest): string => `user ${actorOf(request).userId}`;

@Injectable()
export class PriceAdminService {
  constructor(
    private readonly models: ModelDetailService,
    private readonly activity: ActivityLog,
  ) {}

  async change(tx: Tx, request: HttpRequest, form: PriceForm): Promise<ModelDetail> {
    const { before, after } = await this.models.changeRates(tx, form.model, {
      rates: ratesOfForm(form),
      source: sourceOf(request),
      shown: form.price_id === undefined ? undefined : form.price_id === 0 ? null : form.price_id,
    });
    if (before.price?.id === after.price?.id) {
      this.activity.reportNoChange();
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
