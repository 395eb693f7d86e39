import { Injectable } from '@nestjs/common';
import { CatalogueService, type ModelView } from '../../catalogue';
import { Extensions, policyReason } from '../../extensions';
import { fault } from '../../kernel';
import { type Call, gateRequestOf } from '../intake';
import { isListed } from './model-access';

/** It throws the refusal of a model to a call. */
type AdmissionCheck = (model: ModelView, call: Call) => void;

/** Every check between a model and its caller, in order: the service's own first, then the policies of extensions. */
@Injectable()
export class AdmissionChecks {
  private readonly checks: AdmissionCheck[] = [];

  constructor(
    private readonly catalogue: CatalogueService,
    { policies }: Extensions,
  ) {
    this.register(mustServeRoute);
    this.register(mustBeListed);
    this.register((model, call) => this.mustBeOpen(model, call));
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

  verify(model: ModelView, call: Call): void {
    for (const check of this.checks) check(model, call);
  }

  private mustBeOpen(model: ModelView, { inbound: { caller } }: Call): void {
    if (!this.catalogue.snapshot.isOpenTo(model, caller.attribution))
      throw fault('model_not_accessible', { param: 'model' });
  }
}

function mustServeRoute(model: ModelView, call: Call): void {
  if (model.kind === call.operation.kind) return;
  throw fault('model_not_available', {
    param: 'model',
    message: `${call.model} is not a model for this route.`,
  });
}

function mustBeListed(model: ModelView, { inbound: { caller }, byAuto }: Call): void {
  if (!isListed(caller, model, byAuto)) throw fault('model_not_allowed', { param: 'model' });
}
