import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { Extensions, policyReason } from '../../extensions';
import { fault } from '../../kernel';
import { type GatewayCall, gateRequestOf } from '../intake';
import { isListed } from './model-access';

type AdmissionCheck = (model: ModelView, call: GatewayCall) => void;

/** Checks between a model and its caller, in order: first the service's own, then the policies of extensions. */
@Injectable()
export class AdmissionChecks {
  private readonly checks: AdmissionCheck[] = [];

  constructor(
    private readonly catalogue: CatalogueService,
    { policies }: Extensions,
  ) {
    this.register(assertServesRoute);
    this.register(assertListed);
    this.register((model, call) => this.assertOpen(model, call));
    for (const policy of policies) {
      if (policy.part.forbidsModel === undefined) continue;
      this.register((model, call) => {
        const reason = policyReason(policy, (part) => part.forbidsModel?.(gateRequestOf(call), model.name));
        if (reason !== null)
          throw fault('model_not_allowed', {
            param: 'model',
            message: reason,
            details: { policy: policy.name },
          });
      });
    }
  }

  register(check: AdmissionCheck): void {
    this.checks.push(check);
  }

  verify(model: ModelView, call: GatewayCall): void {
    for (const check of this.checks) check(model, call);
  }

  private assertOpen(model: ModelView, { inbound: { caller } }: GatewayCall): void {
    if (!this.catalogue.snapshot.isOpenTo(model, caller.attribution))
      throw fault('model_not_accessible', { param: 'model' });
  }
}

function assertServesRoute(model: ModelView, call: GatewayCall): void {
  if (model.kind === call.operation.kind) return;
  throw fault('model_not_available', {
    param: 'model',
    message: `${call.model} is not a model for this route.`,
  });
}

function assertListed(model: ModelView, { inbound: { caller }, byAuto }: GatewayCall): void {
  if (!isListed(caller, model, byAuto)) throw fault('model_not_allowed', { param: 'model' });
}
